"""Refinement study: a correct judge raises every metric, a wrong one does not; the table, against a loop."""

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
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.judges import SentenceJudge
from radreward.systems.sentence_eval.refinement import RuleRefiner
from radreward.systems.sentence_eval.refinement_study import (
    JUDGE_ROW,
    run_refinement_study,
    score_change_table,
    score_changes,
    write_score_changes,
)
from radreward.types import Scores


class ExactJudge(SentenceJudge):
    """Judge that scores equal sentences 1 and others 0, or the reverse if inverted."""

    def __init__(self, inverted: bool = False) -> None:
        self.inverted = inverted

    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        return [self._judge_pair(*pair) for pair in zip(references, candidates, strict=True)]

    def _judge_pair(self, reference: Sequence[str], candidate: Sequence[str]) -> SentenceJudgement:
        if "Mute." in candidate:
            unscored = (None,) * len(reference), (None,) * len(candidate)
            return SentenceJudgement(*unscored, None, "", {}, "no answer: busy")
        sides = [
            tuple(
                SentenceScore(float((text in others) != self.inverted), (others.index(text),) if text in others else ())
                for text in side
            )
            for side, others in ((reference, candidate), (candidate, reference))
        ]
        overall = 5 * float(np.mean([entry.score for side in sides for entry in side]))
        return SentenceJudgement(sides[0], sides[1], overall, "", {}, "ok")

    def fingerprint(self) -> str:
        return f"exact {self.inverted}"


class WordRecall(Scorer):
    """Fraction of the reference's words in the candidate, or 1 minus this fraction as an error rate."""

    def __init__(self, as_error_rate: bool = False) -> None:
        self.higher_is_better = not as_error_rate

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        totals = []
        for reference, candidate in zip(references, candidates, strict=True):
            words = set(reference.split())
            recall = len(words & set(candidate.split())) / len(words)
            totals.append(recall if self.higher_is_better else 1 - recall)
        return Scores(torch.tensor(totals), None, None, ("ok",) * len(totals))

    def fingerprint(self) -> str:
        return "word recall"

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


REFERENCES = ["No edema. Large heart.", "Clear.", "One. Two. Three.", "Same. Same."]
CANDIDATES = ["Mild edema. Large heart.", "Opaque.", "One. Zwei.", "Same. Same."]
SCORERS: dict[str, Scorer] = {"recall": WordRecall(), "error": WordRecall(as_error_rate=True)}


def test_refinement_study_correct_judge_raises_every_metric() -> None:
    results = run_refinement_study(REFERENCES, CANDIDATES, ExactJudge(), RuleRefiner(), SCORERS)
    assert [entry.refined_text for entry in results] == REFERENCES
    assert [entry.status for entry in results] == ["ok", "ok", "ok", "unchanged"]
    judge, recall, error = score_changes([entry.scores for entry in results], SCORERS)
    assert (judge.scorer, recall.scorer, error.scorer) == (JUDGE_ROW, "recall", "error")
    assert (judge.after, recall.after, error.after) == (5.0, 1.0, 0.0)
    assert recall.before == pytest.approx(np.mean([3 / 4, 0, 1 / 3, 1]))
    assert recall.difference == pytest.approx(recall.after - recall.before)
    assert [row.fraction_improved for row in (judge, recall, error)] == [0.75, 0.75, 0.75]
    assert [row.num_pairs for row in (judge, recall, error)] == [4, 4, 4]


def test_refinement_study_wrong_judge_raises_no_metric() -> None:
    candidates = ["No edema. Opaque.", "Clear. Opaque.", "One. Two. Vier."]
    results = run_refinement_study(REFERENCES[:3], candidates, ExactJudge(inverted=True), RuleRefiner(), SCORERS)
    _, recall, error = score_changes([entry.scores for entry in results], SCORERS)
    assert recall.difference == 0.0
    assert recall.fraction_improved == error.fraction_improved == 0.0


def test_refinement_study_failed_pairs_keep_their_positions() -> None:
    references, candidates = ["No edema.", "", "Clear.", "Clear."], ["Mild edema.", "Clear.", "Mute.", "\ud800"]
    results = run_refinement_study(references, candidates, ExactJudge(), RuleRefiner(), SCORERS)
    failures = ["empty reference", "not judged: no answer: busy", "Expected UTF-8 text as candidate"]
    assert [entry.status for entry in results] == ["ok", *failures]
    assert [sorted(entry.scores) for entry in results] == [["error", "judge", "recall"], [], [], []]
    assert [row.num_pairs for row in score_changes([entry.scores for entry in results], SCORERS)] == [1, 1, 1]
    with pytest.raises(ValueError, match="one candidate per reference"):
        run_refinement_study(["A."], [], ExactJudge(), RuleRefiner(), SCORERS)


def test_score_changes_interval_equals_a_loop() -> None:
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(60, 2))
    row = score_changes([{"recall": (before, after)} for before, after in pairs], {"recall": WordRecall()}, seed=1)[1]
    gain = pairs[:, 1] - pairs[:, 0]
    means = [rng.choice(gain, len(gain)).mean() for _ in range(4_000)]
    assert row.ci_low == pytest.approx(np.percentile(means, 2.5), abs=0.03)
    assert row.ci_high == pytest.approx(np.percentile(means, 97.5), abs=0.03)


def test_write_score_changes_writes_three_formats(tmp_path: Path) -> None:
    results = run_refinement_study(REFERENCES, CANDIDATES, ExactJudge(), RuleRefiner(), SCORERS)
    rows = [*score_changes([entry.scores for entry in results], SCORERS), score_changes([], {"none": WordRecall()})[1]]
    csv_file, markdown, latex = write_score_changes(rows, tmp_path / "table")
    with csv_file.open(newline="") as file:
        entries = list(csv.DictReader(file))
    assert [entry["scorer"] for entry in entries] == ["judge", "recall", "error", "none"]
    assert float(entries[1]["after"]) == 1.0
    assert entries[3]["before"] == ""
    assert "| recall | 4 | 0.521 | 1.000 | +0.479 |" in markdown.read_text()
    assert r"recall & 4 & 0.521 & 1.000 & +0.479" in latex.read_text()
    console = Console(width=100, record=True, quiet=True)
    console.print(score_change_table(rows))
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="file"):
        write_score_changes(rows, tmp_path / "file" / "table")
