"""Sizes of findings: their words, and the comparison of two sizes."""

from __future__ import annotations

import re

MEASURED_FINDINGS = frozenset({"nodule", "mass", "cavity"})
"""Findings whose size reports state."""
_NODULE_LIMIT = 30.0
"""Size in mm from which a nodule is a mass. Sizes below and above it always differ."""
_NUMBER = r"\d{1,3}(?:\.\d{1,2})?"
_MEASURE = rf"(?P<sizes>{_NUMBER}(?:\s?(?:x|by)\s?{_NUMBER})*)[\s-]?(?P<unit>[mc]m)\b"
SIZE = re.compile(
    rf"\bmeasur(?:ing|es) (?:approximately |about |up to )?{_MEASURE}|\b{_MEASURE.replace('?P<', '?P<leading_')}"
    r"(?=(?: [a-z-]+){0,4} #)"
    rf"|(?<=#)(?:,? | of (?:about )?| \(){_MEASURE.replace('?P<', '?P<trailing_')}"
    r"(?! (?:above|below|from|inferior|lateral|medial|superior|to)\b)"
)
"""Size of a finding whose name is masked by `#`: after "measuring" or "measures", or before or after the name."""
_PAST_SIZE = re.compile(
    rf",? (?:formerly|previously) {_MEASURE},? (?:and |but )?(?:currently|now)(?: measures| measuring)?"
)
"""An earlier size before the present one."""

HEART_RATIO = re.compile(
    r"\b(?:cardio-?thoracic ratio|ctr)\s(?:(?:is|of|measures|about|approximately|at|=|estimated)\s)*"
    r"(?:0?\.(?P<share>\d{1,2})|(?P<percent>\d{2})\s?(?:%|percent))"
)
"""Width of the heart as a share of the width of the chest, in a lowercase sentence."""
_LARGE_HEART = 50


_ANY_SIZE = re.compile(
    rf"(?<!\bby )(?<!\bfrom )(?<!\bwithin ){_MEASURE}(?! (?:(?:axial|contiguous|thin) )?(?:above|below|beyond|caudal|"
    r"cephalad|collimation|ct|cuts?|deep|displacement|distal|from|growth|images?|increase|inferior|inside|intervals?|"
    r"lateral|medial|of the|on the|outside|past|proximal|sections?|slices?|superior|thick|to|under|wall)\b)"
)
_PRESENT = re.compile(r"\b(?:largest|now)\b.*")
"""The words after which the size of interest stands."""
_FORMER_SIZE = re.compile(
    rf"\b(?:formerly|previously|was)(?: measured| measuring)? {_MEASURE}"
    rf"|{_MEASURE.replace('?P<', '?P<before_')} (?:before|previously)\b"
)


def any_size(text: str) -> float | None:
    """Return the largest diameter in mm of the first present size in a text, whatever stands beside it, or None.

    >>> any_size("a rim of 1.5 cm at the apex"), any_size("# was 3 cm, now 1 cm"), any_size("ct with 5 mm axial images")
    (15.0, 10.0, None)
    """
    present = _FORMER_SIZE.sub("", _PAST_SIZE.sub("", text))
    last = _PRESENT.search(present)
    match = (_ANY_SIZE.search(last[0]) if last else None) or _ANY_SIZE.search(present)
    return _largest(match["sizes"], match["unit"]) if match else None


def parse_size(text: str) -> float | None:
    """Return the largest diameter in mm of the first size in a text, or None.

    >>> parse_size("# measuring up to 1.2 x 0.8 cm"), parse_size("a 6 mm left #"), parse_size("# of 3 cm")
    (12.0, 6.0, 30.0)
    >>> parse_size("# 4 cm above the carina")
    >>> parse_size("#, previously 5 mm, now 9 mm")
    9.0
    """
    match = SIZE.search(_PAST_SIZE.sub("", text))
    return size_of_match(match) if match else None


def size_of_match(match: re.Match[str]) -> float:
    """Return the largest diameter in mm of a match of `SIZE`."""
    sizes, unit = (
        match[group] or match[f"leading_{group}"] or match[f"trailing_{group}"] for group in ("sizes", "unit")
    )
    return _largest(sizes, unit)


def _largest(sizes: str, unit: str) -> float:
    return round(max(map(float, re.findall(_NUMBER, sizes))) * (10.0 if unit == "cm" else 1.0), 2)


def is_same_size(first: float, second: float) -> bool:
    """Return True if two sizes in mm can be measurements of the same finding.

    The margin is 2 mm below 6 mm, 4 mm below 3 cm, and 20 % of the larger size from 3 cm; a size below 3 cm never
    equals one from 3 cm. Source: guideline of CRIMSON (arXiv 2603.06183).

    >>> is_same_size(5.0, 7.0), is_same_size(5.0, 8.0), is_same_size(14.0, 18.0), is_same_size(29.0, 31.0)
    (True, False, True, False)
    """
    smaller, larger = sorted((first, second))
    if smaller < _NODULE_LIMIT <= larger:
        return False
    if larger >= _NODULE_LIMIT:
        return larger - smaller <= 0.2 * larger
    return larger - smaller <= (2.0 if smaller < 6.0 else 4.0)


def is_same_extent(first: float, second: float) -> bool:
    """Return True if two extents in mm, such as the rim of a pneumothorax, can be measurements of the same finding.

    The margin is 5 mm, or half of the smaller one if this is more; it was chosen for this project.

    >>> is_same_extent(8.0, 12.0), is_same_extent(20.0, 30.0), is_same_extent(15.0, 35.0)
    (True, True, False)
    """
    return abs(first - second) <= max(5.0, min(first, second) / 2)


def states_normal_ratio(words: str) -> bool:
    """Return True if words are a cardiothoracic ratio of a heart that is at most half as wide as the chest.

    >>> [states_normal_ratio(f"cardiothoracic ratio is {text}") for text in ("0.62", "0.6", "44 %")]
    [False, False, True]
    """
    ratio = HEART_RATIO.fullmatch(words)
    return ratio is not None and int(ratio["percent"] or ratio["share"].ljust(2, "0")) <= _LARGE_HEART
