"""Fourteen CheXpert observations labeled by rules, and their F1."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch

from radreward.criteria import set_quality
from radreward.metrics.text_overlap import set_f1
from radreward.models.marked_findings import IN_BOTH, MarkedFinding, criterion_name
from radreward.models.statement_comparison import UNMATCHED, FindingKind
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.text.facts import Fact, Polarity
from radreward.text.findings import FINDINGS
from radreward.text.patient_context import PatientContext
from radreward.text.report_parser import parse_report
from radreward.text.significance import patient_weight
from radreward.types import Scores, Side

LabelState = Literal["positive", "uncertain", "negative"]
LABEL_STATES: tuple[LabelState, ...] = ("positive", "uncertain", "negative")
"""States in order of precedence over several mentions."""
NO_FINDING = "no_finding"
DEVICES = "support_devices"

OBSERVATIONS: dict[str, tuple[str, ...]] = {
    "enlarged_cardiomediastinum": ("widemed", "medmass", "thymoma", "germcell"),
    "cardiomegaly": ("cardiomegaly", "lvh", "la"),
    "lung_opacity": (
        *("opacity", "interstitial", "fibrosis", "scar", "contusion", "hemorrhage", "infarct", "ards", "organizing"),
        *("eosinophilic", "proteinosis", "nsip"),
    ),
    "lung_lesion": ("nodule", "mass", "metastases", "cavity", "abscess", "granuloma", "hamartoma", "hydatid"),
    "edema": ("edema", "congestion"),
    "consolidation": ("consolidation",),
    "pneumonia": ("pneumonia", "multifocal", "aspiration", "tuberculosis"),
    "atelectasis": ("atelectasis", "collapse"),
    "pneumothorax": ("pneumothorax", "tension", "hydropneumothorax"),
    "pleural_effusion": (
        *("effusion", "loculated", "hemothorax", "hydropneumothorax", "blunting", "fissure", "chylothorax"),
    ),
    "pleural_other": ("thickening", "plaque"),
    "fracture": (
        *(
            "fracture",
            "ribfx",
            "oldribfx",
            "oldfx",
            "oldvertfx",
            "clavfx",
            "vertfx",
            "scapfx",
            "sternalfx",
            "humerusfx",
            "flail",
        ),
        *("pathologicfx", "hipfx", "femurfx", "radiusfx", "scaphoidfx", "handfx", "elbowfx", "anklefx", "pelvicfx"),
    ),
    DEVICES: tuple(key for key, entry in FINDINGS.items() if entry.region == "devices" and key != "foreign"),
    NO_FINDING: (),
}
"""Observations and the keys of `FINDINGS` that imply them, the most typical first."""

_OBSERVATIONS_OF = {
    key: tuple(name for name, keys in OBSERVATIONS.items() if key in keys)
    for keys in OBSERVATIONS.values()
    for key in keys
}
_STATE_OF: dict[Polarity, LabelState] = {"present": "positive", "uncertain": "uncertain", "absent": "negative"}


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

    def mark_findings(self, evidence: Mapping[str, Any], texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return list(_mark_labels(evidence["reference"], evidence["candidate"]))

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
    """Return the states of the observations that a report mentions, from its facts.

    >>> label_report("No pneumothorax. Small effusion, possibly pneumonia.")
    {'pneumonia': 'uncertain', 'pneumothorax': 'negative', 'pleural_effusion': 'positive'}
    """
    states: dict[str, set[LabelState]] = {}
    for fact in parse_report(text).facts:
        for name in _OBSERVATIONS_OF.get(fact.finding, ()):
            states.setdefault(name, set()).add(_STATE_OF[fact.polarity])
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


def _mark_labels(reference: Mapping[str, str], candidate: Mapping[str, str]) -> Iterator[MarkedFinding]:
    """Yield a finding per label of a report; the value in the other report may differ, as positive and negative.

    A label that only one report has is marked if it stands for a finding.
    """
    labels = {Side.REFERENCE: reference, Side.CANDIDATE: candidate}
    for side, own in labels.items():
        other = labels[side.other]
        for label, value in own.items():
            kind: FindingKind = "matched" if other.get(label) == value else "contradicted"
            kind = kind if label in other else UNMATCHED[side]
            if kind in IN_BOTH or (value != "negative" and label != NO_FINDING):
                yield MarkedFinding(side, kind, f"{criterion_name(label)}: {value}", counterpart=other.get(label, ""))
