"""Tests of the probes, and of the results of scorers with known behavior."""

import io
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from rich.console import Console

from radreward.criteria import finding_quality
from radreward.criteria.error_counting import (
    FALSE_COMPARISON,
    FALSE_PREDICTION,
    OMISSION,
    OMITTED_COMPARISON,
    WRONG_LOCATION,
    WRONG_SEVERITY,
    compare_facts,
    count_errors,
    to_radcliq_counts,
)
from radreward.scorers.base import Scorer
from radreward.scorers.stateless import StatelessScorer
from radreward.sensitivity.error_edits import inject_errors
from radreward.sensitivity.graded_edits import GRADED_EDITS, grade_finding
from radreward.sensitivity.invariance_edits import reword_sentences
from radreward.sensitivity.probe_reports import report_text, sample_probe_report
from radreward.sensitivity.probes import (
    ERROR_PROBES,
    FALLING_PROBES,
    INVARIANCE_PROBES,
    PerturbedReport,
    perturb_report,
)
from radreward.sensitivity.run import run_sensitivity_tests, sensitivity_tables
from radreward.synthesis.grammar import fact_sentence
from radreward.text.facts import Fact
from radreward.text.report_parser import parse_report
from radreward.text.sentence_parser import sentence_facts

CAUSED_ERRORS = {
    "laterality": {WRONG_LOCATION},
    "negation": {OMISSION},
    "severity": {WRONG_SEVERITY},
    "device position": {WRONG_LOCATION},
    "comparison": {FALSE_COMPARISON, OMITTED_COMPARISON},
    "omission": {OMISSION},
    "false finding": {FALSE_PREDICTION},
}
"""Error tags caused by each probe; sizes are not facts, so their errors are not counted."""


class FormulaScorer(StatelessScorer):
    """A scorer that applies a formula to two texts."""

    config_name = "formula.json"
    normalizes_text = False

    def __init__(self, formula: Callable[[str, str], float], higher_is_better: bool = True) -> None:
        super().__init__()
        self.formula, self.higher_is_better = formula, higher_is_better

    def code_version(self) -> str:
        code = self.formula.__code__
        return f"{super().code_version()} {code.co_code!r} {code.co_consts!r} {code.co_names!r}"

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return [self.formula(first, second) for first, second in zip(references, candidates, strict=True)]


def changed_words(reference: str, candidate: str) -> float:
    """Return the number of different words, ignoring case, white space and order."""
    first, second = (Counter(text.lower().split()) for text in (reference, candidate))
    return max((first - second).total(), (second - first).total())


@pytest.mark.parametrize("kind", CAUSED_ERRORS)
def test_inject_errors_adds_one_error_of_the_kind(kind: str) -> None:
    for seed in range(12):
        report = sample_probe_report(Random(seed))
        facts = [fact for sentence in report for fact in sentence.facts]
        for num_errors, perturbed in enumerate(inject_errors(kind, report, Random(seed)), 1):
            errors = to_radcliq_counts(count_errors(facts, [fact for sentence in perturbed for fact in sentence.facts]))
            assert sum(errors.values()) == sum(errors[tag] for tag in CAUSED_ERRORS[kind]), (seed, num_errors)
            if kind == "false finding":
                assert errors[FALSE_PREDICTION] == num_errors
            assert sum(errors.values()) >= num_errors, (seed, num_errors)


@pytest.mark.parametrize("kind", ERROR_PROBES)
def test_inject_errors_edits_text_and_facts_consistently(kind: str) -> None:
    for seed in range(6):
        report = sample_probe_report(Random(seed))
        perturbed = inject_errors(kind, report, Random(seed))
        assert len(perturbed) == 3, (kind, seed)
        texts = [report_text(report), *map(report_text, perturbed)]
        assert len(set(texts)) == 4
        for sentence in (sentence for sentences in perturbed for sentence in sentences):
            parsed = {fact.finding: fact.polarity for fact in sentence_facts(sentence.text)}
            assert parsed == {fact.finding: fact.polarity for fact in sentence.facts}, sentence.text


