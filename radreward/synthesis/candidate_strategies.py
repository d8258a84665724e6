"""Candidate strategies by name and from YAML files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from jsonargparse import ArgumentError, ArgumentParser

from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml
from radreward.synthesis.candidate_writer import CandidateWriter
from radreward.synthesis.contrast_candidates import ContrastWriter
from radreward.synthesis.error_profiles import PROFILES, ProfileWriter, parse_profile
from radreward.synthesis.graded_candidates import GradedWriter
from radreward.synthesis.green_pairings import GreenPairingWriter
from radreward.synthesis.tier_writer import TierWriter

STRATEGIES: dict[str, Callable[[], CandidateWriter]] = {
    "tiers": TierWriter,
    "full-tiers": partial(TierWriter, requires_all=True),
    "pairings": GreenPairingWriter,
    "graded": GradedWriter,
    "contrast": ContrastWriter,
    **{name: partial(ProfileWriter, profile) for name, profile in PROFILES.items()},
}
"""Candidate writers by name, with default arguments."""


def load_candidate_writer(name_or_path: str) -> CandidateWriter:
    """Return a candidate writer by its name in `STRATEGIES`, or from a YAML file.

    Args:
        name_or_path: A name, or a YAML file with one of: an error profile, one line such as
            `omission: [0.5, 0.3, 0.2]` per kind of error; `class_path` and `init_args` of a `CandidateWriter`, also of
            your own.

    Raises:
        InputError: If there is no such strategy, or the file is unusable. The message names the file.

    >>> type(load_candidate_writer("graded")).__name__
    'GradedWriter'
    """
    if name_or_path in STRATEGIES:
        return STRATEGIES[name_or_path]()
    path = Path(name_or_path)
    if path.suffix not in (".yaml", ".yml"):
        raise InputError(
            f"--candidates: Expected one of {', '.join(STRATEGIES)} or a .yaml file but got {name_or_path!r}."
        )
    values = read_yaml(path)
    try:
        if not (isinstance(values, dict) and "class_path" in values):
            return ProfileWriter(parse_profile(path.stem, values))
        parser = ArgumentParser(exit_on_error=False)
        parser.add_argument("--candidates", type=CandidateWriter)
        writer: CandidateWriter = parser.instantiate(parser.parse_object({"candidates": values})).candidates
    except (InputError, ArgumentError, ValueError) as error:
        raise InputError(f"{path}: {' '.join(str(error).split())}") from error
    return writer
