"""Quality from the scores of the sentences that state findings: normal sentences do not count."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from radreward.criteria import finding_quality
from radreward.models.finding_gate import states_finding
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.text.facts import Fact, known_agreement
from radreward.text.patient_context import NO_CONTEXT, PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import patient_weight, phrase_weight, repeats_device


def sentence_quality(
    judgement: SentenceJudgement,
    reference: Sequence[str],
    candidate: Sequence[str],
    reporting: Set[str],
    context: PatientContext = NO_CONTEXT,
) -> float:
    """Return the quality of a candidate. All sentences of both reports must have a score.

    Each finding has a weight w and an agreement a: 1 if the other report states the same finding, 0 if all counterparts
    of its sentence state unrelated findings (see `known_agreement`), otherwise the score of its sentence, at least 0. A
    finding adds w·a to the matched weight if it is the reference's, and w·(1 - a) to the wrong weight in either report.
    A device that several sentences state in one place counts once, see `repeats_device`.
    A sentence that reports a finding in words outside the vocabulary is one finding, see `phrase_weight`.

    Args:
        judgement: Scores of the sentences.
        reference: Sentences of the reference.
        candidate: Sentences of the candidate.
        reporting: Those that report a finding, see `FindingGate.reporting`.
        context: The patient's age and indication.

    >>> from radreward.systems.sentence_eval.judgement import SentenceScore
    >>> equal, unmatched = SentenceScore(1.0, (0,)), SentenceScore(0.0, ())
    >>> judgement = SentenceJudgement((equal, unmatched), (equal,), None, "", {}, "ok")
    >>> sentence_quality(judgement, ["Pulmonary edema.", "Rib fracture."], ["Edema."], set())
    0.6
    >>> contradicted = SentenceJudgement((SentenceScore(-1.0, (0,)),), (SentenceScore(-1.0, (0,)),), None, "", {}, "ok")
    >>> odd = "Crazy-paving pattern."
    >>> sentence_quality(contradicted, [odd], ["No crazy-paving pattern."], {odd})
    0.5
    """
    weighted = [
        list(_weighted_agreements(judgement.reference_scores, reference, candidate, reporting, context)),
        list(_weighted_agreements(judgement.candidate_scores, candidate, reference, reporting, context)),
    ]
    matched = sum(weight * agreement for weight, agreement in weighted[0])
    wrong = sum(weight * (1 - agreement) for side in weighted for weight, agreement in side)
    return finding_quality(matched, wrong)


def _weighted_agreements(
    scores: Sequence[SentenceScore | None],
    sentences: Sequence[str],
    others: Sequence[str],
    reporting: Set[str],
    context: PatientContext,
) -> Iterator[tuple[float, float]]:
    """Yield the weight and the agreement of each finding of a report."""
    other_facts = [sentence_facts(text) for text in others]
    stated = frozenset(fact for facts in other_facts for fact in facts)  # repeated sentences take no time
    earlier: dict[Fact, None] = {}
    for score, text in zip(scores, sentences, strict=True):
        matches = {other_facts[match] for match in score.matches} if score else set[tuple[Fact, ...]]()
        facts = dict.fromkeys(sentence_facts(text))
        for fact in facts:
            if fact.positive and not repeats_device(fact, earlier):
                yield patient_weight(fact, context), _agreement(fact, score, matches, stated)
        earlier |= facts
        if text in reporting and not states_finding(text):
            yield phrase_weight(text, context), max(0.0, score.score) if score else 0.0


def _agreement(fact: Fact, score: SentenceScore | None, matches: Set[tuple[Fact, ...]], stated: Set[Fact]) -> float:
    """Return the agreement of a finding, given the facts of the matching sentences and all facts of the report."""
    if any(known_agreement((fact,), (other,)) == 1 for other in stated):
        return 1.0
    if score is None or (matches and all(known_agreement((fact,), facts) == 0 for facts in matches)):
        return 0.0
    return max(0.0, score.score)
