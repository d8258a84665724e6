"""Tests of metrics defined in a user's file."""

from pathlib import Path

import pytest

from radreward.errors import InputError
from radreward.scorers import load

METRIC = """
import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from radreward.scorers.base import Scorer
from radreward.types import Scores


@dataclass
class Counter:
    words: int = 0


def shared(reference, candidate):
    if candidate == "raise":
        raise KeyError("words")
    return {"undefined": math.nan, "inf": math.inf, "text": "7"}.get(candidate, len(set(reference) & set(candidate)))


def distance(reference, candidate):
    return abs(len(reference) - len(candidate)) if candidate != "nothing" else None


def added(candidate, reference):
    return len(candidate) - len(reference)


distance.higher_is_better = False
distance.title = "Difference of length"
distance.total_range = (0.0, None)
number = 7


class Complete(Scorer):
    title = "Complete"

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.ones(len(candidates)), None, None, ("ok",) * len(candidates))

    def fingerprint(self) -> str:
        return "complete"

    def save_pretrained(self, folder):
        raise NotImplementedError


class Short(Complete):
    def _score_valid(self, references, candidates):
        return Scores(torch.ones(1), None, None, ("ok",) * len(candidates))


class Silent(Complete):
    _score_valid = Scorer._score_valid


class Picky(Complete):
    def __init__(self, needed):
        pass


instance = Complete()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("custom") / "my_file.py"
    path.write_text(METRIC)
    return path


def test_parameters_are_bound_by_their_names(file: Path) -> None:
    assert load(f"{file}:added").score(["Clear."], ["Clear lungs."]).total.tolist() == [6.0]


def test_failing_row_does_not_affect_others(file: Path) -> None:
    scorer = load(f"{file}:shared")
    scores = scorer.score(["abc"] * 6, ["abd", "raise", "undefined", "", "text", "inf"])
    assert scores.status == (
        "ok",
        "shared raised KeyError: 'words'",
        "Expected a finite score but the model gave none",
        "empty candidate",
        "ok",
        "Expected a finite score but the model gave none",
    )
    assert scores.total.isnan().tolist() == [False, True, True, True, False, True]
    assert scores.total[[0, 4]].tolist() == [2, 7]
    assert (scorer.title, scorer.higher_is_better, scorer.total_range) == ("shared", True, (None, None))


def test_function_attributes_become_scorer_settings(file: Path) -> None:
    scorer = load(f"{file}:distance")
    assert (scorer.title, scorer.higher_is_better, scorer.total_range) == ("Difference of length", False, (0.0, None))
    assert scorer.score(["abc"], ["nothing"]).status == (
        "Expected a number from Difference of length but got NoneType",
    )


def test_user_scorer_loaded_by_class_and_instance(file: Path) -> None:
    for name in ("Complete", "instance"):
        scorer = load(f"{file}:{name}")
        assert (scorer.title, scorer.fingerprint()) == ("Complete", "complete")
        assert scorer.score(["a", ""], ["b", "c"]).status == ("ok", "empty reference")
    with pytest.raises(InputError, match="Complete: Expected `total` of 2 pairs but got 1"):
        load(f"{file}:Short").score(["a", "b"], ["c", "d"])


def test_fingerprint_depends_on_file_content(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other.py"
    copy.write_text(METRIC)
    scorer = load(f"{file}:shared")
    assert load(f"{copy}:shared").fingerprint() == scorer.fingerprint()
    assert load(f"{copy}:distance").fingerprint() != scorer.fingerprint()
    copy.write_text(METRIC + "\n# another")
    assert load(f"{copy}:shared").fingerprint() != scorer.fingerprint()
    with pytest.raises(InputError, match="shared cannot be saved because it is code"):
        scorer.save_pretrained(tmp_path / "saved")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py:metric", r"none\.py: Expected a Python file with a metric but there is no such file"),
        (
            "my_file.py:gone",
            r"my_file\.py:gone: Expected a function or a Scorer of that name but there is no such name",
        ),
        ("my_file.py:number", "a Scorer of that name but got an object of type int"),
        ("my_file.py:Counter", r"my_file\.py:Counter: Expected a function .* but got another class"),
        ("my_file.py:Picky", r"my_file\.py:Picky: cannot be constructed \(TypeError: .*needed"),
        (
            "my_file.py:Silent",
            r"constructed \(TypeError: Silent must implement `_score_valid` or `_score_in_context`\)",
        ),
        ("my_file.py:a-b", r"my_file\.py:a-b: Expected a metric as my_file\.py:my_metric"),
        ("broken.py:metric", r"broken\.py: cannot be imported \(ZeroDivisionError: division by zero\)"),
    ],
)
def test_unusable_metric_raises_with_reason(name: str, message: str, file: Path) -> None:
    (file.parent / "broken.py").write_text("1 / 0")
    with pytest.raises(InputError, match=message):
        load(file.parent / name)
