"""Base class of scorers: scores for pairs of texts, with a status for rows that cannot be scored."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.hub import upload_model
from radreward.score_outputs import OUTPUTS, ScoreOutput, check_score_output
from radreward.scorers.pair_errors import PairError, text_list, validate_pair
from radreward.scorers.status import SCORED_STATUSES, STATUS_NO_REPORT, STATUS_NOT_FINITE, STATUS_OK
from radreward.text.normalization import normalize_report, wording_key
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.types import Scores, Side

if TYPE_CHECKING:
    import torch
    from torch import Tensor

    from radreward.models.marked_findings import MarkedFinding


class Scorer(ABC):
    """A metric that scores candidates against references.

    Attributes:
        title: Name in tables and plots; if empty, the name by which the scorer was loaded.
        device: Device of the model; None if the scorer has no model.
        precision: Precision in which the model computes.
        criteria: Criteria of the error counts, or None if the scorer counts no errors.
        higher_is_better: Direction of the total.
        returns_explanations: True if `Scores.evidence` is written to output files.
        total_range: Lowest and highest possible total; None if unbounded.
        has_quality: True if the scorer computes `Scores.quality`.
        uses_context: True if age and indication change the weights of findings, see `PatientContext`; other scorers
            ignore them. They change the quality, and of the shipped scorers the total of `crimson` only.
        requires_report: True if both texts must read as reports of the chest in English, see `reads_as_report` and
            `describes_finding`; other pairs get a status and no score.
        normalizes_text: True if `normalize_report` is applied to both texts first, so that white space, Unicode forms
            and typographic marks do not change a score. Offsets of evidence refer to the normalized text.
        pairs_per_window: Pairs that `_score_valid` gets at once, the candidates of a reference side by side; None for
            all pairs in their order.
    """

    title: str = ""
    device: torch.device | None = None
    precision: str = "fp32"
    criteria: Criteria | None = None
    higher_is_better: bool = True
    returns_explanations: bool = False
    total_range: tuple[float | None, float | None] = (None, None)
    has_quality: bool = False
    uses_context: bool = False
    requires_report: bool = False
    normalizes_text: bool = True
    pairs_per_window: int | None = None

    def __new__(cls, *_: Any, **__: Any) -> Self:
        """Check that the class can score."""
        if cls._score_valid is Scorer._score_valid and cls._score_in_context is Scorer._score_in_context:
            raise TypeError(f"{cls.__name__} must implement `_score_valid` or `_score_in_context`")
        return super().__new__(cls)

    def __repr__(self) -> str:
        """Return name, class, device, precision and outputs."""
        outputs = ["total", *["quality"] * self.has_quality]
        outputs += [f"{len(self.sub_names)} sub-scores"] if self.sub_names else []
        outputs += [f"{len(self.criteria)} error counts"] if self.criteria else []
        outputs += ["explanations"] if self.returns_explanations else []
        name = self.title or type(self).__name__
        compute = f"device {self.device or 'cpu'}, precision {self.precision}"
        return f"<{name} ({type(self).__name__}): {compute}, outputs {', '.join(outputs)}>"

    @property
    def chunk_size(self) -> int:
        """Number of pairs that a long run scores together: it stores and counts them when they are scored.

        The defaults are a second or two of work: 32 for a model on the CPU, 512 for one on a GPU, which needs larger
        batches, and 128 without a model.
        """
        if self.device is None:
            return 128
        return 32 if self.device.type == "cpu" else 512

    @property
    def sub_names(self) -> tuple[str, ...]:
        """Names of the sub-scores in order; defaults to the tags of the criteria."""
        return self.criteria.tags if self.criteria else ()

    @property
    def has_errors(self) -> bool:
        """True if the scorer computes `Scores.errors`; defaults to scorers whose criteria count errors.

        A scorer that counts errors without criteria sets this to True and returns `Scores.errors`.
        """
        return self.criteria is not None and self.criteria.counts_errors

    @property
    def outputs(self) -> tuple[ScoreOutput, ...]:
        """Names of the outputs of this scorer, in the order of `OUTPUTS`."""
        present = {"total": True, "quality": self.has_quality, "errors": self.has_errors}
        return tuple(name for name in OUTPUTS if present[name])

    def fit_references(self, references: Iterable[str]) -> Scorer:
        """Return a scorer fitted to all references of a run. Each run calls this method once, at its start.

        The default returns the scorer itself and does not read `references`.
        """
        return self

    def score(
        self,
        references: Iterable[str],
        candidates: Iterable[str],
        contexts: Sequence[PatientContext | None] | None = None,
    ) -> Scores:
        """Return one row of scores per pair, in order. An invalid pair gets NaN and a status with the reason.

        The quality of a candidate with the wording of its reference, see `wording_key`, is always 1.

        Args:
            references: Any sequence of texts, see `text_list`: texts are paired by position, never by an index.
            candidates: As many texts.
            contexts: Age and indication of each patient, None if unknown.

        Raises:
            ValueError: If the numbers of references, candidates and contexts differ.
            InputError: If an argument is not a sequence of texts, a context is not a `PatientContext`, or the scorer
                returns a wrong number of scores.
        """
        references, candidates = text_list(references, "references"), text_list(candidates, "candidates")
        if len(references) != len(candidates):
            raise ValueError(
                f"Expected as many references as candidates but got {len(references)} and {len(candidates)}."
            )
        known = _checked_contexts([None] * len(references) if contexts is None else contexts, len(references))
        if self.normalizes_text:
            references, candidates = map(_normalize_texts, (references, candidates))
        errors = [self._pair_error(*pair) for pair in zip(references, candidates, strict=True)]
        valid = [index for index, error in enumerate(errors) if error is None]
        if self.pairs_per_window:
            order = {text: number for number, text in enumerate(dict.fromkeys(references[index] for index in valid))}
            valid.sort(key=lambda index: order[references[index]])
        size = self.pairs_per_window or len(valid) or 1
        windows = [valid[start : start + size] for start in range(0, len(valid), size)] or [[]]
        parts = [
            self._score_window([references[i] for i in rows], [candidates[i] for i in rows], [known[i] for i in rows])
            for rows in windows
        ]
        scores = _spread_rows(concatenate_scores(parts), errors, valid)
        if self.criteria is not None and scores.error_counts is not None and self.has_errors:
            scores = scores._replace(errors=self.criteria.number_of_errors(scores.error_counts))
        total, quality, status = scores.total, scores.quality, list(scores.status)
        if quality is not None:
            same = [index for index in valid if wording_key(references[index]) == wording_key(candidates[index])]
            quality[same] = 1.0
        for values in (quality, scores.errors):
            if values is not None:
                values[~total.isfinite()] = math.nan
        for index in (~total.isfinite()).nonzero().flatten().tolist():
            total[index] = math.nan
            if status[index] in SCORED_STATUSES:
                status[index] = STATUS_NOT_FINITE
        tags = self.criteria.tags if self.criteria else None
        return scores._replace(status=tuple(status), sub_names=self.sub_names, count_names=tags)

    def _score_window(self, references: list[str], candidates: list[str], contexts: list[PatientContext]) -> Scores:
        """Return the checked scores of `_score_in_context`."""
        scores = self._score_in_context(references, candidates, contexts)
        for name, values in scores._asdict().items():
            if values is not None and len(values) != len(references):
                scorer_name = self.title or type(self).__name__
                raise InputError(f"{scorer_name}: Expected `{name}` of {len(references)} pairs but got {len(values)}.")
        return scores

    def require_output(self, output: ScoreOutput) -> None:
        """Check that the scorer has an output.

        Raises:
            ValueError: If there is no output of that name.
            InputError: If the scorer does not have it.
        """
        check_score_output(output)
        if output not in self.outputs:
            raise InputError(
                f"{self.title or type(self).__name__}: Expected a scorer with the output {output} but it has only "
                f"{' and '.join(self.outputs)}. {self._output_remedy(output)}"
            )

    def _output_remedy(self, output: ScoreOutput) -> str:
        """Return the remedy if the scorer does not have an output."""
        return "Use its total."

    def output_values(self, scores: Scores, output: ScoreOutput) -> Tensor:
        """Return the (n,) values of an output as the scorer returned them.

        Raises:
            InputError: If the scores do not have it.
        """
        values: Tensor | None = getattr(scores, output)
        if values is None:
            raise InputError(f"{self.title or type(self).__name__}: Expected scores with {output} but got none.")
        return values

    def output_higher_is_better(self, output: ScoreOutput) -> bool:
        """Return the direction of an output."""
        direction = OUTPUTS[output].higher_is_better
        return self.higher_is_better if direction is None else direction

    def higher_is_better_output(self, scores: Scores, output: ScoreOutput = "total") -> Tensor:
        """Return the (n,) values of an output, negated if lower is better. For errors, see `output_values`."""
        values = self.output_values(scores, output)
        return values if self.output_higher_is_better(output) else -values

    def mark_findings(self, evidence: Any, texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """Return what a page marks in the two reports of a pair. The default marks nothing.

        Args:
            evidence: Evidence of the pair, as this scorer returns it in `Scores.evidence`; never None.
            texts: Both reports, normalized by `normalize_report`.
        """
        return []

    def _pair_error(self, reference: Any, candidate: Any) -> PairError | None:
        """Return the reason why this scorer cannot score a pair, or None."""
        if (error := validate_pair(reference, candidate)) or not self.requires_report:
            return error
        from radreward.models.report_findings import is_report  # imports the encoder

        for field, text in (("reference", reference), ("candidate", candidate)):
            if not is_report(text):
                return PairError(field, f"{STATUS_NO_REPORT} in the {field}")
        return None

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """Score pairs of non-empty texts with the contexts of the patients; the default is `_score_valid`."""
        return self._score_valid(references, candidates)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """Score pairs of non-empty texts. There may be no pairs."""
        raise NotImplementedError

    @abstractmethod
    def fingerprint(self) -> str:
        """Return a hash of everything that determines the scores.

        A scoring run resumes only if the hash is unchanged.
        """

    @abstractmethod
    def save_pretrained(self, folder: str | Path) -> None:
        """Write the scorer to a folder that `radreward.load` reads."""

    def push_to_hub(self, repository: str, private: bool = True) -> str:
        """Upload the scorer and its model card to the Hugging Face Hub, as JSON and safetensors only.

        Args:
            repository: Owner and name; created if it does not exist.
            private: Create a private repository; an existing one stays as it is.

        Returns:
            `owner/name@commit`, which `radreward.load` reads.

        Raises:
            InputError: If the scorer cannot be saved as JSON and safetensors, or the Hub refuses.
        """
        with TemporaryDirectory() as scratch:
            folder = Path(scratch, "model")
            self.save_pretrained(folder)
            return upload_model(folder, repository, private)


def _checked_contexts(contexts: Sequence[PatientContext | None], number: int) -> list[PatientContext]:
    """Return one context per pair."""
    if len(contexts) != number:
        raise ValueError(f"Expected as many contexts as references ({number}) but got {len(contexts)}.")
    for index, context in enumerate(contexts):
        if context is not None and not isinstance(context, PatientContext):
            kind = type(context).__name__
            raise InputError(
                f"contexts, index {index}: Expected a `PatientContext` or None but got {kind}. "
                "Use `radreward.text.patient_context.PatientContext(age, indication)`."
            )
    return [context or NO_CONTEXT for context in contexts]


def _normalize_texts(texts: Sequence[Any]) -> list[Any]:
    return [normalize_report(text) if isinstance(text, str) else text for text in texts]


def _spread_rows(scores: Scores, errors: Sequence[PairError | None], valid: Sequence[int]) -> Scores:
    """Return scores of all pairs: a pair with an error gets NaN and the reason."""

    def spread(values: Tensor) -> Tensor:
        rows = values.float().new_full((len(errors), *values.shape[1:]), math.nan)
        rows[list(valid)] = values.float()
        return rows

    status = [STATUS_OK if error is None else error.reason for error in errors]
    fields = [None if error is None else error.field for error in errors]
    evidence: list[Any] = [None] * len(errors)
    for row, index in enumerate(valid):
        status[index] = scores.status[row]
        fields[index] = scores.status_fields[row] if scores.status_fields else None
        evidence[index] = scores.evidence[row] if scores.evidence else None
    names = (*OUTPUTS, "sub_scores", "error_counts")
    numbers: dict[str, Any] = {
        name: None if values is None else spread(values) for name in names for values in [getattr(scores, name)]
    }
    return scores._replace(
        **numbers,
        status=tuple(status),
        status_fields=tuple(fields),
        evidence=None if scores.evidence is None else tuple(evidence),
    )


def concatenate_scores(parts: Sequence[Scores]) -> Scores:
    """Concatenate scores by one scorer; there is at least one part."""
    import torch

    def join(values: Sequence[Any]) -> Any:
        if values[0] is None:
            return None
        return torch.cat(list(values)) if isinstance(values[0], torch.Tensor) else tuple(chain(*values))

    per_row = set(Scores._fields) - {"sub_names", "count_names"}
    return parts[0]._replace(**{name: join([getattr(part, name) for part in parts]) for name in per_row})
