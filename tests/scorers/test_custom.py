"""A metric in a file of one's own."""

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
    return {"nan": math.nan, "inf": math.inf, "text": "7"}.get(candidate, len(set(reference) & set(candidate)))


def distance(reference, candidate):
    return abs(len(reference) - len(candidate)) if candidate != "nothing" else None


distance.higher_is_better = False
distance.title = "Difference of length"
distance.range = (0.0, None)
number = 7


class Whole(Scorer):
    title = "Whole"

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.ones(len(candidates)), None, None, ("ok",) * len(candidates))

    def fingerprint(self) -> str:
        return "whole"

    def save_pretrained(self, folder):
        raise NotImplementedError


class Short(Whole):
    def score_texts(self, references, candidates):
        return Scores(torch.ones(1), None, None, ("ok",) * len(candidates))


class Picky(Whole):
    def __init__(self, needed):
        pass


made = Whole()
"""


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("custom") / "my_file.py"
    path.write_text(METRIC)
    return path


def test_a_bad_row_concerns_itself_alone(file: Path) -> None:
    scorer = load(f"{file}:shared")
    scores = scorer.score(["abc"] * 6, ["abd", "raise", "nan", "", "text", "inf"])
    assert scores.status == (
        "ok",
        "shared raised KeyError: 'words'",
        "expected a finite score but the model gave none",
        "empty candidate",
        "ok",
        "expected a finite score but the model gave none",
    )
    assert scores.total.isnan().tolist() == [False, True, True, True, False, True]
    assert scores.total[[0, 4]].tolist() == [2, 7]
    assert (scorer.title, scorer.higher_is_better, scorer.total_range) == ("shared", True, (None, None))


def test_a_function_may_say_what_it_is(file: Path) -> None:
    scorer = load(f"{file}:distance")
    assert (scorer.title, scorer.higher_is_better, scorer.total_range) == ("Difference of length", False, (0.0, None))
    assert scorer.score(["abc"], ["nothing"]).status == (
        "expected a number from Difference of length but got NoneType",
    )


def test_a_scorer_of_ones_own(file: Path) -> None:
    for name in ("Whole", "made"):
        scorer = load(f"{file}:{name}")
        assert (scorer.title, scorer.fingerprint()) == ("Whole", "whole")
        assert scorer.score(["a", ""], ["b", "c"]).status == ("ok", "empty reference")
    with pytest.raises(InputError, match="Whole: Expected `total` of 2 pairs but got 1"):
        load(f"{file}:Short").score(["a", "b"], ["c", "d"])


def test_the_fingerprint_is_that_of_the_file(file: Path, tmp_path: Path) -> None:
    copy = tmp_path / "other.py"
    copy.write_text(METRIC)
    one = load(f"{file}:shared")
    assert load(f"{copy}:shared").fingerprint() == one.fingerprint()
    assert load(f"{copy}:distance").fingerprint() != one.fingerprint()
    copy.write_text(METRIC + "\n# another")
    assert load(f"{copy}:shared").fingerprint() != one.fingerprint()
    with pytest.raises(InputError, match="shared cannot be saved: it is code"):
        one.save_pretrained(tmp_path / "saved")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none.py:metric", r"none\.py: Expected a Python file with a metric but there is none"),
        ("my_file.py:gone", r"my_file\.py:gone: Expected a function of that name, or a Scorer, but there is none"),
        ("my_file.py:number", "or a Scorer, but it is of type int"),
        ("my_file.py:Counter", r"my_file\.py:Counter: Expected a function .* but it is a class that is none"),
        ("my_file.py:Picky", r"my_file\.py:Picky: cannot be made \(TypeError: .*needed"),
        ("my_file.py:a-b", r"my_file\.py:a-b: Expected a metric as my_file\.py:my_metric"),
        ("broken.py:metric", r"broken\.py: cannot be imported \(ZeroDivisionError: division by zero\)"),
    ],
)
def test_what_cannot_be_used_is_told(name: str, message: str, file: Path) -> None:
    (file.parent / "broken.py").write_text("1 / 0")
    with pytest.raises(InputError, match=message):
        load(file.parent / name)
