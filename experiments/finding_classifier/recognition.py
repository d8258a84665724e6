"""Which finding statements in other words are classified as, measured on statements by one writer.

python -m experiments.finding_classifier.recognition

The classifier is fitted to names, generated statements, and without or with the descriptions of the other writers. The
table has the share of the last writer's descriptions of which the right finding is the most probable, or among those
that they may mean. At a limit of the probability that one in twenty of the writer's statements without a finding
reaches, it has the share of the descriptions that reach it and are taken for the right finding, and for a wrong one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from jsonargparse import ArgumentParser

from experiments.finding_classifier.descriptions import WRITERS, described_findings, plain_statements
from experiments.finding_classifier.fit import STEPS, fit_classifier
from experiments.finding_classifier.statements import generate_statements
from radreward.cli.signature import add_signature
from radreward.io.text_tables import markdown_table, text_frame
from radreward.models.finding_classifier import FindingClassifier

FALSE_SHARE = 0.05
PER_KIND = 400
COLUMNS = ("fitted to", "most probable", "among the near", "taken for it", "for another")


def measures(classifier: FindingClassifier, described: Mapping[str, str], plain: Sequence[str]) -> list[str]:
    """Return the shares of descriptions whose finding is the most probable, is near, is taken, and is mistaken.

    Args:
        classifier: A classifier.
        described: Descriptions, and their findings.
        plain: Statements without a finding.
    """
    limit = classifier.probabilities(plain).quantile(1 - FALSE_SHARE).item()
    readings = classifier.readings(described)
    taken = [text for text, reading in readings.items() if reading.probability > limit]
    counts = (
        sum(reading.finding == described[text] for text, reading in readings.items()),
        sum(described[text] in reading.near for text, reading in readings.items()),
        sum(readings[text].finding == described[text] for text in taken),
        sum(readings[text].finding != described[text] for text in taken),
    )
    return [f"{count / len(described):.2f}" for count in counts]


def main(*, every: int = 1, steps: int = STEPS) -> int:
    """Print the table.

    Args:
        every: Take only every so many of all texts, for a trial.
        steps: See `fit_classifier`.
    """
    *others, last = WRITERS
    described = dict(list(described_findings(last).items())[::every])
    plain = plain_statements(last)[::every]
    rows = []
    for title, writers in (("names", ()), ("names and descriptions", others)):
        statements = generate_statements(PER_KIND, writers=writers)[::every]
        rows.append([title, *measures(fit_classifier(statements, {}, steps), described, plain)])
    print(f"{len(described):,} descriptions and {len(plain):,} statements without a finding\n")
    print(markdown_table(text_frame(list(COLUMNS), rows)))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