def test_measurement_probe_changes_sizes_only() -> None:
    report = perturb_report("measurement", sample_probe_report(Random(0)), "0")
    words = [text.split() for text in (report.reference, *report.perturbed)]
    assert [sum(a != b for a, b in zip(words[0], text, strict=True)) for text in words[1:]] == [1, 2, 3]


@pytest.mark.parametrize("seed", range(6))
def test_invariance_probes_preserve_facts(seed: int) -> None:
    report = sample_probe_report(Random(seed))
    reworded = reword_sentences(report, Random(seed))
    perturbed = {name: perturb_report(name, report, str(seed)) for name in INVARIANCE_PROBES}
    assert all(len(probe.perturbed) == 1 for probe in perturbed.values())
    added_location = perturbed.pop("added location")
    assert added_location.perturbed == (report_text(report),)
    assert all(probe.reference == report_text(report) for probe in perturbed.values())
    for name in ("reordering", "whitespace", "case"):
        assert changed_words(perturbed[name].reference, perturbed[name].perturbed[0]) == 0
        assert perturbed[name].perturbed[0] != perturbed[name].reference
    facts = [fact for sentence in report for fact in sentence.facts]
    parsed = [fact for text in reworded.replace(". ", ".\n").splitlines() for fact in sentence_facts(text)]
    assert sum(count_errors(facts, parsed).values()) == 0
    for name in ("merging", "splitting", "normal statement", "technique remark"):
        text = perturbed[name].perturbed[0].replace("; ", ". ")
        assert text != perturbed[name].reference
        assert sum(count_errors(facts, parse_report(text).facts).values()) == 0, name


def test_added_location_probe_states_one_location_more() -> None:
    for seed in range(6):
        probe = perturb_report("added location", sample_probe_report(Random(seed)), str(seed))
        reference, candidate = (parse_report(text).facts for text in (probe.reference, *probe.perturbed))
        places = [sum(fact.location is not None for fact in facts) for facts in (reference, candidate)]
        assert places[1] == places[0] + 1
        assert sum(count_errors(reference, candidate).values()) == 0


@pytest.mark.parametrize("probe", GRADED_EDITS)
def test_graded_probes_lie_between_right_and_missed(probe: str) -> None:
    for seed in range(8):
        report = sample_probe_report(Random(seed))
        steps = grade_finding(probe, report, Random(seed))
        facts = [[fact for sentence in step for fact in sentence.facts] for step in steps]
        qualities = [finding_quality(*compare_facts(facts[0], stated).weights) for stated in facts]
        assert qualities == sorted(qualities, reverse=True), seed
        assert len(set(qualities)) == 3, (seed, qualities)
        texts = perturb_report(probe, report, str(seed))
        assert len({texts.reference, *texts.perturbed}) == 3


@pytest.mark.parametrize("probe", ERROR_PROBES)
def test_every_error_of_a_probe_lowers_the_quality(probe: str) -> None:
    for seed in range(4):
        report = sample_probe_report(Random(seed))
        steps = [report, *inject_errors(probe, report, Random(seed))]
        facts = [[fact for sentence in step for fact in sentence.facts] for step in steps]
        comparisons = [compare_facts(facts[0], stated) for stated in facts]
        errors = [len(comparison.errors) for comparison in comparisons]
        qualities = [finding_quality(*comparison.weights) for comparison in comparisons]
        assert all(fewer < more for fewer, more in pairwise(errors)), (seed, errors)
        assert all(better > worse for better, worse in pairwise(qualities)), (seed, qualities)


def test_graded_probe_of_a_report_without_such_a_finding_is_the_report() -> None:
    report = (fact_sentence(Fact("scar", location="left"), Random(0)),)
    assert grade_finding("vague finding", report, Random(0)) == (report,)


