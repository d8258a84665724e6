"""The fourteen observations of CheXpert in a report, by rules, and their F1."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Literal

import torch

from radreward.scorers.base import STATUS_OK
from radreward.scorers.entity_f1 import set_f1
from radreward.scorers.stateless import StatelessScorer
from radreward.text.findings import FINDINGS
from radreward.text.lexicon import compile_phrases, inflections, lowercase_same_length
from radreward.text.negation import negated_spans
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Scores

LabelState = Literal["positive", "uncertain", "negative"]
LABEL_STATES: tuple[LabelState, ...] = ("positive", "uncertain", "negative")
"""Of several mentions the first of these counts."""
NO_FINDING = "no_finding"
DEVICES = "support_devices"

OBSERVATIONS: dict[str, tuple[str, ...]] = {
    "enlarged_cardiomediastinum": ("widemed", "medmass"),
    "cardiomegaly": ("cardiomegaly", "lvh", "la"),
    "lung_opacity": ("opacity", "interstitial", "fibrosis", "scar", "contusion", "hemorrhage", "infarct", "ards"),
    "lung_lesion": ("nodule", "mass", "metastases", "cavity", "abscess", "granuloma"),
    "edema": ("edema", "congestion"),
    "consolidation": ("consolidation",),
    "pneumonia": ("pneumonia", "multifocal", "aspiration", "tuberculosis"),
    "atelectasis": ("atelectasis", "collapse"),
    "pneumothorax": ("pneumothorax", "tension", "hydropneumothorax"),
    "pleural_effusion": ("effusion", "loculated", "hemothorax", "hydropneumothorax", "blunting", "fissure"),
    "pleural_other": ("thickening", "plaque"),
    "fracture": ("fracture", "ribfx", "oldribfx", "clavfx", "vertfx"),
    DEVICES: tuple(key for key, entry in FINDINGS.items() if entry.region == "devices" and key != "foreign"),
    NO_FINDING: (),
}
"""The observations, and which of `FINDINGS` show each."""

_SHORT_FORMS: dict[str, tuple[str, ...]] = {
    "edema": ("edema", "heart failure"),
    "atelectasis": ("atelectatic change",),
    "pleural_effusion": ("pleural fluid", "pleural collection"),
    "lung_lesion": ("neoplasm", "malignancy", "tumor"),
    "fracture": ("fractured",),
    DEVICES: ("catheter", "tube", "drain", "pacer", "lead"),
}
"""Shorter words, as reports have them where the context is plain."""

_HEART = r"\b(?:heart|cardiac|cardiopericardial)\b(?: (?:silhouette|size|shadow|contours?))?"
_IMPLIED: dict[str, str] = {
    "cardiomegaly": _HEART + r"[^.;,]{0,40}?\b(?:enlarged|enlargement|large|big|increased)\b",
    "enlarged_cardiomediastinum": r"\bmediastin\w+\b[^.;,]{0,40}?\b(?:widened|enlarged|prominent)\b",
}
"""What is said of a body part, rather than named."""
_NORMAL: dict[str, str] = {
    "cardiomegaly": _HEART + r"[^.;]{0,40}?\b(?:normal|unremarkable|within normal limits|not enlarged)\b",
    "enlarged_cardiomediastinum": r"\bmediastin\w+\b[^.;]{0,40}?\b(?:normal|unremarkable|within normal limits)\b",
}
_UNCERTAIN_BEFORE = re.compile(
    r"\b(?:possib\w+|probab\w+|may|might|could|questionable|suspected|suspicio\w+|suggest\w*|concern\w*|likely|versus|vs)\b"
)
"""Before a finding, up to the end of the clause."""
_UNCERTAIN_AFTER = re.compile(
    r"^[^.;]{0,30}?(?:(?:is|are) (?:possible|suspected|likely|questioned)|may be present|"
    r"(?:not|cannot)(?: be)?(?: entirely| completely)? excluded|difficult to exclude)\b"
)
_CLAUSE = re.compile(r"[.;]|\bbut\b|\bhowever\b")


class CheXpertLabelF1(StatelessScorer):
    """F1 of the observations that two reports show, each labelled by rules, in [0, 1].

    A report is labelled with the fourteen observations of CheXpert (Irvin et al., 2019): positive, uncertain, negative
    or not mentioned; "no finding" is positive where no other observation but devices is positive or uncertain. What is
    uncertain counts as positive: 2 |A ∩ B| / (|A| + |B|) of the sets of observations. The sub-scores, one an
    observation, are 1 where both reports say the same of it. The labels of both are the evidence.

    Words and rules are our own: it is neither the labeller of CheXpert nor CheXbert.

    >>> scores = Labels14().score(["Small left effusion. Possible pneumonia."], ["Large effusion, no pneumonia."])
    >>> scores.total
    tensor([0.6667])
    """

    config_name = "labels.json"
    title = "14 labels F1 (rules)"
    total_range = (0.0, 1.0)

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The observations."""
        return tuple(OBSERVATIONS)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        """See `StatelessScorer.values`."""
        return self._score_valid(references, candidates).total.tolist()

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        known = {text: label_report(text) for text in dict.fromkeys((*references, *candidates))}
        rows = [(known[one], known[other]) for one, other in zip(references, candidates, strict=True)]
        total = torch.tensor(
            [set_f1(_positive_labels(one), _positive_labels(other)) for one, other in rows], dtype=torch.float32
        )
        same = [[float(one.get(name) == other.get(name)) for name in OBSERVATIONS] for one, other in rows]
        sub = torch.tensor(same, dtype=torch.float32).view(-1, len(OBSERVATIONS))
        evidence = tuple({"reference": dict(one), "candidate": dict(other)} for one, other in rows)
        return Scores(total, sub, None, (STATUS_OK,) * len(rows), evidence)


