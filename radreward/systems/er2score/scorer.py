"""A trained reward model as a scorer."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from radreward.data.packing import pack_paths
from radreward.data.prompt_encoder import PromptEncoder, PromptTooLongError
from radreward.data.tokenizer import EMBEDDED_BACKBONE
from radreward.devices import resolve_device
from radreward.errors import InputError, check_choice
from radreward.io.artifacts import fingerprint
from radreward.models import EvidenceRewardModel, RewardModel, RewardModelArtifact, load_reward_model, save_reward_model
from radreward.models.evidence import TokenEvidence
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.marked_findings import MarkedFinding, complete_findings
from radreward.models.pair_findings import read_pairs
from radreward.models.precision import Precision, check_precision
from radreward.models.rules_version import rules_version
from radreward.score_outputs import ScoreOutput
from radreward.scorers.base import Scorer
from radreward.scorers.status import STATUS_OK, STATUS_TRUNCATED
from radreward.systems.er2score.pair_evidence import PairStatements, pair_statements
from radreward.systems.er2score.patient_findings import findings_for_patient
from radreward.systems.er2score.rules import AGREEMENT, RuleDecision, decide
from radreward.systems.er2score.statements import StatementEvidence, list_errors, locate_errors, mark_statements
from radreward.text.normalization import wording_key
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_splitter import PAIRS_READ_TOGETHER
from radreward.types import Scores, Side, TokenPath

_SideEvidence = Mapping[Side, TokenEvidence]
"""Evidence of the tokens of a candidate and of its reference."""
EMBEDDED_DIR = Path(__file__).with_name("embedded")
"""Folder of the shipped model."""
REWARD_DECIMALS = 4
"""Decimals of rewards: smaller differences are not meaningful, and candidates without errors tie."""
ERROR_COST = 0.02
"""The quality is divided by 1 plus this per expected error, so that small errors show, too."""


class RewardPredictions(NamedTuple):
    """Outputs of a reward model for n pairs, before calibration; NaN for a pair that is too long."""

    rewards: Tensor
    """(n, N), rounded to `REWARD_DECIMALS`."""
    finding_weights: Tensor
    """(n, 2) matched and wrong weight; NaN if not predicted."""
    pairs: list[PairStatements | None]
    """Statements with their evidence; None for a model without evidence."""
    status: list[str]


class RewardModelScorer(Scorer):
    """Total, rewards and expected error counts of candidates (ER²Score).

    The sub-scores are the rewards (n, N), and total = max_total + Σ_j reward_j. The error counts (n, N) and the quality
    (n,) of the findings (see `radreward.criteria.finding_quality`) need a calibration. Both are None if the model was
    saved without a calibration. A calibration may give the rules a share of the quality and, for a model with evidence,
    of the errors. It applies to the findings that the rules read, see `RuleDecision`. The quality is divided by
    1 + `ERROR_COST` · errors. With an `EvidenceRewardModel`, the quality depends on the age and the indication of the
    patient, see `findings_for_patient`. If this model has a calibration, the evidence of a pair is a tuple of
    `StatementEvidence`. Candidates of one reference share its tokens. Equal pairs are scored once. Adapters are merged.

    Args:
        artifact: Model, template, maximum length and calibration; not modified.
        precision: "fp32" computes in the precision of the backbone's weights; "bf16" runs the backbone in bfloat16.
        on_too_long: "reject" gives a pair over the maximum length a status and no score; "truncate" truncates both
            reports and sets the status "truncated".
        packing: "tree" encodes a reference once for its candidates, "rows" once per candidate.
        max_batch_tokens: Maximum number of tokens, with padding, per forward pass; defaults to 1,024 on the CPU, which
            fits its caches, and 16,384 elsewhere.

    Raises:
        ValueError: If `max_batch_tokens` is not positive, or `precision` or `on_too_long` is unknown.
        InputError: If bf16 is requested for a quantized model, or on a CPU without bfloat16.
    """

    precision: Precision
    pairs_per_window = PAIRS_READ_TOGETHER

    def __init__(
        self,
        artifact: RewardModelArtifact,
        precision: Precision = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        packing: Literal["tree", "rows"] = "tree",
        max_batch_tokens: int | None = None,
    ) -> None:
        if max_batch_tokens is not None and max_batch_tokens < 1:
            raise ValueError(f"Expected `max_batch_tokens` to be >= 1 but got {max_batch_tokens}.")
        check_choice("packing", packing, ("tree", "rows"))
        check_choice("on_too_long", on_too_long, ("reject", "truncate"))
        model = artifact.model
        self.artifact = artifact
        self.criteria = model.criteria
        self.has_quality = artifact.finding_weights_calibration is not None
        self.requires_report = model.backbone.name == EMBEDDED_BACKBONE
        self.precision, self.on_too_long, self.packing = precision, on_too_long, packing
        self._model = for_inference(model, precision)
        self.device = self._device = next(self._model.parameters()).device
        on_cpu: Precision = precision if self._device.type == "cpu" else "fp32"  # as the classifier of a template is
        self._classifier = embedded_classifier(precision=on_cpu)
        self._template = artifact.template.in_bfloat16() if on_cpu == "bf16" else artifact.template
        self._prompt_encoder = PromptEncoder(model.backbone.name, model.criteria, self._template, artifact.max_length)
        # Statements can be located only in prompts that contain nothing but the two reports.
        self.has_evidence = (
            isinstance(model, EvidenceRewardModel)
            and artifact.calibration is not None
            and artifact.template.standardizes_reports
        )
        self.uses_context = self.has_evidence and self.has_quality
        self.max_batch_tokens = max_batch_tokens or (1024 if self._device.type == "cpu" else 16_384)

    @property
    def has_errors(self) -> bool:
        """True if the model has a calibration, which turns rewards into expected errors."""
        return super().has_errors and self.artifact.calibration is not None

    def mark_findings(self, evidence: Sequence[StatementEvidence], texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return complete_findings(texts, mark_statements(evidence))

    def _output_remedy(self, output: ScoreOutput) -> str:
        """See `Scorer._output_remedy`."""
        if output != "quality":
            return super()._output_remedy(output)
        return "Use its total, or train a model with the objective FindingRegression, which a quality needs."

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path,
        precision: Precision = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
    ) -> RewardModelScorer:
        """Return the scorer of a saved model. `allow_download` downloads a missing backbone from the Hub."""
        found = resolve_device(device)
        check_precision(precision, found)
        return cls(load_reward_model(folder, found, allow_download, merge_adapters=True), precision, on_too_long)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`. Weights are saved in full precision."""
        save_reward_model(self.artifact, folder)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        artifact, model = self.artifact, self.artifact.model
        return fingerprint(
            model.criteria.to_dict(),
            model.backbone.name,
            model.settings,
            self._template.fingerprint(),
            artifact.max_length,
            *(
                curves.to_dict() if curves else None
                for curves in (artifact.calibration, artifact.finding_weights_calibration)
            ),
            artifact.rule_share,
            rules_version(),
            ERROR_COST,
            self.precision,
            self.on_too_long,
            {name: value.float() for name, value in artifact.weights_to_save().items()},
        )

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """See `Scorer._score_in_context`."""
        criteria, calibration = self.artifact.model.criteria, self.artifact.calibration
        rewards, finding_weights, pairs, status = self.predict(references, candidates)
        if self.uses_context:
            for row, (context, pair) in enumerate(zip(contexts, pairs, strict=True)):
                if pair and (weights := findings_for_patient(pair, context, len(criteria))) is not None:
                    finding_weights[row] = weights
        counts = calibration.predict_counts(rewards) if calibration else None
        quality, evidence = self.artifact.quality(finding_weights), None
        decisions = self._decide(references, candidates, contexts)
        if quality is not None and decisions:
            share = self.artifact.rule_share
            means = [entry.mean_quality(value, share) for entry, value in zip(decisions, quality, strict=True)]
            quality = torch.stack(means)
        if counts is not None and self.has_evidence:
            counts[rewards == 0] = 0.0  # without evidence there is no error, whatever the curve has at 0
            evidence = self._locate_errors(pairs, counts, decisions)
        if quality is not None and counts is not None:
            quality = (quality / (1 + ERROR_COST * criteria.number_of_errors(counts.double()))).float()
        # In float32, rounded rewards are not round, and neither is their sum.
        total = criteria.total(rewards.double().round(decimals=REWARD_DECIMALS)).float()
        return Scores(total, rewards, counts, tuple(status), evidence, quality)

    def _decide(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> list[RuleDecision] | None:
        """Return what rules decide about each pair; None if they have no share in the scores."""
        if not self.artifact.rule_share:
            return None
        findings = read_pairs(references, candidates, self._classifier)
        return [
            AGREEMENT
            if wording_key(reference) == wording_key(candidate)
            else decide(*pair, self.artifact.model.criteria, context)
            for reference, candidate, pair, context in zip(references, candidates, findings, contexts, strict=True)
        ]

    def predict(self, references: Sequence[str], candidates: Sequence[str]) -> RewardPredictions:
        """Return the outputs of the model for pairs of normalized reports, before calibration."""
        criteria = self.artifact.model.criteria
        outputs = torch.full((len(references), len(criteria) + 2), torch.nan)
        pairs: list[PairStatements | None] = [None] * len(references)
        self._template.prepare([*references, *candidates])
        paths, status = self._encode_pairs(references, candidates)
        output_of = self._compute_outputs(list(dict.fromkeys(path for path in paths if path)))
        for row, path in enumerate(paths):
            if path:
                outputs[row], evidence = output_of[path]
                if evidence is not None:
                    pairs[row], outputs[row] = self._read_statements(references[row], candidates[row], evidence)
        rewards = outputs[:, :-2].round(decimals=REWARD_DECIMALS) + 0.0  # no -0.0, which files would show
        return RewardPredictions(rewards, outputs[:, -2:], pairs, status)

    def _read_statements(
        self, reference: str, candidate: str, evidence: _SideEvidence
    ) -> tuple[PairStatements, Tensor]:
        """Return the statements of a pair, and its (N + 2,) outputs without errors in statements of both reports."""
        model, reports = self.artifact.model, {Side.CANDIDATE: candidate, Side.REFERENCE: reference}
        size = len(model.criteria)
        pair = pair_statements(reports, evidence, size, self._prompt_encoder.segment_tokenizer)
        outputs = pair.sums(size)
        outputs[:size] *= -model.criteria.weights
        return pair, outputs if len(outputs) > size else torch.cat([outputs, outputs.new_full((2,), torch.nan)])

    def _locate_errors(
        self, pairs: Sequence[PairStatements | None], counts: Tensor, decisions: Sequence[RuleDecision] | None
    ) -> tuple[tuple[StatementEvidence, ...] | None, ...]:
        """Return the statements of each pair with their errors, and add the share of rules to the (n, N) counts."""
        tags = self.artifact.model.criteria.tags
        unread = self._classifier.in_other_words(_statement_texts(pairs)) if decisions else frozenset[str]()
        located: list[tuple[StatementEvidence, ...] | None] = []
        for row, pair in enumerate(pairs):
            if pair is None:
                located.append(None)
                continue
            errors = locate_errors(pair, counts[row])
            if decisions:
                errors = decisions[row].mean_errors(errors, pair.statements, self.artifact.rule_share)
                counts[row] = sum(part.sum(0) for part in errors.values())
            located.append(list_errors(pair, errors, tags, unread))
        return tuple(located)

    def _encode_pairs(
        self, references: Sequence[str], candidates: Sequence[str]
    ) -> tuple[list[TokenPath | None], list[str]]:
        """Return the token path (None if too long) and the status of each pair."""
        paths: list[TokenPath | None] = []
        status = []
        for reference, candidate in zip(references, candidates, strict=True):
            try:
                path, truncated = self._prompt_encoder.encode(reference, candidate, self.on_too_long == "truncate")
            except PromptTooLongError as error:
                paths.append(None)
                status.append(f"over the limit: {error}")
                continue
            paths.append(path)
            status.append(STATUS_TRUNCATED if truncated else STATUS_OK)
        return paths, status

    @torch.inference_mode()
    def _compute_outputs(self, paths: list[TokenPath]) -> dict[TokenPath, tuple[Tensor, _SideEvidence | None]]:
        """Return per path the (N + 2,) rewards and finding weights (NaN if not predicted), and the evidence."""
        output_of: dict[TokenPath, tuple[Tensor, _SideEvidence | None]] = {}
        for batch in _length_batches(paths, self.packing, self.max_batch_tokens):
            packed = pack_paths(batch, self.packing).to(self._device)
            rewards, finding_weights, evidence = self._model(packed)
            if finding_weights is None:
                finding_weights = rewards.new_full((len(rewards), 2), torch.nan)
            outputs = torch.cat([rewards, finding_weights], 1).float().cpu()
            for row, path in enumerate(batch):
                output_of[path] = outputs[row], evidence.row(row) if self.has_evidence else None
        return output_of


def for_inference(model: RewardModel, precision: Precision) -> RewardModel:
    """Return a copy with merged adapters, whose backbone computes in this precision.

    Raises:
        ValueError: If the precision is unknown.
        InputError: If bf16 is requested for a quantized model, or on a CPU without bfloat16.
    """
    check_precision(precision, next(model.parameters()).device)
    if precision == "bf16" and model.backbone.quantization:
        raise InputError("precision: Expected fp32 for a quantized model but got bf16.")
    model = copy.deepcopy(model).eval()
    encoder: Any = model.encoder
    if hasattr(encoder, "merge_and_unload") and not model.backbone.quantization:  # peft adapters
        model.encoder = encoder.merge_and_unload()
    if precision == "bf16":
        model.encoder.to(torch.bfloat16)
    return model


def _statement_texts(pairs: Iterable[PairStatements | None]) -> Iterator[str]:
    for pair in filter(None, pairs):
        for statements in pair.statements.values():
            yield from map(statements.words, range(len(statements.spans)))


def _length_batches(paths: list[TokenPath], packing: str, max_tokens: int) -> Iterator[list[TokenPath]]:
    """Yield batches of rows of similar length, of at most `max_tokens` tokens with padding or of one longer row."""
    rows = sorted(_build_rows(paths, packing, max_tokens), key=lambda row: row[0])
    batch: list[TokenPath] = []
    num_rows = 0
    for length, members in rows:  # ascending, so that the last row of a batch is its longest
        if batch and length * (num_rows + 1) > max_tokens:
            yield batch
            batch, num_rows = [], 0
        batch += members
        num_rows += 1
    if batch:
        yield batch


def _build_rows(paths: list[TokenPath], packing: str, max_tokens: int) -> Iterator[tuple[int, list[TokenPath]]]:
    """Yield the length and the candidates of each row. Many candidates of one reference are split into several rows."""
    groups: dict[object, list[TokenPath]] = {}
    for path in paths:
        groups.setdefault(path.shared if packing == "tree" else path, []).append(path)
    for members in groups.values():
        prefix = sum(map(len, members[0].shared))
        row: list[TokenPath] = []
        length = prefix
        for path in members:
            if row and length + path.num_own_tokens > max_tokens:
                yield length, row
                row, length = [], prefix
            row.append(path)
            length += path.num_own_tokens
        yield length, row
