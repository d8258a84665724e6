"""Distances of the tip of a tube or catheter from the landmark that reports measure it from."""

from __future__ import annotations

import re

_FROM = r"(?:from|(?:caudal|distal|inferior|proximal|superior|cranial|cephalad) to|above|below|beneath|beyond|past)"
_UPWARD = re.compile(r"above|cephalad|cranial|proximal|superior")
_LANDMARKS = {
    "ett trach": r"carina",
    "iabp": r"(?:aortic )?(?:arch|knob|knuckle)|left subclavian",
    "cvc picc port tunneled dialysis": r"cavo-?atrial junction",
    "ngt dobhoff": r"(?:gastro-?o?esophageal|ge|g-?e) junction",
}
_DISTANCES = {
    device: re.compile(
        r"(?<!\bwas )(?<!\bwas at )(?<!\bpreviously )(?<!\bpreviously at )(?<![\d.])"
        r"(?P<distance>\d{1,3}(?:\.\d{1,2})?)[\s-]?(?P<unit>[cm]m) "
        rf"(?P<direction>{_FROM}) (?:the )?(?:(?:level|origin|tip|top) of (?:the )?)?(?:expected |superior )?"
        rf"(?:{landmark})\b"
    )
    for devices, landmark in _LANDMARKS.items()
    for device in devices.split()
}
_MEASURED_UPWARD = frozenset({"ett", "trach"})


def tip_distance(finding: str, masked: str) -> float | None:
    """Return the first distance of the tip of a device from its landmark in mm, or None.

    It is positive above the carina and below the other landmarks, and negative on their other side.

    >>> tip_distance("iabp", "#### tip 2.5 cm below the aortic arch"), tip_distance("ett", "### 1 cm below the carina")
    (25.0, -10.0)
    >>> tip_distance("ett", "### 2 cm below the clavicles")
    """
    pattern = _DISTANCES.get(finding)
    match = pattern.search(masked) if pattern else None
    if match is None:
        return None
    millimetres = float(match["distance"]) * (10.0 if match["unit"] == "cm" else 1.0)
    is_positive = match["direction"] == "from" or bool(_UPWARD.match(match["direction"])) == (
        finding in _MEASURED_UPWARD
    )
    return millimetres if is_positive else -millimetres


def is_same_distance(first: float, second: float) -> bool:
    """Return True if two distances of a tip in mm can be measurements of the same position.

    The margin is 15 mm, or a third of the larger distance if this is more; it was chosen for this project.

    >>> is_same_distance(30.0, 45.0), is_same_distance(25.0, 55.0), is_same_distance(100.0, 130.0)
    (True, False, True)
    >>> is_same_distance(20.0, -20.0)
    False
    """
    return abs(first - second) <= max(15.0, max(abs(first), abs(second)) / 3)
