from collections.abc import Iterator, Sequence

import pytest
import torch

import soak.__main__ as runner
from radreward.scorers.custom import CustomScorer
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.fit_report import FitReport, fit_report_markdown
from radreward.systems.ratescore.fitting.fit_evaluation import CrossValidation
from radreward.systems.ratescore.fitting.optimizers import FitResult
from radreward.types import Scores
from soak import Outcome, false_findings, hostile_pairs, kills, text_forms


def test_hostile_pairs_survive_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hostile_pairs, "METRICS", ("rouge-l", "cider", "chexpert-f1"))
    outcomes = list(hostile_pairs.run(1e-9))
    assert [(outcome.tried, outcome.survived) for outcome in outcomes] == [(50, 50)] * 3


def test_hostile_pairs_counts_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    class Faulty:
        """A scorer that fails for some texts."""

        total_range = (0.0, 1.0)

        def fit_references(self, references: list[str]) -> "Faulty":
            return self

        def score(self, references: tuple[str, ...], candidates: tuple[str, ...]) -> None:
            raise RuntimeError("cannot score")

    monkeypatch.setattr(hostile_pairs, "METRICS", ("faulty",))
    monkeypatch.setattr(hostile_pairs, "load", lambda name: Faulty())
    (outcome,) = hostile_pairs.run(1e-9)
    assert (outcome.tried, outcome.survived) == (50, 0)
    assert "RuntimeError: cannot score" in outcome.note


def test_false_findings_lower_scores_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(false_findings, "METRICS", ("chexpert-f1", "rouge-l"))
    outcomes = list(false_findings.run(0.05))
    assert [outcome.name.rsplit(", ")[1] for outcome in outcomes] == ["chexpert-f1"] * 6 + ["rouge-l"] * 3
    assert all(outcome.tried == 100 for outcome in outcomes)
    assert not any(outcome.failed for outcome in outcomes), outcomes


def test_false_findings_that_raise_a_quality_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    class LongIsGood(CustomScorer):
        """A scorer that prefers long reports."""

        has_quality = True

        def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
            scores = super()._score_valid(references, candidates)
            return scores._replace(quality=scores.total / 1_000)

    monkeypatch.setattr(false_findings, "METRICS", ("long",))
    monkeypatch.setattr(false_findings, "load", lambda name: LongIsGood(lambda reference, text: len(text)))
    total, negated, _, quality, _, best = false_findings.run(1e-9)
    assert (total.tried, total.survived, total.failed) == (10, 0, False)
    assert total.deviation > 10  # characters
    assert (quality.tried, quality.survived, quality.failed) == (10, 2, True)  # 2 candidates are their reference
    assert (negated.tried, negated.survived) == (10, 10)
    assert best.failed is False


def test_text_forms_change_no_score_in_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_forms, "METRICS", ("chexpert-f1", "rouge-l"))
    outcomes = list(text_forms.run(0.05))
    assert [(outcome.tried, outcome.survived) for outcome in outcomes] == [(100, 100)] * 2


def test_text_forms_that_change_a_score_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_forms, "METRICS", ("length",))
    monkeypatch.setattr(text_forms, "load", lambda name: CustomScorer(lambda reference, text: len(text)))
    (outcome,) = text_forms.run(1e-9)
    assert outcome.tried == 10
    assert outcome.failed
    assert "changed by " in outcome.note


def test_main_prints_a_table_and_fails_if_something_did_not_survive(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(scale: float) -> Iterator[Outcome]:
        yield Outcome("kills of score", 20, int(20 * scale))

    monkeypatch.setattr(hostile_pairs, "run", run)
    assert runner.main(["hostile_pairs"]) == 0
    assert "| kills of score | 20 | 20 of 20: passed | none |" in capsys.readouterr().out
    assert runner.main(["--scale=0.5", "hostile_pairs"]) == 1


def test_main_unknown_job_lists_the_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        runner.main(["nothing"])
    assert "hostile_pairs" in capsys.readouterr().err


def test_times_of_a_fit_of_w_and_p_are_not_compared() -> None:
    affinity, taus, texts = (
        AffinityMatrix(torch.ones(5, 5), torch.tensor(1.0)),
        CrossValidation((0.1,), (0.2,)),
        set[bytes](),
    )
    for seconds in (0.12, 13.0):
        fit = FitResult(affinity=affinity, steps=(), evaluations=7, seconds=seconds, search_seconds=seconds / 2)
        report = FitReport(
            affinity=affinity,
            initial=affinity,
            type_pair_counts=torch.ones(5, 5),
            intervals=None,
            cross_validation=taus,
            fit=fit,
        )
        texts.add(kills.TIMES.sub(b"", fit_report_markdown(report).encode()))
    assert len(texts) == 1
