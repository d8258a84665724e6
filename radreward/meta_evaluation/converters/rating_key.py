"""The key file of cases to rate: id, group and system of each case, which raters must not see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, read_json, write_json
from radreward.io.validated_rows import RowError, optional_text_field, text_field

KEY_FORMAT = "radreward rating key 1"


class RatingCase(NamedTuple):
    """A pair of reports to rate."""

    id: str
    reference: str
    candidate: str
    group: str | None = None
    """The case, if it has several candidates."""
    system: str | None = None
    """System that wrote the candidate."""


class HiddenFields(NamedTuple):
    """Fields of a case that raters must not see."""

    id: str
    group: str | None
    system: str | None


class RatingKey(NamedTuple):
    """Cases in the order of their file, without their texts."""

    path: Path
    digest: str
    """See `cases_digest`."""
    entries: Sequence[HiddenFields]

    def case(self, index: int, reference: str, candidate: str) -> RatingCase:
        """Return the case at an index, with its texts."""
        hidden = self.entries[index]
        return RatingCase(hidden.id, reference, candidate, hidden.group, hidden.system)


def cases_digest(texts: Sequence[tuple[str, str]], criteria: Sequence[str]) -> str:
    """Return a hash by which the files of raters and their key recognize each other.

    Args:
        texts: Reference and candidate of each case.
        criteria: Tags of the types of errors.
    """
    return fingerprint([list(pair) for pair in texts], list(criteria))


def key_path(output: Path) -> Path:
    """Return the path of the key beside a file for raters.

    >>> key_path(Path("rate.html")).name
    'rate.key.json'
    """
    return output.with_suffix(".key.json")


def write_key(cases: Sequence[RatingCase], criteria: Sequence[str], path: Path) -> str:
    """Write the key of cases, and return their digest.

    Raises:
        InputError: If the file cannot be written.
    """
    digest = cases_digest([(case.reference, case.candidate) for case in cases], criteria)
    entries = [HiddenFields(case.id, case.group, case.system)._asdict() for case in cases]
    write_json(path, {"format": KEY_FORMAT, "digest": digest, "cases": entries})
    return digest


def read_rating_sources(sources: Sequence[Path]) -> tuple[RatingKey, list[tuple[Path, Any]]]:
    """Return the key among some JSON files, and path and content of each other file.

    Raises:
        InputError: If a file cannot be read, the key is invalid, or there is not exactly one key.
    """
    contents = [(path, read_json(path)) for path in sources]
    keys = [_parse_key(path, value) for path, value in contents if _is_key(value)]
    if len(keys) != 1:
        raise InputError(
            f"{', '.join(map(str, sources))}: Expected one key among these files, which `radreward rate` wrote as "
            f"NAME.key.json beside the file for raters, but got {len(keys) or 'none'}. Add it to --input."
        )
    return keys[0], [(path, value) for path, value in contents if not _is_key(value)]


def _is_key(value: Any) -> bool:
    return isinstance(value, dict) and value.get("format") == KEY_FORMAT


def _parse_key(path: Path, value: Mapping[str, Any]) -> RatingKey:
    entries = value.get("cases")
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise InputError(f"{path}: Expected a list of cases but got {type(entries).__name__}. Write the key again.")
    parsed = []
    for number, entry in enumerate(entries, 1):
        try:
            optional = (optional_text_field(entry, name) for name in ("group", "system"))
            parsed.append(HiddenFields(text_field(entry, "id"), *optional))
        except RowError as error:
            raise InputError(f"{path}, case {number}: {error}.") from error
    return RatingKey(path, str(value.get("digest")), parsed)
