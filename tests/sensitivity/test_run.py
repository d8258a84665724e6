"""Edits do what their names say, and the figures are those of scorers whose behaviour is known."""

import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from radreward.scorers.base import Scorer
from radreward.scorers.stateless import PlainScorer
from radreward.sensitivity.perturbations import (
    FALLS,
    STAYS,
    Family,
    family,
    paraphrase,
    sample_report,
    text_of,
    with_errors,
)
from radreward.sensitivity.run import probe, probe_tables
from radreward.synthesis.error_counting import COMPARED, DEGREE, FALSE, MISSING, NOT_COMPARED, PLACE, radcliq_errors
from radreward.synthesis.error_counting import count_errors as count
from radreward.text.report_parser import sentence_facts

CAUSED = {
    "laterality": {PLACE},
    "negation": {MISSING},
    "severity": {DEGREE},
    "device position": {PLACE},
    "comparison": {COMPARED, NOT_COMPARED},
    "omission": {MISSING},
    "false finding": {FALSE},
}
"""The errors that each kind causes, by the tags of the error counts; sizes are no facts, and are not counted."""


class Made(PlainScorer):
    """A scorer by a formula of two texts."""

    file = "made.json"

    def __init__(self, formula: Callable[[str, str], float], higher_is_better: bool = True) -> None:
        super().__init__()
        self.formula, self.higher_is_better = formula, higher_is_better

    def values(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return [self.formula(one, other) for one, other in zip(references, candidates, strict=True)]


def changed_words(reference: str, candidate: str) -> float:
    """How many words differ, as reading has them: case, spaces and order are nothing."""
    one, other = (Counter(text.lower().split()) for text in (reference, candidate))
    return max((one - other).total(), (other - one).total())


@pytest.mark.parametrize("kind", CAUSED)
def test_each_dose_has_one_error_more_and_of_its_kind(kind: str) -> None:
    for seed in range(12):
        report = sample_report(Random(seed))
        facts = [fact for entry in report for fact in entry.facts]
        for dose, edited in enumerate(with_errors(kind, report, Random(seed)), 1):
            errors = radcliq_errors(count(facts, [fact for entry in edited for fact in entry.facts]))
            assert sum(errors.values()) == sum(errors[tag] for tag in CAUSED[kind]), (seed, dose)
            assert sum(errors.values()) >= dose if kind != "false finding" else errors[FALSE] == dose, (seed, dose)


@pytest.mark.parametrize("kind", FALLS)
def test_texts_say_what_the_facts_are(kind: str) -> None:
    for seed in range(6):
        report = sample_report(Random(seed))
        made = with_errors(kind, report, Random(seed))
        assert len(made) == 3, (kind, seed)
        texts = [text_of(report), *map(text_of, made)]
        assert len(set(texts)) == 4
        for edited in made:
            for entry in edited:
                said = {fact.finding: fact.polarity for fact in sentence_facts(entry.text)}
                assert said == {fact.finding: fact.polarity for fact in entry.facts}, entry.text


def test_sizes_are_exchanged_and_nothing_else() -> None:
    made = family("measurement", sample_report(Random(0)), "0")
    assert [changed_words(made.reference, text) for text in made.edited] == [1, 2, 3]


@pytest.mark.parametrize("seed", range(6))
def test_what_means_nothing_states_the_same(seed: int) -> None:
    report = sample_report(Random(seed))
    again = paraphrase(report, Random(seed))
    made = {name: family(name, report, str(seed)) for name in STAYS}
    assert all(one.reference == text_of(report) and len(one.edited) == 1 for one in made.values())
    for name in ("reordering", "whitespace", "case"):
        assert changed_words(made[name].reference, made[name].edited[0]) == 0
        assert made[name].edited[0] != made[name].reference
    facts = [fact for entry in report for fact in entry.facts]
    said = [fact for text in again.replace(". ", ".\n").splitlines() for fact in sentence_facts(text)]
    assert sum(count(facts, said).values()) == 0


def test_figures_of_scorers_whose_behaviour_is_known(tmp_path: Path) -> None:
    scorers: dict[str, Callable[[], Scorer]] = {
        "words": lambda: Made(changed_words, higher_is_better=False),
        "constant": lambda: Made(lambda one, other: 1.0),
        "equal": lambda: Made(lambda one, other: float(one == other)),
        "broken": lambda: Made(lambda one, other: 1 / 0),
        "partly": lambda: Made(lambda one, other: math.nan if other == other.upper() else -changed_words(one, other)),
    }
    done: list[str] = []
    entries = probe(scorers, reports=6, seed=3, tell=done.append)
    assert done == list(scorers)
    found = {(entry["scorer"], entry["probe"]): entry for entry in entries}
    assert len(found) == len(entries) == 5 * (len(FALLS) + len(STAYS))
    for name in FALLS:
        assert found["words", name]["kind"] == "falls"
        assert found["constant", name]["score"] == 0
        assert found["constant", name]["doses"] == []
        assert found["equal", name]["score"] == pytest.approx(1 / 3)
        assert [dose for dose, _ in found["equal", name]["doses"]] == [1, 2, 3]
        assert found["words", name]["n"] == 18
    for name in ("measurement", "false finding"):
        assert found["words", name]["score"] == 1
    # Left for right and right for left leave a bag of words as it was.
    assert 0.5 < (found["words", "laterality"]["score"] or 0) < 1
    assert found["words", "measurement"]["doses"][2][1] == pytest.approx(
        3 * found["words", "measurement"]["doses"][0][1]
    )
    for name in STAYS:
        assert found["constant", name]["score"] == 1
        assert found["equal", name]["score"] == 0
        assert found["words", name]["score"] == (1 if name in ("reordering", "whitespace", "case") else 0)
        assert found["broken", name]["score"] is None
        assert found["broken", name]["note"] == "ZeroDivisionError: division by zero"
    assert found["partly", "case"]["note"] == f"{6 - found['partly', 'case']['n']} without a score"
    console = Console(width=300, file=io.StringIO(), record=True)
    for table in probe_tables(entries):
        console.print(table)
    assert "broken" in console.export_text()
    asked: list[str] = []

    def noted(reference: str, candidate: str) -> float:
        asked.append(candidate)
        return 1.0

    for _ in range(2):  # the second time everything is remembered
        assert probe({"noted": lambda: Made(noted)}, 2, folder=tmp_path)
    assert len(asked) == len(set(asked))
    assert probe({"words": scorers["words"]}, 6, 3) == [entry for entry in entries if entry["scorer"] == "words"]


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="Expected `reports` to be >= 1 but got 0"):
        probe({}, reports=0)
    with pytest.raises(ValueError, match="Expected one of laterality, negation, .* but got 'grammar'"):
        with_errors("grammar", sample_report(Random(0)), Random(0))
    assert isinstance(family("case", sample_report(Random(0)), "0"), Family)
