"""The RaTEScore scorer: similarity of two reports in their medical entities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import torch

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import config_errors, read_config
from radreward.scorers.base import STATUS_NO_ENTITIES, STATUS_OK, STATUS_TRUNCATED, Scorer, concatenate_scores
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.collator import embedded_entity_encoder, match_reports
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.functional import EntityContributions, score_loss_by_type
from radreward.systems.ratescore.matching import Matches
from radreward.systems.ratescore.quality import embed_findings, matched_quality
from radreward.systems.ratescore.taggers import CachingTagger, Tagger, load_tagger
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.types import ENTITY_TYPES, Entity, Scores, Side

CONFIG_FILE, TAGGER_FOLDER = "ratescore.json", "tagger"
PUBLISHED_TAGGER, PUBLISHED_ENCODER = "Angelakeke/RaTE-NER-Deberta", "FremyCompany/BioLORD-2023-C"
"""Models of the paper on the Hugging Face Hub."""
CHUNK_SIZE = 512
"""Pairs that are scored at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EntityMatch:
    """Evidence: an entity, its match in the other report, and its effect on the score.

    Attributes:
        side: Report of the entity.
        entity: The entity.
        match: The most similar entity of the other report.
        cosine: Cosine of the two.
        weight: W of the two types.
        penalty: p if the two types are penalized, else 1.
        score_loss: Reduction of the score; those of a pair sum to 1 - score.
    """

    side: Side
    entity: Entity
    match: Entity
    cosine: float
    weight: float
    penalty: float
    score_loss: float


class RaTEScore(Scorer):
    """Matches the entities of both reports and weighs the matches by entity types.

    The total is RaTEScore, in [0, 1] if negative cosines are clamped. There is one sub-score per entity type: the
    negative score loss of its entities, so that total = 1 + sum of sub-scores. The evidence of a row is a tuple of
    `EntityMatch`. In the total, normal statements that match offset findings that do not; the quality is that of the
    findings alone, see `matched_quality`.

    Args:
        tagger: Tagger of entities.
        encoder: Encoder of entity names.
        affinity: W and p.
        no_entity_score: Score of a pair in which a report has no entity: None for no score; 0.5 in the reference
            implementation. The status reports it in both cases.
        on_too_long: Reject a pair with an entity over the encoder's token limit, or embed its beginning, with the
            status "truncated".

    Raises:
        ValueError: If `no_entity_score` is not in [0, 1], or `on_too_long` is unknown.
    """

    title = "RaTEScore"
    has_quality = True
    uses_context = True

    def __init__(
        self,
        tagger: Tagger,
        encoder: EntityEncoder,
        affinity: AffinityMatrix,
        no_entity_score: float | None = None,
        on_too_long: Literal["reject", "truncate"] = "reject",
    ) -> None:
        if no_entity_score is not None and not 0 <= no_entity_score <= 1:
            raise ValueError(f"Expected `no_entity_score` to be null or in [0, 1] but got {no_entity_score}.")
        if on_too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `on_too_long` to be reject or truncate but got {on_too_long!r}.")
        self.tagger, self.encoder, self.affinity = tagger, encoder, affinity
        self.no_entity_score, self.on_too_long = no_entity_score, on_too_long
        self.total_range = (0.0 if affinity.clamp_cosines else None, 1.0)
        self.caching_tagger = CachingTagger(tagger)

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The entity types, as column names."""
        return tuple(kind.lower().replace("-", "_") for kind in ENTITY_TYPES)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return self._score_in_context(references, candidates, [NO_CONTEXT] * len(references))

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        slices = [slice(start, start + CHUNK_SIZE) for start in range(0, max(len(references), 1), CHUNK_SIZE)]
        return concatenate_scores(
            [self._score_chunk(references[rows], candidates[rows], contexts[rows]) for rows in slices]
        )

    @torch.no_grad()
    def _score_chunk(
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
        scored = (STATUS_OK, STATUS_TRUNCATED, STATUS_NO_ENTITIES)
        rejected = torch.tensor([value not in scored for value in status], dtype=torch.bool)
        total[rejected], sub_scores[rejected] = math.nan, math.nan
        findings = embed_findings(self.encoder, entities)
        quality = torch.tensor(
            [
                matched_quality(findings[reference], findings[candidate], context)
                for (reference, candidate), context in zip(texts, contexts, strict=True)
            ]
        )
        return Scores(
            total=total.float(),
            sub_scores=sub_scores.float(),
            error_counts=None,
            status=status,
            status_fields=fields,
            evidence=_evidence(pairs, matches, contributions),
            quality=quality.float(),
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
        return fingerprint(
            self.tagger.fingerprint(),
            self.encoder.fingerprint,
            self.affinity.to_dict(),
            self.no_entity_score,
            self.on_too_long,
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Write settings, tagger, W and p; of the encoder its name and settings, not its weights.

        Raises:
            InputError: If the folder holds something else.
        """
        with atomic_folder(folder, {CONFIG_FILE}, "a RaTEScore") as scratch:
            self.affinity.save(scratch)
            self.tagger.save_pretrained(scratch / TAGGER_FOLDER)
            config = {"encoder": self.encoder.settings(), "no_entity_score": self.no_entity_score}
            write_model_settings(scratch / CONFIG_FILE, config)

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
        models: Literal["embedded", "published"] = "embedded",
    ) -> RaTEScore:
        """Load a saved scorer. If `folder` is None, build one from `models` with the published W and p.

        Args:
            folder: Folder that `save_pretrained` wrote.
            precision: fp32 only.
            on_too_long: See `RaTEScore`.
            device: Device of tagger and encoder.
            allow_download: Download models that are not on this machine from the Hub.
            models: Tagger and encoder to use if `folder` is None: "embedded" for the rule tagger and MiniLM,
                "published" for those of the paper, `PUBLISHED_TAGGER` and `PUBLISHED_ENCODER`, as in
                `ratescore:published`.

        Raises:
            InputError: If a file is missing or invalid, or another precision is requested; names file and field. Also
                if the published models are not on this machine and may not be downloaded.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for RaTEScore but got {precision}.")
        if folder is None:
            affinity = AffinityMatrix.from_preset("long")
            if models == "published":
                tagger = load_tagger(PUBLISHED_TAGGER, device, allow_download)
                encoder = EntityEncoder(
                    PUBLISHED_ENCODER, pooling="first", device=device, allow_download=allow_download
                )
                return cls(tagger, encoder, affinity, on_too_long=on_too_long)
            if models != "embedded":
                raise InputError(f"ratescore: Expected the models embedded or published but got {models!r}.")
            return cls(load_tagger("rules"), embedded_entity_encoder(device), affinity, on_too_long=on_too_long)
        path = Path(folder, CONFIG_FILE)
        config = read_config(path, {"encoder", "no_entity_score"})
        with config_errors(path):
            encoder = EntityEncoder(**config["encoder"], device=device, allow_download=allow_download)
            tagger, affinity = load_tagger(Path(folder, TAGGER_FOLDER)), AffinityMatrix.load(folder)
            return cls(tagger, encoder, affinity, config["no_entity_score"], on_too_long)


def _evidence(
    pairs: Sequence[tuple[Sequence[Entity], Sequence[Entity]]], matches: Matches, contributions: EntityContributions
) -> tuple[tuple[EntityMatch, ...], ...]:
    """Return the matches of each pair, those of the reference's entities first."""
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
