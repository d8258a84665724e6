"""Quality from the findings of reports: rules compare those that they read, the encoder those in other words."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from torch.nn import functional as F

from radreward.models.finding_gate import FindingGate
from radreward.models.report_findings import ReportFindings, read_findings
from radreward.scorers.finding_comparison import compare_findings
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_context import present_findings
from radreward.systems.ratescore.taggers import Tagger
from radreward.text.patient_context import PatientContext

UNRELATED_COSINE, EQUAL_COSINE = 0.4, 0.7
"""The agreement of two findings is 0 up to the first cosine and 1 from the second on; chosen for MiniLM on 300 pairs
of generated and 300 pairs of real reports."""


def finding_phrases(
    reports: Sequence[str], gate: FindingGate, tagger: Tagger, encoder: EntityEncoder | None = None
) -> dict[str, ReportFindings]:
    """Return the findings of each distinct report; in place of an unread statement, its phrases of present findings.

    A statement in which the tagger finds none stays as it is.

    Args:
        reports: Reports.
        gate: Gate of the statements that the rules do not read, see `read_findings`.
        tagger: Tagger of entities.
        encoder: Gives the text of each entity, see `EntityEncoder.contextualize`; by default, it is its phrase.
    """
    findings = read_findings(reports, gate)
    statements = list(dict.fromkeys(chain.from_iterable(entry.unread for entry in findings.values())))
    phrases: dict[str, list[str]] = {}
    for statement, entities in zip(statements, tagger.tag_reports(statements), strict=True):
        texts = encoder.contextualize(statement, entities) if encoder else None
        phrases[statement] = present_findings(statement, entities, texts) or [statement]
    return {
        report: entry._replace(unread=tuple(dict.fromkeys(chain.from_iterable(map(phrases.__getitem__, entry.unread)))))
        for report, entry in findings.items()
    }


def matched_qualities(
    findings: Sequence[tuple[ReportFindings, ReportFindings]],
    contexts: Sequence[PatientContext],
    encoder: EntityEncoder,
) -> list[float]:
    """Return the quality of each pair of reports, given the findings of reference and candidate.

    Rules compare the findings that they read, see `compare_findings`. Each of the others agrees with the closest one of
    the other report by a = (c - 0.4) / (0.7 - 0.4), limited to [0, 1], where c is the cosine of their words.

    >>> from radreward.text.facts import Fact
    >>> one, both = ReportFindings((Fact("edema"),), ()), ReportFindings((Fact("edema"), Fact("scar")), ())
    >>> matched_qualities([(one, one), (both, one)], [PatientContext()] * 2, EntityEncoder("tiny-bert"))
    [1.0, 0.75]
    """
    comparisons = [compare_findings(*pair, context) for pair, context in zip(findings, contexts, strict=True)]
    words = [
        [[finding.words for finding in side] for side in (entry.reference, entry.candidate)] for entry in comparisons
    ]
    # Words are compared with other words only; most pairs have none on one side.
    row_of = {
        text: row
        for row, text in enumerate(dict.fromkeys(chain.from_iterable(chain(*own) for own in words if all(own))))
    }
    table = F.normalize(encoder.embed(list(row_of)).vectors, dim=-1)
    qualities = []
    for comparison, own in zip(comparisons, words, strict=True):
        similarities: list[list[float]] = [[] for _ in own[0]]
        if all(own):
            first, second = (table[[row_of[text] for text in side]] for side in own)
            agreement = (first @ second.T - UNRELATED_COSINE) / (EQUAL_COSINE - UNRELATED_COSINE)
            similarities = agreement.clamp(0, 1).tolist()
        qualities.append(comparison.quality_by_similarity(similarities))
    return qualities
