"""What any scorer has to satisfy."""

from __future__ import annotations

import math
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path

import torch
from torch import Tensor

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.base import SCORED_STATUSES, Scorer
from radreward.testing.checks import require
from radreward.types import Scores

REFERENCES = (
    "Small left pleural effusion. No pneumothorax. The heart is mildly enlarged.",
    "Endotracheal tube in good position. Right lower lobe consolidation, likely pneumonia.",
    "Lungs are clear. No pleural effusion. Normal heart size.",
)
CANDIDATES = (
    "Left pleural effusion. No pneumothorax. The heart is enlarged.",
    "Right lower lobe consolidation.",
    "Severe pulmonary edema. Large right pneumothorax.",
)


class ScorerConformance(ABC):
    """What any `Scorer` has to satisfy; subclass it and give `scorer`. Settings are there to be overridden."""

    references: tuple[str, ...] = REFERENCES
    """Reports that differ in what they say."""
    candidates: tuple[str, ...] = CANDIDATES
    """A good, a fair and a bad candidate for them, in this order."""
    can_save: bool = True
    """Whether the scorer can be saved; code cannot."""
    tolerance: float = 1e-4
    """By how much scores of one pair may differ between calls, where batches change the rounding."""

    @staticmethod
    @abstractmethod
    def scorer() -> Scorer:
        """A new scorer; called by every test."""

    def test_order_and_length_of_the_input(self) -> None:
        """Pairs in another order have the same scores in that order, and every part has as many rows."""
        scorer = self._fitted()
        scores = scorer.score(self.references, self.candidates)
        other = scorer.score(self.references[::-1], self.candidates[::-1])
        for name, values in scores._asdict().items():
            require(values is None or len(values) == len(self.references), f"`{name}` has to have a row for each pair")
        self._require_equal(other.total.flip(0), scores.total, "scores have to stay with their pairs")
        require(other.status[::-1] == scores.status, "statuses have to stay with their pairs")
        for values, names in (
            (scores.sub_scores, scorer.sub_names),
            (scores.error_counts, getattr(scorer.criteria, "tags", ())),
        ):
            if values is not None:
                shape = (len(self.references), len(names))
                require(values.shape == shape, f"sub-scores have to be {shape} but are {tuple(values.shape)}")

    def test_a_pair_is_scored_by_itself(self) -> None:
        """The other pairs of a call do not change a score."""
        scorer = self._fitted()
        together = scorer.score(self.references, self.candidates).total
        pairs = zip(self.references, self.candidates, strict=True)
        alone = torch.cat([scorer.score([one], [other]).total for one, other in pairs])
        self._require_equal(alone, together, "a score must not depend on the other pairs of a call")

    def test_rows_that_cannot_be_scored(self) -> None:
        """Empty reports have NaN and a status that says why, in their place; other rows keep their scores."""
        reference, candidate = self.references[0], self.candidates[0]
        scorer = self._fitted()
        scores = scorer.score([reference, "", reference, reference], [candidate, candidate, " \n", candidate])
        alone = scorer.score([reference], [candidate])
        require(scores.total.isnan().tolist()[1:3] == [True, True], "empty reports have to have NaN")
        require(scores.status[1:3] == ("empty reference", "empty candidate"), "a status has to say what is empty")
        require(scores.status[0] == scores.status[3] == alone.status[0], "empty reports must not change other rows")
        self._require_equal(scores.total[[0, 3]], alone.total.expand(2), "empty reports must not change other rows")

    def test_nothing_to_score(self) -> None:
        """No pairs give no scores, and as many candidates as references are asked for."""
        scores = self.scorer().score([], [])
        require(scores.total.shape == (0,) and scores.status == (), "no pairs have to give no scores")
        try:
            self.scorer().score(["Clear."], [])
        except ValueError:
            return
        raise AssertionError("lists of different lengths have to be refused with a ValueError")

    def test_identical_reports_are_on_top(self) -> None:
        """No candidate scores better than the reference itself, and the bad one scores worse."""
        scorer = self._fitted()
        top = self._oriented(scorer, scorer.score(self.references, self.references))
        require(bool(top.isfinite().all()), "identical reports have to have a score")
        for candidates in (self.candidates, self.candidates[::-1]):
            found = self._oriented(scorer, scorer.score(self.references, candidates))
            better = (found > top + self.tolerance * (1 + top.abs())).any()
            require(not bool(better), "identical reports have to be on top: is `higher_is_better` right?")
        worst = self._oriented(scorer, scorer.score(self.references[-1:], self.candidates[-1:]))
        require(bool((worst < top[-1:]).all()), "a bad candidate has to score worse than the reference itself")

    def test_better_candidates_score_better(self) -> None:
        """The good candidate scores better for its reference than the bad one does."""
        scorer = self._fitted()
        scores = scorer.score([self.references[0]] * 2, [self.candidates[0], self.candidates[-1]])
        good, bad = self._oriented(scorer, scores).tolist()
        require(
            good > bad, f"the good candidate has {good:.3f} and the bad one {bad:.3f}, turned so that more is better"
        )

    def test_scores_are_in_range(self) -> None:
        """Scores are finite where the status says that there is one, and within `range`."""
        scorer = self._fitted()
        low, high = scorer.total_range
        least = -math.inf if low is None else low - self.tolerance
        most = math.inf if high is None else high + self.tolerance
        for candidates in (self.references, self.candidates):
            scores = scorer.score(self.references, candidates)
            for total, status in zip(scores.total.tolist(), scores.status, strict=True):
                require(
                    math.isfinite(total) == (status in SCORED_STATUSES), f"score {total} and status {status!r} disagree"
                )
                require(
                    math.isnan(total) or least <= total <= most, f"the score {total} is not in {scorer.total_range}"
                )

    def test_the_same_again(self) -> None:
        """Two scorers made alike have one fingerprint and the same scores."""
        one, other = self._fitted(), self._fitted()
        require(one.fingerprint() == other.fingerprint(), "scorers made alike have to have one fingerprint")
        first, second = (scorer.score(self.references, self.candidates) for scorer in (one, other))
        self._require_equal(second.total, first.total, "scorers made alike have to score alike")

    def test_saved_and_loaded(self) -> None:
        """What `save_pretrained` wrote loads by `radreward.load`, with the same fingerprint, direction and scores."""
        scorer = self._fitted()
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch, "saved")
            try:
                scorer.save_pretrained(folder)
            except InputError:
                require(not self.can_save, "the scorer has to be saved")
                return
            require(self.can_save, "the scorer was to refuse to be saved")
            files = {path.suffix for path in folder.rglob("*") if path.is_file()}
            require(files <= {".json", ".safetensors"}, f"only JSON and safetensors may be written, not {files}")
            again = load(folder)
            require(again.fingerprint() == scorer.fingerprint(), "what is loaded has to have the fingerprint of before")
            for name in ("range", "higher_is_better", "sub_names"):
                require(getattr(again, name) == getattr(scorer, name), f"`{name}` differs after loading")
            first, second = (one.score(self.references, self.candidates) for one in (scorer, again))
            self._require_equal(second.total, first.total, "what is loaded has to score as before")

    def _fitted(self) -> Scorer:
        return self.scorer().fit_references(self.references)

    def _oriented(self, scorer: Scorer, scores: Scores) -> Tensor:
        return scores.total if scorer.higher_is_better else -scores.total

    def _require_equal(self, actual: Tensor, expected: Tensor, message: str) -> None:
        same = torch.allclose(actual, expected, self.tolerance, self.tolerance, equal_nan=True)
        require(same, f"{message}: {actual.tolist()} and {expected.tolist()}")
