"""RaTEScore as a scorer."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import torch

from radreward.errors import InputError, check_choice
from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import config_errors, read_config
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.finding_comparison import break_ties
from radreward.models.marked_findings import IN_BOTH, MarkedFinding, complete_findings, kind_by_agreement
from radreward.models.precision import require_fp32
from radreward.models.rules_version import rules_version
from radreward.scorers.base import Scorer
from radreward.scorers.status import SCORED_STATUSES, STATUS_NO_ENTITIES, STATUS_OK, STATUS_TRUNCATED
from radreward.systems.ratescore.affinity_matrix import WEIGHTS_FILE, AffinityMatrix
from radreward.systems.ratescore.collator import embedded_entity_encoder, match_reports
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.functional import EntityContributions, score_loss_by_type
from radreward.systems.ratescore.matching import Matches
from radreward.systems.ratescore.quality import EQUAL_COSINE, UNRELATED_COSINE, finding_phrases, matched_qualities
from radreward.systems.ratescore.taggers import CachingTagger, Tagger, load_tagger
from radreward.text.entities import FINDING_TYPES
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_splitter import PAIRS_READ_TOGETHER
from radreward.types import ENTITY_TYPES, Entity, Scores, Side

CONFIG_FILE, TAGGER_FOLDER = "ratescore.json", "tagger"
PUBLISHED_TAGGER, PUBLISHED_ENCODER = "Angelakeke/RaTE-NER-Deberta", "FremyCompany/BioLORD-2023-C"
"""Models of the paper on the Hugging Face Hub."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMatch:
    """Evidence: an entity, its match in the other report, and its effect on the score."""

    side: Side
    """Report of the entity."""
    entity: Entity
    match: Entity
    """The most similar entity of the other report."""
    cosine: float
    weight: float
    """W of the two types."""
    penalty: float
    """p if the two types are penalized, else 1."""
    score_loss: float
    """Reduction of the score by this match. The losses of a pair sum to 1 - score."""


