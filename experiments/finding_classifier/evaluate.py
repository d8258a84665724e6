"""AUC of the classifier's probability that a statement reports a finding, and recall and false positives of its rule.

python -m experiments.finding_classifier.evaluate --csv indiana_reports.csv

SYNTHETIC statements of labelled.jsonl: limits were chosen with the development and the held-out part, and with the
sentences of --csv. The independent parts were written later, by others who knew neither. A sentence of a study
without codes reports none; one of a coded study that has a name of a coded finding reports one, even if it denies it;
the others are left out. The last line counts texts of no_reports_held_out.txt; nobody has read them.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from jsonargparse import ArgumentParser
from sklearn.metrics import roc_auc_score

from experiments.finding_classifier.descriptions import no_reports
from experiments.openi.studies import Study, read_openi
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.io.text_tables import markdown_table, text_frame
from radreward.models.finding_classifier import POSSIBLE, embedded_classifier, states_finding
from radreward.models.report_findings import is_report
from radreward.text.findings import FINDINGS
from radreward.text.sentence_splitter import split_sentences
from radreward.text.standard_wording import may_report_finding

LABELLED = Path(__file__).with_name("labelled.jsonl")
PARTS = ("development", "held out", "independent", "second independent", "third independent")
HEADER = ("statements", "findings", "none", "AUC", "rule", "recall", "false positives")


def labelled_statements(part: str) -> dict[str, bool]:
    """Return the statements of a part of labelled.jsonl, True if they report a finding.

    >>> len(labelled_statements("held out")), len(labelled_statements("development"))
    (124, 124)
    """
    rows = map(json.loads, LABELLED.read_text(encoding="utf-8").splitlines())
    return {row["text"]: bool(row["finding"]) for row in rows if row["part"] == part}


def coded_sentences(studies: Sequence[Study]) -> dict[str, bool]:
    """Return the sentences of real reports, True if they name a coded finding of their study."""
    labels: dict[str, bool] = {}
    for study in studies:
        codes = study.codes
        names = [name for key in codes for name in (FINDINGS[key].plain_names if key in FINDINGS else (key,))]
        named = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})s?\b", re.IGNORECASE)
        for sentence in split_sentences(study.text):
            if not codes:
                labels.setdefault(sentence, False)
            elif named.search(sentence):
                labels[sentence] = True
    return labels


def rule_rows(name: str, labels: Mapping[str, bool]) -> Iterator[list[str]]:
    """Yield the row of each rule: the vocabulary, the rules of denials and normal statements, and the classifier."""
    classifier, texts = embedded_classifier(), list(labels)
    auc = roc_auc_score(list(labels.values()), classifier.probabilities(texts).numpy())
    rules = {
        "vocabulary reads a finding": set(filter(states_finding, texts)),
        "neither denial nor normal": set(filter(may_report_finding, texts)),
        "classifier": classifier.reporting(texts),
        "limits of er2score": classifier.reporting(texts, POSSIBLE),
    }
    findings = {text for text, is_finding in labels.items() if is_finding}
    for rule, passed in rules.items():
        recall, false = len(passed & findings) / len(findings), len(passed - findings) / (len(texts) - len(findings))
        counts = str(len(findings)), str(len(texts) - len(findings))
        yield [name, *counts, f"{auc:.3f}", rule, f"{recall:.3f}", f"{false:.3f}"]


def main(*, csv: Path | None = None) -> int:
    """Print the table; return 2 if the file cannot be used.

    Args:
        csv: Open-i reports with the columns uid, MeSH, findings, impression.
    """
    data = {f"labelled, {part}": labelled_statements(part) for part in PARTS}
    try:
        if csv is not None:
            data["Open-i"] = coded_sentences(list(read_openi(csv)))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(markdown_table(text_frame(HEADER, [row for name, labels in data.items() for row in rule_rows(name, labels)])))
    others = no_reports("no_reports_held_out.txt")
    print(f"Of {len(others)} texts about other subjects, {sum(map(is_report, others))} read as a report.")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
