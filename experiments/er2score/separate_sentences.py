"""Candidates in tiers for reports in which no sentence is composed of several findings, for the study of parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random

from radreward.synthesis import TierWriter
from radreward.synthesis.candidate_writer import GroupRequest, Reference, WrittenCandidate
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import ReportStyle


class SeparateSentences(TierWriter):
    """Writer of tiers whose references and rewritten candidates contain no sentence of `composed_sentences`."""

    def write(self, request: GroupRequest, rng: Random) -> Iterator[tuple[Reference, list[WrittenCandidate]]]:
        """See `CandidateWriter.write`."""
        references = (separated(reference, rng) for reference in request.references)
        return super().write(request._replace(references=references), rng)


def separated(reference: Reference, rng: Random) -> Reference:
    """Return a reference with the same facts, written without composed sentences, as are its other reports."""

    def sample_style(rng: Random) -> ReportStyle:
        return replace(reference.sample_style(rng), compose_probability=0.0)

    return Reference.among_generated(render_report(reference.report.facts, rng, sample_style(rng)), sample_style)
