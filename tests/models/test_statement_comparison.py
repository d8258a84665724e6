"""What the rules decide about the statements of two reports."""

from random import Random

import pytest

from radreward.models.finding_classifier import embedded_classifier
from radreward.models.statement_comparison import ComparedStatement, compare_statements
from radreward.synthesis.candidates import edit_candidate, random_report_source, with_prose
from radreward.synthesis.report_styles import mixed_style
from radreward.text.normalization import normalize_report
from radreward.types import Side

_IN_BOTH = ("matched", "differs", "contradicted")


def compare(reference: str, candidate: str) -> list[ComparedStatement]:
    return compare_statements({Side.REFERENCE: reference, Side.CANDIDATE: candidate}, embedded_classifier())


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Left effusion.", "Right effusion.", "differs location|differs location"),
        ("Mild edema.", "Severe edema.", "differs severity|differs severity"),
        ("A 6 mm nodule.", "A 2 cm nodule.", "differs size|differs size"),
        ("Edema.", "Possible edema.", "differs certainty|differs certainty"),
        ("New edema.", "Stable edema.", "differs change|differs change"),
        ("Opacity.", "Pneumonia.", "differs name|differs name"),
        ("Heart is enlarged.", "Cardiomegaly.", "matched|matched"),
        ("Bilateral effusions.", "Left effusion. Right effusion.", "matched|matched;matched"),
        ("Bilateral effusions.", "Left effusion.", "differs location|differs location"),
        ("Effusion and nodule.", "Effusion.", "matched;missed|matched"),
        ("Pneumonia.", "No opacity. Edema.", "contradicted|contradicted;invented"),
        ("The effusion has resolved.", "Effusion.", "contradicted|contradicted"),
        ("The effusion has resolved.", "No effusion.", "differs change|differs change"),
        ("Edema. No edema.", "Edema.", "matched;None|matched"),
        (
            "Spidery lines in the left lower lobe. Rotated film.",
            "No effusion. The heart is normal.",
            "unread|None;None",
        ),
    ],
)
def test_kinds_and_details(reference: str, candidate: str, expected: str) -> None:
    found = compare(reference, candidate)
    by_side = [
        ";".join(" ".join((str(entry.kind), *entry.details)) for entry in found if entry.side is side) for side in Side
    ]
    assert "|".join(by_side) == expected
    for entry in found:
        assert bool(entry.counterpart) == (entry.kind in _IN_BOTH)


@pytest.mark.parametrize("seed", range(20))
def test_generated_report_matches_itself_and_errors_are_found(seed: int) -> None:
    rng = Random(seed)
    report = random_report_source(mixed_style)(rng)
    reference = normalize_report(report.text)
    itself = compare(reference, reference)
    assert {entry.kind for entry in itself} <= {"matched", "unread", None}
    candidate = normalize_report(with_prose(edit_candidate(report, 3, rng).report, rng).text)
    texts = {Side.REFERENCE: reference, Side.CANDIDATE: candidate}
    found = compare_statements(texts, embedded_classifier())
    assert {entry.kind for entry in found} & {"missed", "invented", "differs", "contradicted"}
    for entry in found:
        assert texts[entry.side][entry.start : entry.end] == entry.text
        assert bool(entry.counterpart) == (entry.kind in _IN_BOTH)
