import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.synthesis import synthesize
from radreward.synthesis.candidate_strategies import STRATEGIES, load_candidate_writer
from radreward.synthesis.candidate_writer import (
    CandidateWriter,
    GroupRequest,
    Reference,
    WrittenCandidate,
    judge_candidates,
)
from radreward.synthesis.candidates import edit_candidate
from radreward.synthesis.error_profiles import ProfileWriter
from radreward.synthesis.green_pairings import GreenPairingWriter


class RisingWriter(CandidateWriter):
    """Candidates with 0, 1, 2, … errors: a strategy of a user."""

    def __init__(self, step: int = 1) -> None:
        self.step = step

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        for reference in request.repeated_references():
            numbers = range(0, self.step * request.num_candidates, self.step)
            drafts = [edit_candidate(reference.report, number, rng) for number in numbers]
            yield reference, judge_candidates("rising", reference, drafts, request.criteria)


class SilentWriter(CandidateWriter):
    """A strategy that never writes a candidate."""

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        return iter(())


@pytest.mark.parametrize("name", STRATEGIES)
def test_strategies_give_reproducible_groups(name: str) -> None:
    first, second = (
        list(synthesize(RadCliQCriteria(), 2, seed=1, candidates=load_candidate_writer(name))) for _ in range(2)
    )
    assert first == second
    assert all(len(group.candidates) == 3 for group in first)


def test_load_candidate_writer_reads_class_and_arguments(tmp_path: Path) -> None:
    path = tmp_path / "writer.yaml"
    path.write_text("class_path: GreenPairingWriter\ninit_args:\n  generated_column: output\n")
    writer = load_candidate_writer(str(path))
    assert isinstance(writer, GreenPairingWriter)
    assert writer.generated_column == "output"
    path.write_text(
        "class_path: ProfileWriter\n"
        "init_args:\n  profile:\n    name: lost\n    probabilities:\n      omission: [0, 0.5, 0.5]\n"
    )
    writer = load_candidate_writer(str(path))
    assert isinstance(writer, ProfileWriter)
    assert writer.profile.sample(Random(0))["omission"] in (1, 2)


def test_load_candidate_writer_takes_a_class_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "writer.yaml"
    path.write_text(f"class_path: {__name__}.RisingWriter\ninit_args:\n  step: 2\n")
    group = next(synthesize(RadCliQCriteria(), 1, 4, candidates=load_candidate_writer(str(path))))
    assert len(group.candidates) == 4
    assert not any((group.candidates[0].errors or {}).values())


def test_command_takes_a_class_in_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    Path("my_writers.py").write_text(
        "from radreward.synthesis.graded_candidates import GradedWriter\n\nclass MyWriter(GradedWriter):\n    pass\n"
    )
    Path("mine.yaml").write_text("class_path: my_writers.MyWriter\n")
    assert main(["synthesize", "--candidates", "mine.yaml", "--groups", "2", "--output", "out"]) == 0
    systems = {candidate.system for group in read_groups(Path("out/groups.parquet")) for candidate in group.candidates}
    assert systems == {"graded"}


def test_writer_without_candidates_raises() -> None:
    with pytest.raises(InputError, match="no candidates with different totals"):
        next(synthesize(RadCliQCriteria(), 1, candidates=SilentWriter()))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("omission: [0.5, 0.6]", "Expected probabilities of `omission` that add up to 1 but got [0.5, 0.6]"),
        ("omission: [-1, 2]", "Expected probabilities of `omission`"),
        ("omission: [.nan]", "Expected probabilities of `omission`"),
        ("lamp: [1]", "but got 'lamp'"),
        ("omission: [0, 0, 0, 0, 0, 0, 0, 1]", "Expected at most 6 errors of `omission` but got 7"),
        ("omission: two", "Expected lines such as"),
        ("- omission", "Expected lines such as"),
        ("", "Expected lines such as"),
        ("omission: [1", "Expected YAML but"),
        ("class_path: LampWriter", "LampWriter"),
        ("class_path: GradedWriter\ninit_args: {lamp: 1}", "lamp"),
        ("class_path: builtins.dict", "builtins.dict"),
    ],
)
def test_load_candidate_writer_invalid_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(InputError) as raised:
        load_candidate_writer(str(path))
    assert str(raised.value).startswith(str(path))
    assert message in str(raised.value)


def test_load_candidate_writer_unknown_name_or_missing_file_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--candidates: Expected one of tiers, .* or a .yaml file but got 'lamp'"):
        load_candidate_writer("lamp")
    with pytest.raises(InputError, match="cannot be read"):
        load_candidate_writer(str(tmp_path / "none.yaml"))
