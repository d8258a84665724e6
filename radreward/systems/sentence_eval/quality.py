"""Quality of a report by the scores of its sentences that state findings: normal sentences offset no finding."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from radreward.criteria import finding_quality
from radreward.systems.sentence_eval.judgement import SentenceJudgement
from radreward.text.sentence_parser import sentence_facts
from radreward.text.significance import significance_weight


def sentence_quality(judgement: SentenceJudgement, reference: Sequence[str], candidate: Sequence[str]) -> float:
    """Return the quality of a candidate from the scores of the sentences of both reports, all of which need one.

    A sentence weighs as much as the findings that it states; one without findings weighs nothing. With the weight w
    and the agreement a, its score but at least 0, a sentence of the reference adds w·a to what matches, and a sentence
    of either report adds w·(1 - a) to what is wrong.

    >>> from radreward.systems.sentence_eval.judgement import SentenceScore
    >>> equal, unmatched = SentenceScore(1.0, (0,)), SentenceScore(0.0, ())
    >>> judgement = SentenceJudgement((equal, unmatched), (equal,), None, "", {}, "ok")
    >>> sentence_quality(judgement, ["Pulmonary edema.", "Rib fracture."], ["Edema."])
    0.6
    """
    sides = [
        [(_weight(text), 0.0 if score is None else max(0.0, score.score)) for score, text in zip(*side, strict=True)]
        for side in ((judgement.reference_scores, reference), (judgement.candidate_scores, candidate))
    ]
    matched = sum(weight * agreement for weight, agreement in sides[0])
    wrong = sum(weight * (1 - agreement) for side in sides for weight, agreement in side)
    return finding_quality(matched, wrong)


@lru_cache(100_000)
def _weight(sentence: str) -> float:
    return sum(significance_weight(fact) for fact in dict.fromkeys(sentence_facts(sentence)) if fact.positive)
