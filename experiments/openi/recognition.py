"""How many coded findings of real reports are read, and how pairs of reports with known codes are compared.

python -m experiments.openi.recognition --csv indiana_reports.csv

The first table counts the coded findings that are read in a report, and the reports without codes in which a finding
is read. The second compares pairs of reports, as scorers do: how many of the findings coded in both are accused, as if
the other report lacked them; and how many of those coded in one only are found to be wrong or missed. A finding coded
in both counts once per report, and one is read if a similar name is, see `can_mean_same`.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from jsonargparse import ArgumentParser

from experiments.openi.studies import TEST_FRACTION, Study, groups_from_codes, read_openi, split_studies
from radreward.cli.signature import add_signature
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.pair_findings import PairFindings, read_pairs
from radreward.models.report_findings import read_findings
from radreward.text.fact_matching import match_facts
from radreward.text.findings import can_mean_same

CANDIDATES = 3
READING_COLUMNS = (
    "reports",
    "coded findings",
    "read",
    "read, or a similar one",
    "without codes",
    "with a finding read",
)
PAIR_COLUMNS = ("coded findings", "number", "read", "with a match", "without one")


def _states(finding: str, stated: Collection[str]) -> bool:
    """Return True if one of the stated findings is a finding, or can mean the same."""
    return any(finding == other or can_mean_same(finding, other) for other in stated)


def reading_counts(studies: Sequence[Study]) -> list[int]:
    """Return the numbers of the first table, from the second column on.

    >>> reading_counts([Study("1", "Small effusion.", (("pleural effusion",), ("scoliosis",))), Study("2", "Clear.")])
    [2, 1, 1, 1, 0]
    """
    read = read_findings(list(dict.fromkeys(study.text for study in studies)), embedded_classifier())
    coded = exact = similar = normal = with_finding = 0
    for study in studies:
        stated = {fact.finding for fact in read[study.text].facts if fact.positive}
        findings = {fact.finding for fact in study.facts}
        coded += len(findings)
        exact += len(findings & stated)
        similar += sum(_states(finding, stated) for finding in findings)
        normal += not study.code_paths
        with_finding += bool(stated) and not study.code_paths
    return [coded, exact, similar, normal, with_finding]


def compared_findings(reference: Study, candidate: Study, findings: PairFindings) -> Iterator[tuple[str, str]]:
    """Yield what the codes say of each coded finding of a pair, and what the comparison does: matched, open, unread.

    >>> from radreward.models.report_findings import ReportFindings
    >>> from radreward.text.facts import Fact
    >>> effusion = Study("1", "Effusion.", (("pleural effusion",),))
    >>> both = effusion, Study("2", "Pneumonia.", (("pneumonia",),))
    >>> read = PairFindings(ReportFindings((Fact("effusion"),), ()), ReportFindings((), ()))
    >>> list(compared_findings(*both, read))
    [('of the reference only', 'open'), ('of the candidate only', 'unread')]
    """
    matches = match_facts(findings.reference.facts, findings.candidate.facts)
    coded = [{fact.finding for fact in study.facts} for study in (reference, candidate)]
    for side, title in enumerate(("of the reference only", "of the candidate only")):
        matched = {fact.finding for match in matches if match[1 - side] for fact in match[side]}
        unmatched = {fact.finding for match in matches if not match[1 - side] for fact in match[side]}
        for finding in sorted(coded[side]):
            if finding not in coded[1 - side]:
                if _states(finding, coded[1 - side]):
                    continue  # codes with similar names are neither equal nor different
                kind = title
            else:
                kind = "of both"
            if finding in matched or (finding not in unmatched and _states(finding, matched)):
                yield kind, "matched"
            else:
                yield kind, "open" if _states(finding, unmatched) else "unread"


def comparison_rows(studies: Sequence[Study], num_groups: int) -> list[list[str]]:
    """Return the rows of the second table for pairs of studies, see `groups_from_codes`."""
    by_text = {study.text: study for study in studies}
    groups = groups_from_codes(studies, RadCliQCriteria(), CANDIDATES, num_groups)
    texts = [(group.reference, candidate.text) for group in groups for candidate in group.candidates]
    references, candidates = zip(*texts, strict=True)
    pairs = read_pairs(references, candidates, embedded_classifier())
    counts = Counter(
        entry
        for (reference, candidate), findings in zip(texts, pairs, strict=True)
        for entry in compared_findings(by_text[reference], by_text[candidate], findings)
    )
    rows = []
    for kind in ("of both", "of the candidate only", "of the reference only"):
        matched, unmatched, unread = (counts[kind, state] for state in ("matched", "open", "unread"))
        read = matched + unmatched
        shares = (f"{count / read:.3f}" if read else "–" for count in (matched, unmatched))
        rows.append([kind, str(read + unread), str(read), *shares])
    return rows


def main(*, csv: Path, groups: int = 600, seed: int = 0) -> int:
    """Print the tables; return 2 if the reports cannot be used.

    Args:
        csv: Open-i reports with the columns uid, MeSH, findings, impression.
        groups: Number of references of the pairs, each with three candidates.
        seed: Seed of the split.
    """
    try:
        parts = split_studies(read_openi(csv), TEST_FRACTION, seed)
        comparison = comparison_rows(parts[1], groups)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    readings = [[title, *reading_counts(part)] for title, part in zip(("development", "held out"), parts, strict=True)]
    print(markdown_table(text_frame(READING_COLUMNS, readings)), end="\n\n")
    print(markdown_table(text_frame(PAIR_COLUMNS, comparison)))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
