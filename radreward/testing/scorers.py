"""Conformance suite for scorers."""

from __future__ import annotations

import math
import random
import tempfile
from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from radreward.errors import InputError
from radreward.extras import require_packages
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.status import SCORED_STATUSES
from radreward.testing.checks import require
from radreward.testing.hostile_reports import REPORTS, hostile_report
from radreward.testing.suite import ConformanceSuite
from radreward.types import Scores

CANDIDATES = (
    "Left pleural effusion. No pneumothorax. The heart is enlarged.",
    "Right lower lobe consolidation.",
    "Severe pulmonary edema. Large right pneumothorax.",
)
_FALSE_FINDINGS = ("Acute rib fracture.", "Large lung mass.", "Free air under the diaphragm.", "Hiatal hernia.")
"""Sentences with findings that are in none of the reports."""


class ScorerConformance(ConformanceSuite):
    """Tests for a `Scorer`; subclass it, define `scorer` and override the settings as needed."""

    references: tuple[str, ...] = REPORTS
    """Three reports with different content."""
    candidates: tuple[str, ...] = CANDIDATES
    """One candidate per reference: a good one, a fair one and a bad one, in this order."""
    false_findings: tuple[str, ...] = _FALSE_FINDINGS
    """Sentences with findings that are in none of the references."""
    can_save: bool = True
    """False if the scorer cannot be saved, such as a function of your own."""
    tolerance: float = 1e-4
    """Allowed difference between the scores of a pair in two calls; other batches lead to other rounding."""

    @staticmethod
    @abstractmethod
    def scorer() -> Scorer:
        """Return a new scorer; called by every test."""

    def test_order_and_length_match_input(self) -> None:
        """Permuted pairs have permuted scores, and every field of the result has one row per pair."""
        scorer = self._fitted()
        scores = scorer.score(self.references, self.candidates)
        reversed_scores = scorer.score(self.references[::-1], self.candidates[::-1])
        for name, values in scores._asdict().items():
            complete = values is None or len(values) == len(self.references) or name.endswith("_names")
            require(complete, f"`{name}` must have one row per pair")
        self._require_equal(reversed_scores.total.flip(0), scores.total, "scores must follow their pairs")
        require(reversed_scores.status[::-1] == scores.status, "statuses must follow their pairs")
        tags = getattr(scorer.criteria, "tags", ())
        for values, names in ((scores.sub_scores, scorer.sub_names), (scores.error_counts, tags)):
            if values is not None:
                shape = (len(self.references), len(names))
                got = tuple(values.shape)
                require(got == shape, f"sub-scores and error counts must have the shape {shape} but have {got}")

    def test_score_independent_of_other_pairs(self) -> None:
        """A score does not depend on the other pairs of the call."""
        scorer = self._fitted()
        together = scorer.score(self.references, self.candidates).total
        pairs = zip(self.references, self.candidates, strict=True)
        separate = torch.cat([scorer.score([reference], [candidate]).total for reference, candidate in pairs])
        self._require_equal(separate, together, "a score must not depend on the other pairs of a call")

    def test_empty_reports_get_status(self) -> None:
        """Pairs with an empty report get NaN and a status with the reason; other pairs keep their scores."""
        reference, candidate = self.references[0], self.candidates[0]
        scorer = self._fitted()
        scores = scorer.score([reference, "", reference, reference], [candidate, candidate, " \n", candidate])
        single = scorer.score([reference], [candidate])
        require(scores.total.isnan().tolist()[1:3] == [True, True], "empty reports must have NaN")
        require(scores.status[1:3] == ("empty reference", "empty candidate"), "the status must name the empty report")
        require(scores.status[0] == scores.status[3] == single.status[0], "empty reports must not change other rows")
        self._require_equal(scores.total[[0, 3]], single.total.expand(2), "empty reports must not change other rows")

    def test_form_of_text_does_not_change_score(self) -> None:
        """White space and Unicode forms do not change a score, unless `normalizes_text` is False."""
        scorer = self._fitted()
        scores = scorer.score(self.references, self.candidates)
        for space in ("  ", "\t", "\n", "\u00a0", " \u00ad"):
            forms = [[text.replace(" ", space) for text in texts] for texts in (self.references, self.candidates)]
            changed = scorer.score(forms[0], forms[1])
            equal = not scorer.normalizes_text or changed.status == scores.status
            require(equal, f"the status must not depend on white space such as {space!r}")
            if scorer.normalizes_text:
                self._require_equal(changed.total, scores.total, f"scores must not depend on {space!r}")

    def test_hostile_reports_get_score_or_status(self) -> None:
        """Hostile reports get a finite score or a status with the reason, in any order of the pairs."""
        rng, scorer = random.Random(64), self._fitted()  # with this seed, each kind is a reference and a candidate
        pairs = [(hostile_report(rng, 300), hostile_report(rng, 300)) for _ in range(8)]
        pairs += [(self.references[0], candidate) for _, candidate in pairs]
        scores = scorer.score(*zip(*pairs, strict=True))
        reversed_scores = scorer.score(*zip(*reversed(pairs), strict=True))
        self._require_statuses(scores)
        require(reversed_scores.status[::-1] == scores.status, "the status of a hostile report must follow its pair")
        self._require_equal(
            reversed_scores.total.flip(0), scores.total, "scores of hostile reports must follow their pairs"
        )

    def test_rows_are_read_by_position(self) -> None:
        """A pandas Series with a shuffled index scores like a list; a single text raises an InputError."""
        require_packages("ScorerConformance", "pandas")
        import pandas as pd

        scorer = self._fitted()
        expected = scorer.score(self.references, self.candidates).total
        index = range(len(self.references))[::-1]
        references, candidates = pd.Series(self.references, index), pd.Series(self.candidates)
        self._require_equal(
            scorer.score(references, candidates).total, expected, "pairs must be formed by position, not by index"
        )
        try:
            scorer.score(self.references[0], self.candidates[0])
        except InputError:
            return
        raise AssertionError("a single text must raise an InputError")

    def test_no_pairs_give_no_scores(self) -> None:
        """No pairs give no scores, and lists of different lengths raise a ValueError."""
        scores = self.scorer().score([], [])
        require(scores.total.shape == (0,) and scores.status == (), "no pairs must give no scores")
        try:
            self.scorer().score(["Clear."], [])
        except ValueError:
            return
        raise AssertionError("lists of different lengths must raise a ValueError")

    def test_identical_reports_score_highest(self) -> None:
        """No candidate scores better than the reference itself, and the bad candidate scores worse than it."""
        scorer = self._fitted()
        best = scorer.higher_is_better_output(scorer.score(self.references, self.references))
        require(bool(best.isfinite().all()), "identical reports must have a score")
        for candidates in (self.candidates, self.candidates[::-1]):
            totals = scorer.higher_is_better_output(scorer.score(self.references, candidates))
            better = (totals > best + self.tolerance * (1 + best.abs())).any()
            require(not bool(better), "identical reports must score highest: is `higher_is_better` correct?")
        worst = scorer.higher_is_better_output(scorer.score(self.references[-1:], self.candidates[-1:]))
        require(bool((worst < best[-1:]).all()), "a bad candidate must score worse than the reference itself")

    def test_better_candidates_score_better(self) -> None:
        """The good candidate scores better for its reference than the bad one."""
        scorer = self._fitted()
        scores = scorer.score([self.references[0]] * 2, [self.candidates[0], self.candidates[-1]])
        good, bad = scorer.higher_is_better_output(scores).tolist()
        require(
            good > bad,
            f"the good candidate has {good:.3f} and the bad one {bad:.3f}, oriented so that higher is better",
        )

    def test_scores_within_total_range(self) -> None:
        """Scores are within `total_range`, and finite exactly if the status says so."""
        scorer = self._fitted()
        low, high = scorer.total_range
        minimum = -math.inf if low is None else low - self.tolerance
        maximum = math.inf if high is None else high + self.tolerance
        for candidates in (self.references, self.candidates):
            scores = scorer.score(self.references, candidates)
            self._require_statuses(scores)
            for total in scores.total[scores.total.isfinite()].tolist():
                require(minimum <= total <= maximum, f"the score {total} is not within {scorer.total_range}")

    def test_quality_is_a_share_of_what_is_right(self) -> None:
        """Each pair with a score has a quality in [0, 1]: 1 for identical reports, higher for good than bad candidates.

        There is no quality if `has_quality` is False.
        """
        scorer = self._fitted()
        scores = scorer.score(self.references, self.candidates)
        has_quality = scores.quality is not None
        require(has_quality == scorer.has_quality, "`has_quality` must be True exactly if there is a quality")
        if scores.quality is None:
            return
        rows = scores.total.isfinite()
        require(torch.equal(scores.quality.isfinite(), rows), "exactly the rows with a score must have a quality")
        shares = scores.quality[rows]
        require(bool(((shares >= 0) & (shares <= 1)).all()), f"quality must be in [0, 1] but is {shares.tolist()}")
        identical = self._quality(scorer, self.references, self.references)
        require(bool((identical == 1).all()), f"identical reports must have quality 1 but have {identical.tolist()}")
        backwards = self._quality(scorer, self.references[::-1], self.candidates[::-1])
        self._require_equal(backwards.flip(0), scores.quality, "quality must follow its pairs")
        good, bad = self._quality(scorer, [self.references[0]] * 2, [self.candidates[0], self.candidates[-1]]).tolist()
        require(good > bad, f"the good candidate has quality {good:.3f} and the bad one {bad:.3f}")

    def test_errors_are_the_sum_of_the_error_counts(self) -> None:
        """The number of errors is the unweighted sum of the error counts, never negative, and larger if more is wrong.

        There is no number of errors if `has_errors` is False.
        """
        scorer = self._fitted()
        scores = scorer.score(self.references, self.candidates)
        require(
            (scores.errors is not None) == scorer.has_errors,
            "`has_errors` must be True exactly if there is a number of errors",
        )
        if scores.errors is None:
            return
        known = scores.errors.isfinite()
        require(not bool((known & ~scores.total.isfinite()).any()), "a row without a score must have no errors")
        require(bool((scores.errors[known] >= 0).all()), f"errors must be >= 0 but are {scores.errors.tolist()}")
        if scorer.criteria is not None and scores.error_counts is not None:
            kinds = [criterion.kind for criterion in scorer.criteria.criteria]
            sums = [
                sum(count for count, kind in zip(row, kinds, strict=True) if kind != "rating")
                for row in scores.error_counts.tolist()
            ]
            self._require_equal(scores.errors[known], torch.tensor(sums)[known], "errors must be the sum of the counts")
        oriented = scorer.higher_is_better_output(
            scorer.score([self.references[0]] * 2, [self.candidates[0], self.candidates[-1]]), "errors"
        )
        require(
            float(oriented[0]) > float(oriented[1]), f"the bad candidate must have more errors: {oriented.tolist()}"
        )

    def test_false_findings_do_not_raise_quality(self) -> None:
        """Appending a false finding to a candidate does not raise its quality."""
        scorer = self._fitted()
        if not scorer.has_quality:
            return
        for texts in (self.references, self.candidates):
            before = self._quality(scorer, self.references, texts)
            for sentence in self.false_findings:
                after = self._quality(scorer, self.references, [f"{text} {sentence}" for text in texts])
                raised = bool((after > before + self.tolerance).any())
                require(not raised, f"{sentence!r} raised the quality from {before.tolist()} to {after.tolist()}")

    def test_equal_scorers_score_equally(self) -> None:
        """Two scorers created in the same way have equal fingerprints and scores."""
        first, second = self._fitted(), self._fitted()
        require(first.fingerprint() == second.fingerprint(), "equal scorers must have equal fingerprints")
        totals = [scorer.score(self.references, self.candidates).total for scorer in (first, second)]
        self._require_equal(totals[1], totals[0], "equal scorers must give equal scores")

    def test_save_and_load_round_trip(self) -> None:
        """A scorer that was saved and loaded has the same fingerprint, settings and scores."""
        scorer = self._fitted()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "saved")
            try:
                scorer.save_pretrained(folder)
            except InputError:
                require(not self.can_save, "the scorer must be savable")
                return
            require(self.can_save, "the scorer must refuse to be saved")
            files = {path.suffix for path in folder.rglob("*") if path.is_file()}
            allowed = {".json", ".safetensors", ".md"}  # .md: the model card
            require(files <= allowed, f"only JSON, safetensors and a model card may be written, not {files}")
            loaded = load(folder)
            require(loaded.fingerprint() == scorer.fingerprint(), "the fingerprint differs after loading")
            for name in ("total_range", "higher_is_better", "outputs", "sub_names"):
                require(getattr(loaded, name) == getattr(scorer, name), f"`{name}` differs after loading")
            totals = [s.score(self.references, self.candidates).total for s in (scorer, loaded)]
            self._require_equal(totals[1], totals[0], "the scores differ after loading")

    def _fitted(self) -> Scorer:
        return self.scorer().fit_references(self.references)

    def _quality(self, scorer: Scorer, references: Sequence[str], candidates: Sequence[str]) -> Tensor:
        quality = scorer.score(references, candidates).quality
        return torch.full((len(references),), math.nan) if quality is None else quality

    def _require_statuses(self, scores: Scores) -> None:
        for total, status in zip(scores.total.tolist(), scores.status, strict=True):
            require(math.isfinite(total) == (status in SCORED_STATUSES), f"score {total} contradicts status {status!r}")

    def _require_equal(self, actual: Tensor, expected: Tensor, message: str) -> None:
        equal = torch.allclose(actual, expected, self.tolerance, self.tolerance, equal_nan=True)
        require(equal, f"{message}: {actual.tolist()} and {expected.tolist()}")
