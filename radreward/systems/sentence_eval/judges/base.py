"""Base class of sentence judges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from radreward.systems.sentence_eval.judgement import SentenceJudgement


class SentenceJudge(ABC):
    """Scores the sentences of report pairs."""

    @abstractmethod
    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """Return the judgements of report pairs, given as sentences, in the order of the input.

        If a pair cannot be judged, the score of each sentence is None, and `status` names the reason.

        Raises:
            ValueError: If the numbers of references and candidates differ.
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything that determines the judgements."""


def check_pair_counts(references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]) -> None:
    """Check that there is one candidate per reference.

    Raises:
        ValueError: If the check fails.
    """
    if len(references) != len(candidates):
        raise ValueError(f"Expected one candidate per reference but got {len(references)} and {len(candidates)}.")
