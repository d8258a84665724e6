"""F1 of the entities of two reports and their modifiers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch

from radreward.io.artifacts import fingerprint
from radreward.metrics.text_overlap import set_f1
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.finding_comparison import break_ties, compare_findings
from radreward.models.marked_findings import MarkedFinding, complete_findings
from radreward.models.rules_version import rules_version
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.systems.ratescore.quality import finding_phrases
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.caching_tagger import CachingTagger
from radreward.text.lexicon import match_lexicon
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_splitter import PAIRS_READ_TOGETHER
from radreward.types import Entity, Scores, Side

_EntityTuple = tuple[str, ...]
_STATUS_NO_TUPLES = "no entity in either report"
_SPACES = re.compile(r"[^\S\n]+")
"""Whitespace within a line; a sentence may end at a line break."""


class EntityF1(StatelessScorer):
    """F1 of entity tuples after SPICE (Anderson et al., 2016), in [0, 1].

    The tagger's entities become a set of tuples: (type, head) for each entity, as (Abnormality, effusion), and
    (type, head, word) for each modifying word, as (Abnormality, effusion, left). The score is
    2 |A ∩ B| / (|A| + |B|): 0 if one report has no entity, no score if neither has. The evidence lists tuples missing
    from the candidate, tuples only in the candidate, and the findings of both reports in words that the rules do not
    know. For the quality, rules compare the findings that they read, see
    `compare_findings`. The others agree if their head words do, see `head_word`. The total breaks ties, see
    `break_ties`.

    Args:
        tagger: `rules`, or the folder of a saved tagger.

    Raises:
        InputError: If the tagger cannot be loaded.

    >>> EntityF1().score(["Small left pleural effusion."], ["Left pleural effusion."]).total
    tensor([0.8000])
    """

    config_name = "entity_f1.json"
    title = "Entity F1 (SPICE-like)"
    total_range = (0.0, 1.0)
    has_quality = True
    uses_context = True
    pairs_per_window = PAIRS_READ_TOGETHER
    setting_names = ("tagger",)

    def __init__(self, tagger: str = "rules") -> None:
        self.tagger = tagger
        self._tagger = CachingTagger(load_tagger(tagger))
        self.classifier = embedded_classifier()
        self.requires_report = tagger == "rules"
        super().__init__()

    def code_version(self) -> str:
        """See `StatelessScorer.code_version`. The version includes tagger, classifier and rules."""
        return super().code_version() + fingerprint(
            self._tagger.fingerprint(), self.classifier.fingerprint, rules_version()
        )

    def mark_findings(self, evidence: Any, texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return complete_findings(texts)

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """See `Scorer._score_in_context`."""
        texts = list(dict.fromkeys((*references, *candidates)))
        spaced = [_SPACES.sub(" ", text) for text in texts]
        entities = self._tagger.tag_reports(spaced)
        tuples = dict(zip(texts, map(_entity_tuples, entities), strict=True))
        findings = finding_phrases(references, candidates, self.classifier, self._tagger)
        rows = [
            (tuples[reference], tuples[candidate]) for reference, candidate in zip(references, candidates, strict=True)
        ]
        total = torch.tensor([set_f1(*row) for row in rows], dtype=torch.float32)
        status = tuple(STATUS_OK if any(row) else _STATUS_NO_TUPLES for row in rows)
        evidence = tuple(
            {
                "missing": sorted(ref - cand),
                "extra": sorted(cand - ref),
                "unread": {Side.REFERENCE: pair.reference.unread, Side.CANDIDATE: pair.candidate.unread},
            }
            for (ref, cand), pair in zip(rows, findings, strict=True)
        )
        quality = [
            compare_findings(*pair, context).quality_by_head_word()
            for pair, context in zip(findings, contexts, strict=True)
        ]
        return Scores(total, None, None, status, evidence, break_ties(torch.tensor(quality).float(), total))


def _words(entity: Entity) -> list[str]:
    name = entity.name.lower()
    return [name[match.start : match.end] for match in match_lexicon(name)] or name.split()


def _entity_tuples(entities: Iterable[Entity]) -> set[_EntityTuple]:
    tuples: set[_EntityTuple] = set()
    for entity in entities:
        words = _words(entity)
        tuples.add((entity.type, words[-1]))
        tuples |= {(entity.type, words[-1], word) for word in words[:-1]}
    return tuples
