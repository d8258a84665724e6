"""Fourteen CheXpert observations labeled by rules, and their F1."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Literal

import torch

from radreward.criteria import set_quality
from radreward.metrics.text_overlap import set_f1
from radreward.scorers.base import STATUS_OK
from radreward.scorers.stateless import StatelessScorer
from radreward.text.facts import Fact
from radreward.text.findings import FINDINGS
from radreward.text.lexicon import compile_phrases, inflections, lowercase_same_length
from radreward.text.negation import is_inside, negated_spans
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_splitter import CACHED_SENTENCES, split_sentences
from radreward.text.significance import patient_weight
from radreward.text.unstated import unstated_names
from radreward.types import Scores

LabelState = Literal["positive", "uncertain", "negative"]
LABEL_STATES: tuple[LabelState, ...] = ("positive", "uncertain", "negative")
"""States in order of precedence over several mentions."""
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
"""Observations and the keys of `FINDINGS` that imply them, the most typical first."""

_SHORT_FORMS: dict[str, tuple[str, ...]] = {
    "edema": ("edema", "heart failure"),
    "atelectasis": ("atelectatic change",),
    "pleural_effusion": ("pleural fluid", "pleural collection"),
    "lung_lesion": ("neoplasm", "malignancy", "tumor"),
    "fracture": ("fractured",),
    DEVICES: ("catheter", "tube", "drain", "pacer", "lead"),
}
"""Additional short forms used in reports."""

_HEART = r"\b(?:heart|cardiac|cardiopericardial)\b(?: (?:silhouette|size|shadow|contours?))?"
_IMPLIED: dict[str, str] = {
    "cardiomegaly": _HEART + r"[^.;,]{0,40}?\b(?:enlarged|enlargement|large|big|increased)\b",
    "enlarged_cardiomediastinum": r"\bmediastin\w+\b[^.;,]{0,40}?\b(?:widened|enlarged|prominent)\b",
}
"""Patterns of findings described by the state of a body part."""
_NORMAL: dict[str, str] = {
    "cardiomegaly": _HEART + r"[^.;]{0,40}?\b(?:normal|unremarkable|within normal limits|not enlarged)\b",
    "enlarged_cardiomediastinum": r"\bmediastin\w+\b[^.;]{0,40}?\b(?:normal|unremarkable|within normal limits)\b",
}
_UNCERTAIN_BEFORE = re.compile(
    r"\b(?:possib\w+|probab\w+|may|might|could|questionable|suspected|suspicio\w+|suggest\w*|concern\w*|likely|versus|vs)\b"
)
"""Cues between the start of the clause and the finding."""
_UNCERTAIN_AFTER = re.compile(
    r"[^.;]{0,30}?(?:(?:is|are) (?:possible|suspected|likely|questioned)|may be present|"
    r"(?:not|cannot)(?: be)?(?: entirely| completely)? excluded|difficult to exclude)\b"
)
_CLAUSE = re.compile(r"[.;]|\bbut\b|\bhowever\b")


class CheXpertLabelF1(StatelessScorer):
    """F1 of the observations of two reports, labeled by rules, in [0, 1].

    Each report is labeled with the fourteen observations of CheXpert (Irvin et al., 2019): positive, uncertain,
    negative or not mentioned; "no finding" is positive if no observation except devices is positive or uncertain.
    Uncertain counts as positive: 2 |A ∩ B| / (|A| + |B|) of the sets of observations. Each of the fourteen sub-scores
    is 1 if both reports have the same label. The evidence contains the labels of both, and precision, recall and
    accuracy, see `label_agreement`. In the quality, see `set_quality`, an observation has the weight of its most
    typical finding, and "no finding" has the weight 0.

    The words and rules were written for this package. They differ from the CheXpert labeler and from CheXbert.

    >>> reference, candidate = "Small left effusion. Possible pneumonia.", "Large effusion, no pneumonia."
    >>> CheXpertLabelF1().score([reference], [candidate]).total
    tensor([0.6667])
    """

    config_name = "chexpert_f1.json"
    title = "CheXpert label F1 (rules)"
    total_range = (0.0, 1.0)
    has_quality = True
    uses_context = True
    requires_report = True

    @property
    def sub_names(self) -> tuple[str, ...]:
        """See `Scorer.sub_names`: the observations."""
        return tuple(OBSERVATIONS)

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """See `Scorer._score_in_context`."""
        labels = {text: label_report(text) for text in dict.fromkeys((*references, *candidates))}
        rows = [
            (labels[reference], labels[candidate]) for reference, candidate in zip(references, candidates, strict=True)
        ]
        positive = [(_positive_labels(ref), _positive_labels(cand)) for ref, cand in rows]
        total = torch.tensor([set_f1(*sets) for sets in positive], dtype=torch.float32)
        quality = [
            set_quality(*(_label_weights(names, context) for names in sets))
            for sets, context in zip(positive, contexts, strict=True)
        ]
        equal = [[float(ref.get(name) == cand.get(name)) for name in OBSERVATIONS] for ref, cand in rows]
        sub_scores = torch.tensor(equal, dtype=torch.float32).view(-1, len(OBSERVATIONS))
        evidence = tuple({"reference": ref, "candidate": cand, **label_agreement(ref, cand)} for ref, cand in rows)
        return Scores(
            total, sub_scores, None, (STATUS_OK,) * len(rows), evidence, torch.tensor(quality, dtype=torch.float32)
        )


def label_report(text: str) -> dict[str, LabelState]:
    """Return the states of the observations that a report mentions.

    >>> label_report("No pneumothorax. Small effusion, possibly pneumonia.")
    {'pneumonia': 'uncertain', 'pneumothorax': 'negative', 'pleural_effusion': 'positive'}
    """
    states: dict[str, set[LabelState]] = {}
    for sentence in split_sentences(text):
        for name, state in _sentence_labels(" ".join(lowercase_same_length(sentence).split())):
            states.setdefault(name, set()).add(state)
    labels = {name: next(s for s in LABEL_STATES if s in states[name]) for name in OBSERVATIONS if name in states}
    if not _positive_labels(labels) - {DEVICES}:
        labels[NO_FINDING] = "positive"
    return labels


def label_agreement(
    reference: Mapping[str, LabelState], candidate: Mapping[str, LabelState]
) -> dict[str, float | None]:
    """Return precision |A ∩ B| / |B| and recall |A ∩ B| / |A| of positive labels, and accuracy over all fourteen.

    A and B are the positive labels of reference and candidate. Uncertain counts as positive, a label that is not
    mentioned as negative. A ratio without labels is None.

    >>> label_agreement({"edema": "positive", "fracture": "positive"}, {"edema": "uncertain"})["recall"]
    0.5
    """
    expected, stated = _positive_labels(reference), _positive_labels(candidate)
    common = len(expected & stated)
    return {
        "precision": common / len(stated) if stated else None,
        "recall": common / len(expected) if expected else None,
        "accuracy": 1 - len(expected ^ stated) / len(OBSERVATIONS),
    }


def _positive_labels(labels: Mapping[str, LabelState]) -> set[str]:
    return {name for name, state in labels.items() if state != "negative"}


def _label_weights(names: Iterable[str], context: PatientContext) -> dict[str, float]:
    typical = {name: Fact(OBSERVATIONS[name][0]) if OBSERVATIONS[name] else None for name in names}
    return {name: patient_weight(fact, context) if fact else 0.0 for name, fact in typical.items()}


@lru_cache(CACHED_SENTENCES)
def _sentence_labels(sentence: str) -> tuple[tuple[str, LabelState], ...]:
    scopes = negated_spans(sentence)
    clauses = [0, *(match.end() for match in _CLAUSE.finditer(sentence))]
    cues = [-1, *(match.start() for match in _UNCERTAIN_BEFORE.finditer(sentence))]
    mentions = [(match.span(), _phrase_observations()[match[0]]) for match in _phrase_pattern().finditer(sentence)]
    for name, pattern in _IMPLIED.items():
        mentions += [(match.span(), (name,)) for match in re.finditer(pattern, sentence)]
    unstated = unstated_names(_masked(sentence, [span for span, _ in mentions]), [span for span, _ in mentions])
    mentions = [mention for mention, is_unstated in zip(mentions, unstated, strict=True) if not is_unstated]
    labels: list[tuple[str, LabelState]] = []
    for (start, end), names in mentions:
        state: LabelState = "positive"
        clause, last_cue = clauses[bisect_right(clauses, start) - 1], cues[bisect_left(cues, start) - 1]
        if is_inside(scopes, start) or re.search(r"\bnot\b", sentence[start:end]):
            state = "negative"
        elif last_cue >= clause or _UNCERTAIN_AFTER.match(sentence, end):
            state = "uncertain"
        labels += [(name, state) for name in names]
    labels += [(name, "negative") for name, pattern in _NORMAL.items() if re.search(pattern, sentence)]
    return tuple(labels)


def _masked(sentence: str, spans: Iterable[tuple[int, int]]) -> str:
    """Return a sentence with # in place of the characters of these spans."""
    for start, end in spans:
        sentence = f"{sentence[:start]}{'#' * (end - start)}{sentence[end:]}"
    return sentence


@lru_cache(1)
def _phrase_observations() -> dict[str, tuple[str, ...]]:
    """Return the observations implied by each phrase; other findings, as pericardial effusion, imply none."""
    all_nouns = (noun.lower() for finding in FINDINGS.values() for noun in finding.plain_names)
    observations: dict[str, tuple[str, ...]] = {form: () for noun in all_nouns for form in inflections(noun)}
    for name, keys in OBSERVATIONS.items():
        nouns = [noun.lower() for key in keys for noun in FINDINGS[key].plain_names]
        for phrase in (form for noun in (*nouns, *_SHORT_FORMS.get(name, ())) for form in inflections(noun)):
            observations[phrase] = tuple(dict.fromkeys((*observations.get(phrase, ()), name)))
    return observations


@lru_cache(1)
def _phrase_pattern() -> re.Pattern[str]:
    return compile_phrases(_phrase_observations())
