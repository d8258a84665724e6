"""Sentence evaluation as a scorer: a judge scores sentences, and a regressor maps the counts of scores to a total."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import DIGESTS, read_config
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.finding_comparison import break_ties
from radreward.models.marked_findings import MarkedFinding, complete_findings, kind_by_agreement
from radreward.models.pair_findings import read_pairs
from radreward.models.precision import Precision
from radreward.models.rules_version import rules_version
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK
from radreward.systems.sentence_eval.judgement import SentenceJudgement
from radreward.systems.sentence_eval.judges import RelationJudge, SentenceJudge
from radreward.systems.sentence_eval.judges.relation_judge import EMBEDDED_JUDGE
from radreward.systems.sentence_eval.judges.relation_judge import PAIRS_PER_BATCH as JUDGE_BATCH
from radreward.systems.sentence_eval.quality import judged_quality
from radreward.systems.sentence_eval.regressors import Regressor
from radreward.systems.sentence_eval.score_features import FEATURE_SETS, FeatureSet, feature_names, feature_values
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_splitter import PAIRS_READ_TOGETHER, split_sentences
from radreward.types import Scores, Side

CONFIG = "sentences.json"
_REGRESSOR = "regressor.safetensors"
JUDGE = "judge"
_EXTERNAL_JUDGE = "external"
EMBEDDED_DIR = Path(__file__).with_name("embedded") / "scorer"
"""Folder of the scorer of the package."""
_CONFIG_FIELDS = frozenset({"judge", "feature_set", "regressor", "training_info"})
FITTED_REFERENCES = "reference_hashes"
"""Hashes of the references to which a regressor was fitted, among the information about its training."""


def reference_hash(text: str) -> str:
    """Return a hash of a report, without differences in case, white space and punctuation.

    >>> reference_hash("No edema. Clear."), reference_hash("no edema clear")
    ('7a4df83d06c91866', '7a4df83d06c91866')
    """
    return blake2b(re.sub(r"\W+", "", text.casefold()).encode(), digest_size=8).hexdigest()


class JudgedSentence(NamedTuple):
    """Evidence for a score: a sentence with its score and its counterparts."""

    side: Side
    text: str
    score: float
    matches: tuple[str, ...]
    """Sentences of the other report."""


class SentenceScorer(Scorer):
    """Sentence-level evaluation with a regressed overall score (Zhu et al., 2024, section III).

    Both reports are split into sentences, and a judge scores each sentence against the other report: 1 equal, 0.5
    partial, -1 contradicted, 0 no counterpart. The total is a regressor's prediction from the features of these scores,
    see `feature_values`. Without a regressor, the total is the judge's overall score, from 0 to 5. The sub-scores are
    the features. The evidence of a row is a tuple of `JudgedSentence`. In the total, matching normal sentences can
    outweigh findings without a match. The quality counts findings only, see `judged_quality`; the total breaks ties,
    see `break_ties`.

    Args:
        judge: Judge of the sentences.
        regressor: Regressor of the overall score.
        feature_set: "fractions" as published, or "findings", which also counts the sentences that state findings.
        training_info: Metadata of the regressor's fit, stored for information only.

    Raises:
        ValueError: If the set of features is unknown.
    """

    title = "Sentences"
    has_quality = True
    uses_context = True
    pairs_per_window = PAIRS_READ_TOGETHER

    def __init__(
        self,
        judge: SentenceJudge,
        regressor: Regressor | None = None,
        feature_set: FeatureSet = "findings",
        training_info: dict[str, Any] | None = None,
    ) -> None:
        self.feature_names = feature_names(feature_set)
        self.judge = judge
        precision: Precision = "fp32"
        if isinstance(judge, RelationJudge):
            self.device, precision = judge.device, judge.artifact.precision
        self.precision = precision
        self.classifier = embedded_classifier(str(self.device or "cpu"), precision)
        self.regressor = regressor
        self.feature_set = feature_set
        self.training_info = dict(training_info or {})
        self.requires_report = isinstance(judge, RelationJudge) and judge.name == EMBEDDED_JUDGE

    @property
    def chunk_size(self) -> int:
        """See `Scorer.chunk_size`. A chunk has a batch of the judge, about ten seconds of a core."""
        return max(super().chunk_size, JUDGE_BATCH)

    @property
    def sub_names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.feature_names

    def mark_findings(self, evidence: Sequence[JudgedSentence], texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return complete_findings(texts, _mark_sentences(evidence, texts))

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        rows: list[tuple[float, ...]] = []
        statuses: list[tuple[str, str | None]] = []
        evidence: list[tuple[JudgedSentence, ...] | None] = []
        sides = [[split_sentences(text) for text in texts] for texts in (references, candidates)]
        findings = read_pairs(references, candidates, self.classifier)
        rows_of_batch = zip(*sides, self.judge.judge(*sides), findings, contexts, strict=True)
        for reference, candidate, judgement, stated, context in rows_of_batch:
            status = _pair_status(reference, candidate, judgement)
            values = None
            if status[0] == STATUS_OK:
                values = feature_values(self.feature_set, judgement, reference, candidate)
            overall = math.nan if judgement.overall is None else judgement.overall
            quality = judged_quality(judgement, (reference, candidate), stated, context) if values else math.nan
            rows.append((overall, quality, *(values or (math.nan,) * len(self.feature_names))))
            statuses.append(status)
            evidence.append(_evidence(reference, candidate, judgement) if values else None)
        table = np.array(rows, dtype=np.float64).reshape(-1, 2 + len(self.feature_names))
        features = table[:, 2:]
        has_features = np.isfinite(features).all(1)
        total = np.where(has_features, table[:, 0], np.nan)
        if self.regressor is not None:
            total[has_features] = self.regressor.predict(features[has_features])
        # Totals have the scale of the regressor's targets. A float32 sigmoid depends on the position in a batch.
        similarity = torch.from_numpy(total).sigmoid()
        return Scores(
            total=torch.from_numpy(total).float(),
            sub_scores=torch.from_numpy(features).float(),
            error_counts=None,
            status=tuple(status for status, _ in statuses),
            evidence=tuple(evidence),
            quality=break_ties(torch.from_numpy(table[:, 1]), similarity).float(),
            status_fields=tuple(field for _, field in statuses),
        )

    def regressed_score(
        self, judgement: SentenceJudgement, reference: Sequence[str], candidate: Sequence[str]
    ) -> float | None:
        """Return the regressor's overall score of a judgement; None if a sentence has no score.

        Raises:
            ValueError: If the scorer has no regressor.
        """
        if self.regressor is None:
            raise ValueError("Expected a scorer with a regressor but it has none.")
        if _pair_status(reference, candidate, judgement)[0] != STATUS_OK:
            return None
        features = feature_values(self.feature_set, judgement, reference, candidate)
        return float(self.regressor.predict(np.array([features], dtype=np.float64))[0])

    def is_fitted_to(self, reference: Sequence[str]) -> bool:
        """Return True if the regressor was fitted to a pair with this reference, given as sentences."""
        return reference_hash(" ".join(reference)) in self.training_info.get(FITTED_REFERENCES, ())

    def fingerprint(self) -> str:
        """Return a hash of judge, features, regressor, classifier and rules."""
        regressor = None if self.regressor is None else self.regressor.fingerprint()
        return fingerprint(
            self.feature_set, self.judge.fingerprint(), regressor, self.classifier.fingerprint, rules_version()
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Save atomically. A chat judge is not saved and must be passed to `from_pretrained`.

        Raises:
            InputError: If the folder holds something else.
        """
        judge = (self.judge.name or JUDGE) if isinstance(self.judge, RelationJudge) else _EXTERNAL_JUDGE
        config = {
            "judge": judge,
            "feature_set": self.feature_set,
            "regressor": None if self.regressor is None else _REGRESSOR,
            "training_info": self.training_info,
        }
        with atomic_folder(folder, {CONFIG}, "a sentence scorer") as new:
            if isinstance(self.judge, RelationJudge) and judge == JUDGE:
                self.judge.save_pretrained(new / JUDGE)
            if self.regressor is not None:
                self.regressor.save(new / _REGRESSOR)
            write_model_settings(new / CONFIG, config, [] if self.regressor is None else [_REGRESSOR])

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Precision = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
        judge: SentenceJudge | None = None,
    ) -> SentenceScorer:
        """Load a scorer.

        Args:
            folder: Folder that `save_pretrained` wrote; defaults to the scorer of the package.
            precision: Precision of the encoder of the saved judge.
            on_too_long: No effect, because a long sentence is encoded in chunks.
            device: Device of the judge.
            allow_download: Download a backbone that is not on this machine from the Hub.
            judge: Judge to use instead of the saved one. It is required if the scorer was fitted to a chat judge.

        Raises:
            InputError: If a file is missing or damaged, the judge is missing, or bf16 is requested for a judge that is
                passed or on a device that does not compute fast in it.
        """
        path = Path(folder or EMBEDDED_DIR, CONFIG)
        config = _read_config(path)
        if judge is None:
            if config["judge"] == _EXTERNAL_JUDGE:
                raise InputError(
                    f"{path}: Expected a judge, because the judge of this scorer is not saved with it. Pass it, as in "
                    "`SentenceScorer.from_pretrained(folder, judge=ChatJudge(...))`."
                )
            judge_folder = path.with_name(JUDGE) if config["judge"] == JUDGE else config["judge"]
            judge = RelationJudge.from_pretrained(judge_folder, device, allow_download, precision)
        elif precision != "fp32":
            raise InputError(f"precision: Expected fp32 for a judge that is passed but got {precision}.")
        regressor = Regressor.load(path.with_name(_REGRESSOR)) if config["regressor"] else None
        if regressor is not None:
            _check_feature_count(regressor, len(feature_names(config["feature_set"])), path.with_name(_REGRESSOR))
        return cls(judge, regressor, config["feature_set"], config["training_info"])


