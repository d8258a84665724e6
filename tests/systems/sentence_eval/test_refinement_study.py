"""Before and after: a judge that is right raises every metric, one that is wrong does not; the table by hand."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from radreward.errors import InputError
from radreward.scorers.base import Scorer
from radreward.systems.sentence_eval.judges import SentenceJudge
from radreward.systems.sentence_eval.refinement import RuleRefiner
from radreward.systems.sentence_eval.refinement_study import (
    JUDGE_ROW,
    RefinementResult,
    run_refinement_study,
    score_change_table,
    score_changes,
    write_score_changes,
)
from radreward.types import Scores, SentenceJudgement, SentenceScore


class Exact(SentenceJudge):
    """Equal sentences are met; all others have no counterpart. Turned, the other way round."""

    def __init__(self, turned: bool = False) -> None:
        self.turned = turned

    def judge(
        self, originals: Sequence[Sequence[str]], predictions: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        return [self._pair(one, other) for one, other in zip(originals, predictions, strict=True)]

    def _pair(self, one: Sequence[str], other: Sequence[str]) -> SentenceJudgement:
        if "Mute." in other:
            return SentenceJudgement((None,) * len(one), (None,) * len(other), None, "", {}, "no answer: busy")
        sides = [
            tuple(
                SentenceScore(float((text in others) != self.turned), (others.index(text),) if text in others else ())
                for text in side
            )
            for side, others in ((one, other), (other, one))
        ]
        overall = 5 * float(np.mean([entry.score for side in sides for entry in side]))
        return SentenceJudgement(sides[0], sides[1], overall, "", {}, "ok")

    def fingerprint(self) -> str:
        return f"exact {self.turned}"


class Words(Scorer):
    """Share of the reference's words that the candidate has; as an error rate where it is to be low."""

    def __init__(self, rate: bool = False) -> None:
        self.higher_is_better = not rate

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        shares = []
        for one, other in zip(references, candidates, strict=True):
            words = set(one.split())
            share = len(words & set(other.split())) / len(words)
            shares.append(share if self.higher_is_better else 1 - share)
        return Scores(torch.tensor(shares), None, None, ("ok",) * len(shares))

    def fingerprint(self) -> str:
        return "words"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


REFERENCES = ["No edema. Large heart.", "Clear.", "One. Two. Three.", "Same. Same."]
CANDIDATES = ["Mild edema. Large heart.", "Opaque.", "One. Zwei.", "Same. Same."]
SCORERS: dict[str, Scorer] = {"words": Words(), "rate": Words(rate=True)}


def test_a_judge_that_is_right_raises_every_metric() -> None:
    found = run_refinement_study(REFERENCES, CANDIDATES, Exact(), RuleRefiner(), SCORERS)
    assert [entry.refined_text for entry in found] == [
        "No edema. Large heart.",
        "Clear.",
        "One. Two. Three.",
        "Same. Same.",
    ]
    assert [entry.status for entry in found] == ["ok", "ok", "ok", "unchanged"]
    judge, words, rate = score_changes([entry.scores for entry in found], SCORERS)
    assert (judge.scorer, words.scorer, rate.scorer) == (JUDGE_ROW, "words", "rate")
    assert (judge.after, words.after, rate.after) == (5.0, 1.0, 0.0)
    assert words.before == pytest.approx(np.mean([3 / 4, 0, 1 / 3, 1]))
    assert words.difference == pytest.approx((words.after or 0) - (words.before or 0))
    assert [row.fraction_improved for row in (judge, words, rate)] == [0.75, 0.75, 0.75]
    assert [row.num_pairs for row in (judge, words, rate)] == [4, 4, 4]


def test_a_judge_that_is_wrong_does_not() -> None:
    found = run_refinement_study(
        REFERENCES[:3], ["No edema. Opaque.", "Clear. Opaque.", "One. Two. Vier."], Exact(True), RuleRefiner(), SCORERS
    )
    _, words, rate = score_changes([entry.scores for entry in found], SCORERS)
    assert words.difference == 0.0
    assert words.fraction_improved == rate.fraction_improved == 0.0


def test_pairs_that_cannot_be_verified_keep_their_places() -> None:
    references = ["No edema.", "", "Clear.", "Clear."]
    found = run_refinement_study(
        references, ["Mild edema.", "Clear.", "Mute.", "\ud800"], Exact(), RuleRefiner(), SCORERS
    )
    assert [entry.status for entry in found] == [
        "ok",
        "empty reference",
        "not judged: no answer: busy",
        "expected UTF-8 text as candidate",
    ]
    assert [sorted(entry.scores) for entry in found] == [["judge", "rate", "words"], [], [], []]
    assert [row.num_pairs for row in score_changes([entry.scores for entry in found], SCORERS)] == [1, 1, 1]
    with pytest.raises(ValueError, match="as many references as candidates"):
        run_refinement_study(["A."], [], Exact(), RuleRefiner(), SCORERS)


def test_interval_by_a_loop() -> None:
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(60, 2))
    found = [RefinementResult("a", (), None, None, {"words": (one, other)}, "ok") for one, other in pairs.tolist()]
    row = score_changes([entry.scores for entry in found], {"words": Words()}, seed=1)[1]
    gain = pairs[:, 1] - pairs[:, 0]
    means = [rng.choice(gain, len(gain)).mean() for _ in range(4_000)]
    assert row.ci_low == pytest.approx(np.percentile(means, 2.5), abs=0.03)
    assert row.ci_high == pytest.approx(np.percentile(means, 97.5), abs=0.03)


def test_the_table_is_written(tmp_path: Path) -> None:
    found = run_refinement_study(REFERENCES, CANDIDATES, Exact(), RuleRefiner(), SCORERS)
    rows = [*score_changes([entry.scores for entry in found], SCORERS), score_changes([], {"none": Words()})[1]]
    written = write_score_changes(rows, tmp_path / "table")
    with written.csv.open(newline="") as file:
        entries = list(csv.DictReader(file))
    assert [entry["scorer"] for entry in entries] == ["judge", "words", "rate", "none"]
    assert float(entries[1]["after"]) == 1.0
    assert entries[3]["before"] == ""
    assert "| words | 4 | 0.521 | 1.000 | +0.479 |" in written.markdown.read_text()
    assert r"words & 4 & 0.521 & 1.000 & +0.479" in written.latex.read_text()
    console = Console(width=100, record=True, quiet=True)
    console.print(score_change_table(rows))
    with pytest.raises(InputError, match="cannot be written"):
        write_score_changes(rows, tmp_path / "gone" / "table")
