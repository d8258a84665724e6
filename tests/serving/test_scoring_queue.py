"""Jobs in slices: turns, shared slices, failures and cancellation."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from typing import Any

import pytest
import torch

from radreward import load
from radreward.models.marked_findings import MarkedFinding
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.scoring.pairs import Pairs
from radreward.serving.scoring import SLICE_CHARS, SLICE_PAIRS, ScorerFailedError, ScoringJob, next_slice, score_slice
from radreward.serving.scoring_queue import QueueFullError, ScoringQueue
from radreward.types import Scores, Side


class Recorder(Scorer):
    """A metric that records the candidates of each call, waits for an event, and fails on "bad"."""

    def __init__(self) -> None:
        self.calls: list[list[str]] = []
        self.started, self.gate = Event(), Event()
        self.gate.set()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        self.calls.append(list(candidates))
        self.started.set()
        assert self.gate.wait(60)
        if "bad" in candidates:
            raise RuntimeError
        totals = torch.tensor([float(len(text)) for text in candidates])
        return Scores(totals, None, None, (STATUS_OK,) * len(candidates))

    def fingerprint(self) -> str:
        return ""

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


class Fitted(Recorder):
    """A metric that is fitted to the references of each request, as CIDEr."""

    def fit_references(self, references: Iterable[str]) -> Scorer:
        return Recorder()


@pytest.fixture
def scorer() -> Recorder:
    return Recorder()


@pytest.fixture
def queue() -> Iterator[ScoringQueue]:
    queue = ScoringQueue(max_requests=3)
    yield queue
    queue.close()


def make_job(candidates: Sequence[str], **scorers: Scorer) -> ScoringJob:
    return ScoringJob(scorers, Pairs(["Clear lungs."] * len(candidates), candidates), with_evidence=False)


def totals(job: ScoringJob, name: str = "words") -> list[Any]:
    return [row[name]["total"] for row in job.future.result(60)]


def test_slice_has_rows_of_all_jobs_with_the_same_scorer(scorer: Recorder) -> None:
    jobs = [make_job(["a"] * 40, words=scorer), make_job(["bb"], words=scorer), make_job(["ccc"], words=Recorder())]
    first = next_slice(jobs)
    assert [(part.job, part.rows) for part in first] == [(jobs[0], slice(0, SLICE_PAIRS))]
    score_slice(first)
    second = next_slice(jobs)
    assert [(part.job, part.rows) for part in second] == [(jobs[0], slice(SLICE_PAIRS, 40)), (jobs[1], slice(0, 1))]
    score_slice(second)
    assert totals(jobs[0]) == [1.0] * 40
    assert totals(jobs[1]) == [2.0]
    assert not jobs[2].future.done()


def test_slice_is_bounded_in_characters_and_has_one_pair_at_least(scorer: Recorder) -> None:
    size = SLICE_CHARS // 2 - 12  # two of these, with their references, are the limit
    job = make_job(["a" * size, "b" * size, "c", "d" * 2 * SLICE_CHARS], words=scorer)
    rows = []
    while not job.future.done():
        [part] = next_slice([job])
        rows.append((part.rows.start, part.rows.stop))
        score_slice([part])
    assert rows == [(0, 2), (2, 3), (3, 4)]


def test_scorer_fitted_to_a_request_scores_no_other_pairs() -> None:
    fitted = Fitted()
    jobs = [make_job(["a"], words=fitted), make_job(["b"], words=fitted)]
    assert [part.job for part in next_slice(jobs)] == jobs[:1]


def test_failure_ends_only_the_job_whose_pairs_cause_it(scorer: Recorder) -> None:
    jobs = [make_job(["a"], words=scorer), make_job(["bad"], words=scorer), make_job(["cc"], words=scorer)]
    score_slice(next_slice(jobs))
    assert (totals(jobs[0]), totals(jobs[2])) == ([1.0], [2.0])
    with pytest.raises(ScorerFailedError, match=r"words: Expected scores but the metric failed \(RuntimeError\)"):
        jobs[1].future.result(0)


def test_cancelled_job_ends_after_its_slice_and_the_next_one_is_scored(queue: ScoringQueue, scorer: Recorder) -> None:
    scorer.gate.clear()
    long = make_job(["a"] * 20 * SLICE_PAIRS, words=scorer)
    queue.submit(long)
    assert scorer.started.wait(60)
    assert long.future.cancel()
    short = make_job(["bb"], words=scorer)
    queue.submit(short)
    scorer.gate.set()
    assert totals(short) == [2.0]
    assert scorer.calls == [["a"] * SLICE_PAIRS, ["bb"]]


def test_short_job_waits_for_one_slice_of_a_long_one(queue: ScoringQueue, scorer: Recorder) -> None:
    scorer.gate.clear()
    long = make_job(["a"] * 20 * SLICE_PAIRS, words=scorer)
    queue.submit(long)
    assert scorer.started.wait(60)
    other = Recorder()
    short = make_job(["bb"], words=other)
    queue.submit(short)
    order: list[str] = []
    for name, job in (("long", long), ("short", short)):
        job.future.add_done_callback(lambda _, name=name: order.append(name))  # type: ignore[misc]
    scorer.gate.set()
    assert totals(short) == [2.0]
    assert totals(long) == [1.0] * 20 * SLICE_PAIRS
    assert order == ["short", "long"]


def test_queue_is_full_until_a_job_ends(queue: ScoringQueue, scorer: Recorder) -> None:
    scorer.gate.clear()
    jobs = [make_job(["a"], words=scorer) for _ in range(3)]
    for job in jobs:
        queue.submit(job)
    with pytest.raises(QueueFullError):
        queue.submit(make_job(["a"], words=scorer))
    jobs[2].future.cancel()
    queue.submit(last := make_job(["a"], words=scorer))
    scorer.gate.set()
    assert totals(last) == [1.0]


def test_closing_cancels_waiting_jobs(scorer: Recorder) -> None:
    queue = ScoringQueue(max_requests=3)
    scorer.gate.clear()
    job = make_job(["a"] * 20 * SLICE_PAIRS, words=scorer)
    queue.submit(job)
    assert scorer.started.wait(60)
    scorer.gate.set()
    queue.close()
    assert job.future.done()
    assert len(scorer.calls) < 20 or not job.future.cancelled()


@pytest.mark.parametrize("name", ["er2score", "sentence-eval"])
def test_scores_of_a_shared_slice_are_those_of_separate_scoring(name: str, queue: ScoringQueue) -> None:
    scorer = load(name, device="cpu")
    candidates = ["Small left effusion.", "Right pneumothorax.", "No edema. Rib fracture.", "", "I cannot help."]
    jobs = [make_job([text] * (1 + index), model=scorer) for index, text in enumerate(candidates)]
    score_slice(parts := next_slice(jobs))
    assert [part.job for part in parts] == jobs
    for text, job in zip(candidates, jobs, strict=True):
        expected = scorer.score(["Clear lungs."], [text])
        assert totals(job, "model") == pytest.approx(
            [None if total != total else total for total in expected.total.tolist()] * len(job.future.result(0)),
            abs=1e-5,
        )
        assert {row["model"]["status"] for row in job.future.result(0)} == set(expected.status)


def test_request_for_no_longer_wanted_scores_is_never_started(queue: ScoringQueue, scorer: Recorder) -> None:
    scorer.gate.clear()
    queue.submit(make_job(["a"], words=scorer))
    assert scorer.started.wait(60)
    unwanted = make_job(["bb"], words=scorer)
    queue.submit(unwanted)
    unwanted.future.cancel()
    queue.submit(last := make_job(["ccc"], words=scorer))
    scorer.gate.set()
    assert totals(last) == [3.0]
    assert ["bb"] not in scorer.calls
    while queue._jobs:  # the callbacks of a future follow its result
        time.sleep(0.01)


class Marking(Recorder):
    """A metric whose evidence is the first word of the candidate, which it marks."""

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        scores = super()._score_valid(references, candidates)
        return scores._replace(evidence=tuple(text.split()[0] for text in candidates))

    def mark_findings(self, evidence: str, texts: Mapping[Side, str]) -> list[MarkedFinding]:
        assert texts[Side.CANDIDATE].startswith(evidence)
        return [MarkedFinding(Side.CANDIDATE, "invented", evidence, 0, len(evidence))]


@pytest.mark.parametrize(("metric", "marked"), [(Marking, ["Nodule"]), (Recorder, [])])
def test_users_metric_marks_what_it_names(metric: type[Recorder], marked: list[str]) -> None:
    job = ScoringJob({"own": metric()}, Pairs(["Clear lungs.", ""], ["Nodule  seen.", "Nodule."]), with_evidence=True)
    score_slice(next_slice([job]))
    first, unscored = job.future.result(0)
    assert [finding["text"] for finding in first["own"]["findings"]] == marked
    assert unscored["own"]["findings"] == []