def _pair_status(
    reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement
) -> tuple[str, str | None]:
    """Return "ok" if all sentences have a score, otherwise the reason, with the report if only one is affected."""
    for side, sentences in ((Side.REFERENCE, reference), (Side.CANDIDATE, candidate)):
        if not sentences:
            return f"no sentence in the {side}", side
    if None in (*judgement.reference_scores, *judgement.candidate_scores):
        return judgement.status, None
    return STATUS_OK, None


def _evidence(
    reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement
) -> tuple[JudgedSentence, ...]:
    return tuple(
        JudgedSentence(side, text, score.score, tuple(others[match] for match in score.matches))
        for side, texts, scores, others in (
            (Side.REFERENCE, reference, judgement.reference_scores, candidate),
            (Side.CANDIDATE, candidate, judgement.candidate_scores, reference),
        )
        for text, score in zip(texts, scores, strict=True)
        if score is not None
    )


def _read_config(path: Path) -> dict[str, Any]:
    config = read_config(path, _CONFIG_FIELDS, files=())
    for field, values in (
        ("judge", ("embedded", JUDGE, _EXTERNAL_JUDGE)),
        ("feature_set", FEATURE_SETS),
        ("regressor", (None, _REGRESSOR)),
    ):
        if config[field] not in values:
            expected = " or ".join("null" if value is None else value for value in values)
            raise InputError(f"{path}: Expected `{field}` to be {expected} but got {config[field]!r}.")
    if config["regressor"] and _REGRESSOR not in config[DIGESTS]:
        raise InputError(f"{path}: Expected `{DIGESTS}` to list {_REGRESSOR!r}. Save the model again.")
    return config


def _check_feature_count(regressor: Regressor, count: int, path: Path) -> None:
    try:
        regressor.predict(np.zeros((1, count)))
    except (IndexError, ValueError) as error:
        raise InputError(f"{path}: Expected a regressor of {count} features ({error}).") from error


def _mark_sentences(sentences: Iterable[JudgedSentence], texts: Mapping[Side, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per sentence; a sentence that occurs twice has two positions."""
    ends = dict.fromkeys(Side, 0)
    for sentence in sentences:
        start = texts[sentence.side].index(sentence.text, ends[sentence.side])
        end = ends[sentence.side] = start + len(sentence.text)
        kind = "contradicted" if sentence.score < 0 else kind_by_agreement(sentence.side, sentence.score)
        yield MarkedFinding(sentence.side, kind, sentence.text, start, end, " ".join(sentence.matches))
