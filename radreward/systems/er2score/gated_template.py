"""A template that leaves out statements that surely report no finding."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from radreward.models.finding_classifier import POSSIBLE, FindingClassifier, embedded_classifier, unread_statements
from radreward.models.precision import Precision
from radreward.prompts.template import StatementPairTemplate
from radreward.text.sentence_splitter import split_sentences


class GatedStatementPairTemplate(StatementPairTemplate):
    """Statements apart, without those of technique, image quality, limits and advice, by a classifier on the CPU.

    Args:
        precision: Precision of the classifier.

    >>> template = GatedStatementPairTemplate()
    >>> [template.reads(text) for text in ("Two views were obtained.", "Mild effusion.", "Tree-in-bud pattern.")]
    [False, True, True]
    """

    def __init__(self, precision: Precision = "fp32") -> None:
        self.precision: Precision = precision

    @property
    def classifier(self) -> FindingClassifier:
        """The classifier, which is loaded when it is needed."""
        return embedded_classifier(precision=self.precision)

    def in_bfloat16(self) -> GatedStatementPairTemplate:
        """See `PromptTemplate.in_bfloat16`."""
        return type(self)("bf16")

    def reads(self, statement: str) -> bool:
        """Return False for a denial, a normal statement, and one whose probability is below `POSSIBLE`."""
        return statement in self.classifier.reporting([statement], POSSIBLE)

    def prepare(self, reports: Sequence[str]) -> None:
        """Encode the statements that need the classifier together; it keeps their probabilities."""
        if unread := unread_statements(chain.from_iterable(map(split_sentences, dict.fromkeys(reports)))):
            self.classifier.probabilities(unread)

    def fingerprint(self) -> str:
        """Return the name of the template with the hash of the classifier."""
        return f"{super().fingerprint()} {self.classifier.fingerprint}"