def label_report(text: str) -> dict[str, LabelState]:
    """The observations that a report mentions, and how.

    >>> labels("No pneumothorax. Small effusion, possibly pneumonia.")
    {'pneumonia': 'uncertain', 'pneumothorax': 'negative', 'pleural_effusion': 'positive'}
    """
    found: dict[str, set[LabelState]] = {}
    for sentence in split_sentences(text):
        for name, state in _sentence_labels(" ".join(lowercase_same_length(sentence).split())):
            found.setdefault(name, set()).add(state)
    told = {name: next(s for s in LABEL_STATES if s in found[name]) for name in OBSERVATIONS if name in found}
    if not _positive_labels(told) - {DEVICES}:
        told[NO_FINDING] = "positive"
    return told


def _positive_labels(labels: Mapping[str, LabelState]) -> set[str]:
    return {name for name, state in labels.items() if state != "negative"}


@lru_cache(50_000)
def _sentence_labels(sentence: str) -> tuple[tuple[str, LabelState], ...]:
    reach = negated_spans(sentence)
    found: list[tuple[str, LabelState]] = []
    spans = [(match.span(), _phrase_observations()[match[0]]) for match in _phrase_pattern().finditer(sentence)]
    for name, said in _IMPLIED.items():
        spans += [(match.span(), (name,)) for match in re.finditer(said, sentence)]
    for (start, end), names in spans:
        state: LabelState = "positive"
        if any(begin <= start < stop for begin, stop in reach) or re.search(r"\bnot\b", sentence[start:end]):
            state = "negative"
        elif _is_uncertain(sentence, start, end):
            state = "uncertain"
        found += [(name, state) for name in names]
    found += [(name, "negative") for name, said in _NORMAL.items() if re.search(said, sentence)]
    return tuple(found)


def _is_uncertain(sentence: str, start: int, end: int) -> bool:
    clause = _CLAUSE.split(sentence[:start])[-1]
    return bool(_UNCERTAIN_BEFORE.search(clause) or _UNCERTAIN_AFTER.search(sentence[end:]))


@lru_cache(1)
def _phrase_observations() -> dict[str, tuple[str, ...]]:
    """The observations that each phrase shows."""
    found: dict[str, tuple[str, ...]] = {}
    for name, keys in OBSERVATIONS.items():
        nouns = [noun.removeprefix("*").lower() for key in keys for noun in FINDINGS[key].names]
        for form in (form for noun in (*nouns, *_SHORT_FORMS.get(name, ())) for form in inflections(noun)):
            found[form] = tuple(dict.fromkeys((*found.get(form, ()), name)))
    return found


@lru_cache(1)
def _phrase_pattern() -> re.Pattern[str]:
    return compile_phrases(_phrase_observations())