def test_graded_probes_are_parsed_as_stated() -> None:
    for probe in GRADED_EDITS:
        for seed in range(4):
            for step in grade_finding(probe, sample_probe_report(Random(seed)), Random(seed)):
                for sentence in step:
                    assert set(sentence_facts(sentence.text)) == set(sentence.facts), sentence.text


def test_run_sensitivity_tests_known_scorers(tmp_path: Path) -> None:
    scorers: dict[str, Callable[[], Scorer]] = {
        "words": lambda: FormulaScorer(changed_words, higher_is_better=False),
        "constant": lambda: FormulaScorer(lambda first, second: 1.0),
        "equal": lambda: FormulaScorer(lambda first, second: float(first == second)),
        "broken": lambda: FormulaScorer(lambda first, second: 1 / 0),
        "partly": lambda: FormulaScorer(
            lambda first, second: math.nan if second == second.upper() else -changed_words(first, second)
        ),
    }
    started: list[str] = []
    results = run_sensitivity_tests(scorers, reports=6, seed=3, on_scorer=started.append)
    assert started == list(scorers)
    results_by_probe = {(entry["scorer"], entry["probe"]): entry for entry in results}
    assert len(results_by_probe) == len(results) == 5 * (len(FALLING_PROBES) + len(INVARIANCE_PROBES))
    for name in ERROR_PROBES:
        assert results_by_probe["words", name]["kind"] == "falls"
        assert results_by_probe["constant", name]["score"] == 0
        assert results_by_probe["constant", name]["doses"] == []
        assert results_by_probe["equal", name]["score"] == pytest.approx(1 / 3)
        assert [num_errors for num_errors, _ in results_by_probe["equal", name]["doses"]] == [1, 2, 3]
        assert results_by_probe["words", name]["n"] == 18
    for name in ("measurement", "false finding"):
        assert results_by_probe["words", name]["score"] == 1
    # Exchanging two sides can preserve the bag of words.
    assert 0.5 < (results_by_probe["words", "laterality"]["score"] or 0) < 1
    assert results_by_probe["words", "measurement"]["doses"][2][1] == pytest.approx(
        3 * results_by_probe["words", "measurement"]["doses"][0][1]
    )
    for name in INVARIANCE_PROBES:
        assert results_by_probe["constant", name]["score"] == 1
        assert results_by_probe["equal", name]["score"] == 0
        assert results_by_probe["words", name]["score"] == (1 if name in ("reordering", "whitespace", "case") else 0)
        assert results_by_probe["broken", name]["score"] is None
        assert results_by_probe["broken", name]["note"] == "ZeroDivisionError: division by zero"
    assert (
        results_by_probe["partly", "case"]["note"] == f"{6 - results_by_probe['partly', 'case']['n']} without a score"
    )
    console = Console(width=300, file=io.StringIO(), record=True)
    for table in sensitivity_tables(results):
        console.print(table)
    assert "broken" in console.export_text()
    scored: list[tuple[str, str]] = []

    def recorded(reference: str, candidate: str) -> float:
        scored.append((reference, candidate))
        return 1.0

    for _ in range(2):  # the second run reads the cache
        assert run_sensitivity_tests({"recorded": lambda: FormulaScorer(recorded)}, 2, cache_folder=tmp_path)
    assert len(scored) == len(set(scored))
    assert run_sensitivity_tests({"words": scorers["words"]}, 6, 3) == [
        entry for entry in results if entry["scorer"] == "words"
    ]


def test_invalid_settings_raise() -> None:
    with pytest.raises(ValueError, match="Expected `reports` to be >= 1 but got 0"):
        run_sensitivity_tests({}, reports=0)
    with pytest.raises(ValueError, match="Expected one of laterality, negation, .* but got 'grammar'"):
        inject_errors("grammar", sample_probe_report(Random(0)), Random(0))
    with pytest.raises(ValueError, match="Expected one of vague finding, .* but got 'case'"):
        grade_finding("case", sample_probe_report(Random(0)), Random(0))
    assert isinstance(perturb_report("case", sample_probe_report(Random(0)), "0"), PerturbedReport)