class RaTEScore(Scorer):
    """Similarity of two reports by their medical entities: matches, weighted by the types of the entities.

    The total is RaTEScore, in [0, 1] if negative cosines are clamped. There is one sub-score per entity type, minus the
    score loss of its entities, so that total = 1 + sum of sub-scores. The evidence of a row is a tuple of
    `EntityMatch`. In the total, matching normal statements can outweigh findings without a match. The quality counts
    findings only, see `matched_qualities`; the total breaks ties, see `break_ties`.

    Args:
        tagger: Tagger of entities.
        encoder: Encoder of entity names.
        affinity: W and p.
        no_entity_score: Score of a pair in which a report has no entity, None for no score; 0.5 in the reference
            implementation. The status names the reason in both cases.
        on_too_long: "reject" a pair with an entity over the encoder's token limit, or "truncate" to embed the beginning
            of the entity, with the status "truncated".
        training_info: Metadata of the fit of W and p, stored for information only.

    Raises:
        ValueError: If `no_entity_score` is not in [0, 1], or `on_too_long` is unknown.
    """

    title = "RaTEScore"
    has_quality = True
    uses_context = True
    pairs_per_window = PAIRS_READ_TOGETHER

    def __init__(
        self,
        tagger: Tagger,
        encoder: EntityEncoder,
        affinity: AffinityMatrix,
        no_entity_score: float | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
        training_info: Mapping[str, Any] | None = None,
    ) -> None:
        if no_entity_score is not None and not 0 <= no_entity_score <= 1:
            raise ValueError(f"Expected `no_entity_score` to be null or in [0, 1] but got {no_entity_score}.")
        check_choice("on_too_long", on_too_long, ("reject", "truncate"))
        self.tagger, self.encoder, self.affinity = tagger, encoder, affinity
        self.device = encoder.device
        self.training_info = dict(training_info or {})
        self.no_entity_score, self.on_too_long = no_entity_score, on_too_long
        self.total_range = (0.0 if affinity.clamp_cosines else None, 1.0)
        self.caching_tagger = CachingTagger(tagger)
        self.classifier = embedded_classifier(str(encoder.device))

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The entity types, as column names."""
        return tuple(kind.lower().replace("-", "_") for kind in ENTITY_TYPES)

    def mark_findings(self, evidence: Sequence[EntityMatch], texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return complete_findings(texts, _mark_entities(evidence))

    @torch.no_grad()
    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        entities, truncated, matches = match_reports(self.caching_tagger, self.encoder, references, candidates)
        contributions = self.affinity.entity_contributions(matches)
        total = self.affinity(matches, math.nan if self.no_entity_score is None else self.no_entity_score)
        sub_scores = 0.0 - score_loss_by_type(matches, contributions)  # 0 instead of -0
        texts = list(zip(references, candidates, strict=True))
        pairs = [(entities[reference], entities[candidate]) for reference, candidate in texts]
        remarks = [
            self._status(*pair, truncated.get(reference) or truncated.get(candidate))
            for pair, (reference, candidate) in zip(pairs, texts, strict=True)
        ]
        status, fields = tuple(status for status, _ in remarks), tuple(field for _, field in remarks)
        rejected = torch.tensor([value not in SCORED_STATUSES for value in status], dtype=torch.bool)
        total[rejected], sub_scores[rejected] = math.nan, math.nan
        findings = finding_phrases(references, candidates, self.classifier, self.caching_tagger, self.encoder)
        quality = matched_qualities(findings, contexts, self.encoder)
        return Scores(
            total=total.float(),
            sub_scores=sub_scores.float(),
            error_counts=None,
            status=status,
            status_fields=fields,
            evidence=_evidence(pairs, matches, contributions),
            quality=break_ties(torch.tensor(quality).float(), total.float()),
        )

    def _status(
        self, reference: Sequence[Entity], candidate: Sequence[Entity], too_long_text: str | None
    ) -> tuple[str, str | None]:
        """Return the status of a pair, and the report that it is about."""
        if too_long_text is not None:
            if self.on_too_long == "reject":
                return f"over the limit: {self.encoder.too_long_message(too_long_text)}", None
            return STATUS_TRUNCATED, None
        for side, entities in ((Side.REFERENCE, reference), (Side.CANDIDATE, candidate)):
            if not entities:
                return f"no entity in the {side}" if self.no_entity_score is None else STATUS_NO_ENTITIES, side
        return STATUS_OK, None

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        parts = (self.tagger.fingerprint(), self.encoder.fingerprint, self.affinity.to_dict())
        return fingerprint(*parts, self.classifier.fingerprint, self.no_entity_score, self.on_too_long, rules_version())

    def save_pretrained(self, folder: str | Path) -> None:
        """Write settings, tagger, W and p. The encoder is stored by its name and settings, without weights.

        Raises:
            InputError: If the folder holds something else.
        """
        with atomic_folder(folder, {CONFIG_FILE}, "a RaTEScore") as scratch:
            self.affinity.save(scratch)
            self.tagger.save_pretrained(scratch / TAGGER_FOLDER)
            config = {
                "encoder": self.encoder.settings(),
                "no_entity_score": self.no_entity_score,
                "training_info": self.training_info,
            }
            affinity = {"p": self.affinity.penalty.item(), "W": f"in {WEIGHTS_FILE}"}
            write_model_settings(scratch / CONFIG_FILE, config, other_settings=affinity)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "auto",
        allow_download: bool = False,
        models: Literal["embedded", "published"] = "embedded",
    ) -> RaTEScore:
        """Load a saved scorer, or build one from `models` with the published W and p if `folder` is None.

        Args:
            folder: Folder that `save_pretrained` wrote.
            precision: Only fp32 is supported.
            on_too_long: See `RaTEScore`.
            device: Device of tagger and encoder.
            allow_download: Download models that are not on this machine from the Hub.
            models: Tagger and encoder if `folder` is None: "embedded" for the rule tagger and MiniLM, "published" for
                the models of the paper, `PUBLISHED_TAGGER` and `PUBLISHED_ENCODER`, as in `ratescore:published`.

        Raises:
            InputError: If a file is missing or invalid, another precision is requested, or a model is neither on this
                machine nor may be downloaded.
        """
        require_fp32(precision, "RaTEScore")
        if folder is None:
            affinity = AffinityMatrix.from_preset("long")
            if models == "embedded":
                tagger, encoder = load_tagger("rules"), embedded_entity_encoder(device)
            elif models == "published":
                tagger = load_tagger(PUBLISHED_TAGGER, device, allow_download)
                encoder = EntityEncoder(PUBLISHED_ENCODER, "first", device=device, allow_download=allow_download)
            else:
                raise InputError(f"ratescore: Expected the models embedded or published but got {models!r}.")
            return cls(tagger, encoder, affinity, on_too_long=on_too_long)
        path = Path(folder, CONFIG_FILE)
        config = read_config(path, {"encoder", "no_entity_score"}, optional={"training_info"})
        with config_errors(path):
            encoder = EntityEncoder(**config["encoder"], device=device, allow_download=allow_download)
            tagger = load_tagger(Path(folder, TAGGER_FOLDER), device, allow_download)
            affinity = AffinityMatrix.load(folder)
            training_info = config.get("training_info")
            return cls(tagger, encoder, affinity, config["no_entity_score"], on_too_long, training_info)


def _evidence(
    pairs: Sequence[tuple[Sequence[Entity], Sequence[Entity]]], matches: Matches, contributions: EntityContributions
) -> tuple[tuple[EntityMatch, ...], ...]:
    """Return the matches of each pair, first of the entities of the reference."""
    evidence: list[list[EntityMatch]] = [[] for _ in pairs]
    index = (matches.pair_index, matches.direction, matches.query_index, matches.match_index)
    columns = [column.tolist() for column in (*index, matches.cosine, *contributions)]
    for pair, direction, query, match, cosine, weight, penalty, score_loss in zip(*columns, strict=True):
        own, other = pairs[pair][direction], pairs[pair][1 - direction]
        evidence[pair].append(
            EntityMatch(
                side=Side.CANDIDATE if direction else Side.REFERENCE,
                entity=own[query],
                match=other[match],
                cosine=cosine,
                weight=weight,
                penalty=penalty,
                score_loss=score_loss,
            )
        )
    return tuple(map(tuple, evidence))


def _mark_entities(matches: Iterable[EntityMatch]) -> Iterator[MarkedFinding]:
    """Yield a finding per entity that is not only a body part; the cosine thresholds are those of the quality.

    An entity that one report states and the other one denies is contradicted; a denial without a match is not marked.
    """
    for match in matches:
        entity, side = match.entity, match.side
        if entity.type == "Anatomy":
            continue
        kind = kind_by_agreement(side, (match.cosine - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE))
        if kind not in IN_BOTH:
            if entity.type in FINDING_TYPES:
                yield MarkedFinding(side, kind, entity.name, entity.start, entity.end)
            continue
        if (entity.type in FINDING_TYPES) != (match.match.type in FINDING_TYPES):
            kind = "contradicted"
        yield MarkedFinding(side, kind, entity.name, entity.start, entity.end, match.match.name)
