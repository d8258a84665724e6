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
from radreward.scorers.stateless import StatelessScorer
from radreward.sensitivity.perturbations import (
    ERROR_PROBES,
    INVARIANCE_PROBES,
    PerturbedReport,
    inject_errors,
    perturb_report,
    report_text,
    reword_sentences,
    sample_probe_report,
)
from radreward.sensitivity.run import run_sensitivity_tests, sensitivity_tables
from radreward.synthesis.error_counting import (
    FALSE_COMPARISON,
    FALSE_PREDICTION,
    OMISSION,
    OMITTED_COMPARISON,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    to_radcliq_counts,
)
from radreward.synthesis.error_counting import count_errors as count
from radreward.text.sentence_parser import sentence_facts

CAUSED = {
    "laterality": {WRONG_LOCATION},
    "negation": {OMISSION},
    "severity": {WRONG_SEVERITY},
    "device position": {WRONG_LOCATION},
    "comparison": {FALSE_COMPARISON, OMITTED_COMPARISON},
    "omission": {OMISSION},
    "false finding": {FALSE_PREDICTION},
}
"""The errors that each kind causes, by the tags of the error counts; sizes are no facts, and are not counted."""


class Made(StatelessScorer):
    """A scorer by a formula of two texts."""

    config_name = "made.json"

    def __init__(self, formula: Callable[[str, str], float], higher_is_better: bool = True) -> None:
        super().__init__()
        self.formula, self.higher_is_better = formula, higher_is_better

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return [self.formula(one, other) for one, other in zip(references, candidates, strict=True)]


def changed_words(reference: str, candidate: str) -> float:
    """How many words differ, as reading has them: case, spaces and order are nothing."""
    one, other = (Counter(text.lower().split()) for text in (reference, candidate))
    return max((one - other).total(), (other - one).total())


@pytest.mark.parametrize("kind", CAUSED)
def test_each_dose_has_one_error_more_and_of_its_kind(kind: str) -> None:
    for seed in range(12):
        report = sample_probe_report(Random(seed))
        facts = [fact for entry in report for fact in entry.facts]
        for dose, edited in enumerate(inject_errors(kind, report, Random(seed)), 1):
            errors = to_radcliq_counts(count(facts, [fact for entry in edited for fact in entry.facts]))
            assert sum(errors.values()) == sum(errors[tag] for tag in CAUSED[kind]), (seed, dose)
            assert sum(errors.values()) >= dose if kind != "false finding" else errors[FALSE_PREDICTION] == dose, (
                seed,
                dose,
            )


@pytest.mark.parametrize("kind", ERROR_PROBES)
def test_texts_say_what_the_facts_are(kind: str) -> None:
    for seed in range(6):
        report = sample_probe_report(Random(seed))
        made = inject_errors(kind, report, Random(seed))
        assert len(made) == 3, (kind, seed)
        texts = [report_text(report), *map(report_text, made)]
        assert len(set(texts)) == 4
        for edited in made:
            for entry in edited:
                said = {fact.finding: fact.polarity for fact in sentence_facts(entry.text)}
                assert said == {fact.finding: fact.polarity for fact in entry.facts}, entry.text


def test_sizes_are_exchanged_and_nothing_else() -> None:
    made = perturb_report("measurement", sample_probe_report(Random(0)), "0")
    assert [changed_words(made.reference, text) for text in made.perturbed] == [1, 2, 3]


@pytest.mark.parametrize("seed", range(6))
def test_what_means_nothing_states_the_same(seed: int) -> None:
    report = sample_probe_report(Random(seed))
    again = reword_sentences(report, Random(seed))
    made = {name: perturb_report(name, report, str(seed)) for name in INVARIANCE_PROBES}
    assert all(one.reference == report_text(report) and len(one.perturbed) == 1 for one in made.values())
    for name in ("reordering", "whitespace", "case"):
        assert changed_words(made[name].reference, made[name].perturbed[0]) == 0
        assert made[name].perturbed[0] != made[name].reference
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
    entries = run_sensitivity_tests(scorers, reports=6, seed=3, on_scorer=done.append)
    assert done == list(scorers)
    found = {(entry["scorer"], entry["probe"]): entry for entry in entries}
    assert len(found) == len(entries) == 5 * (len(ERROR_PROBES) + len(INVARIANCE_PROBES))
    for name in ERROR_PROBES:
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
    for name in INVARIANCE_PROBES:
        assert found["constant", name]["score"] == 1
        assert found["equal", name]["score"] == 0
        assert found["words", name]["score"] == (1 if name in ("reordering", "whitespace", "case") else 0)
        assert found["broken", name]["score"] is None
        assert found["broken", name]["note"] == "ZeroDivisionError: division by zero"
    assert found["partly", "case"]["note"] == f"{6 - found['partly', 'case']['n']} without a score"
    console = Console(width=300, file=io.StringIO(), record=True)
    for table in sensitivity_tables(entries):
        console.print(table)
    assert "broken" in console.export_text()
    asked: list[str] = []

    def noted(reference: str, candidate: str) -> float:
        asked.append(candidate)
        return 1.0

    for _ in range(2):  # the second time everything is remembered
        assert run_sensitivity_tests({"noted": lambda: Made(noted)}, 2, cache_folder=tmp_path)
    assert len(asked) == len(set(asked))
    assert run_sensitivity_tests({"words": scorers["words"]}, 6, 3) == [
        entry for entry in entries if entry["scorer"] == "words"
    ]


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match="Expected `reports` to be >= 1 but got 0"):
        run_sensitivity_tests({}, reports=0)
    with pytest.raises(ValueError, match="Expected one of laterality, negation, .* but got 'grammar'"):
        inject_errors("grammar", sample_probe_report(Random(0)), Random(0))
    assert isinstance(perturb_report("case", sample_probe_report(Random(0)), "0"), PerturbedReport)
