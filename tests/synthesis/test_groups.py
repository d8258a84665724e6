import hashlib
import json
import logging
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from radreward.criteria import (
    CrimsonCriteria,
    Criteria,
    Criterion,
    MRScoreCriteria,
    RadCliQCriteria,
    RadCliQSignificanceCriteria,
)
from radreward.criteria.error_counting import compare_facts, tally_errors, to_radcliq_counts
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.synthesis import synthesize, synthesize_files
from radreward.synthesis.candidate_strategies import load_candidate_writer
from radreward.synthesis.report_styles import Granularity
from radreward.synthesis.tier_writer import TierWriter
from radreward.synthesis.tiers import severity_tiers
from radreward.text.normalization import MAX_REPORT_CHARS
from radreward.text.report_parser import parse_report

ALL = [RadCliQCriteria(), RadCliQSignificanceCriteria(), CrimsonCriteria(), MRScoreCriteria()]
DIGEST = """
import hashlib
from radreward.criteria import MRScoreCriteria
from radreward.synthesis import synthesize
print(hashlib.sha256(repr(list(synthesize(MRScoreCriteria(), 10, seed=4))).encode()).hexdigest())
"""
REPORTS = [
    "FINDINGS: Small left pleural effusion near the shrapnel. No edema. IMPRESSION: Small left effusion.",
    "No pneumothorax. The heart size is normal. Mild right basilar atelectasis.",
    "Hiatal hernia. Unchanged cardiomegaly. No effusion",
]


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: criteria.name)
def test_synthesize_groups_have_different_totals(criteria: Criteria) -> None:
    for group in synthesize(criteria, 12, 4, seed=2):
        assert len(group.candidates) == 4
        errors = [candidate.errors or {} for candidate in group.candidates]
        assert all(tuple(entry) == criteria.tags for entry in errors)
        assert len({float(criteria.total(criteria.target_rewards(criteria.to_tensor(entry)))) for entry in errors}) > 1


@pytest.mark.parametrize(("granularity", "share"), [("statement", 1.0), ("plain", 1.0), ("report", 0.85)])
def test_synthesize_counts_agree_with_parsed_texts(granularity: Granularity, share: float) -> None:
    """Check exact counts; the parser does not read all lists of full-size reports, of which the counts are known."""
    agree = []
    for group in synthesize(RadCliQCriteria(), 30, seed=3, granularity=granularity):
        reference = parse_report(group.reference).facts
        for candidate in group.candidates:
            comparison = compare_facts(reference, parse_report(candidate.text).facts)
            counts = to_radcliq_counts(tally_errors(comparison.errors))
            agree.append(counts == candidate.errors and comparison.weights == pytest.approx(candidate.finding_weights))
    assert sum(agree) >= share * len(agree)


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: criteria.name)
def test_synthesize_candidates_lie_in_their_tiers(tmp_path: Path, criteria: Criteria) -> None:
    synthesize_files(tmp_path, criteria, 50, 3, seed=7)
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    tiers = card["tiers"]
    assert tiers.keys() == {"good", "fair", "bad", "open"}
    full = {name: row["in tier"] + row["outside"] for name, row in tiers.items()}
    assert all(count > 4 for count in full.values())
    assert sum(full.values()) == 150
    for row in tiers.values():
        assert row["share in tier"] == pytest.approx(row["in tier"] / (row["in tier"] + row["outside"]), abs=1e-4)
        assert row["outside"] <= row["limited"] + 0.05 * row["in tier"]  # nearly all outside are of limited references
    limited = card["groups of limited references"]
    assert sum(row["limited"] for row in tiers.values()) == 3 * limited
    assert (limited > 5) is (criteria.name != "mrscore")  # references of MRScore have full length
    assert card["groups without a candidate in every tier"] > 0
    note = f"{limited / 50:.0%} of the references are too short for every tier"
    assert note in (tmp_path / "card.md").read_text(encoding="utf-8")
    assert "| bad | " in (tmp_path / "card.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("criteria", [RadCliQCriteria(), MRScoreCriteria()], ids=lambda criteria: criteria.name)
def test_full_tiers_have_a_candidate_in_every_tier(tmp_path: Path, criteria: Criteria) -> None:
    synthesize_files(tmp_path, criteria, 12, 3, seed=7, candidates=TierWriter(requires_all=True))
    card = json.loads((tmp_path / "card.json").read_text(encoding="utf-8"))
    assert card["groups of limited references"] == card["groups without a candidate in every tier"] == 0
    tiers = severity_tiers(criteria)
    weighted = all(criterion.kind == "binary" for criterion in criteria.criteria)
    for group in read_groups(tmp_path / "groups.parquet"):
        assert len(parse_report(group.reference).sentences) > 4
        errors = [candidate.errors or {} for candidate in group.candidates]
        severities = [criteria.weighted_errors(counts) if weighted else sum(counts.values()) for counts in errors]
        assert all(any(tier.contains(severity) for severity in severities) for tier in tiers)


def test_full_tiers_leave_out_given_reports_that_are_too_short(tmp_path: Path) -> None:
    long = "Small left pleural effusion. Mild right basilar atelectasis. No pneumothorax. No edema. Mild cardiomegaly."
    path = tmp_path / "reports.jsonl"
    path.write_text(
        "\n".join(json.dumps({"report": text}) for text in (long, "No effusion.", f"{long} Hiatal hernia."))
    )
    written = synthesize_files(
        tmp_path / "out", RadCliQCriteria(), reports=path, candidates=TierWriter(requires_all=True)
    )
    assert all("pneumothorax" in group.reference for group in read_groups(written))
    path.write_text("\n".join(json.dumps({"report": text}) for text in (long, "No effusion.")))
    with pytest.raises(InputError, match="Expected at least two reports that are completely parsed and long enough"):
        synthesize_files(tmp_path / "out", RadCliQCriteria(), reports=path, candidates=TierWriter(requires_all=True))
    with pytest.raises(InputError, match="Expected at least 3 candidates per reference"):
        synthesize_files(tmp_path / "out", RadCliQCriteria(), 2, 2, candidates=TierWriter(requires_all=True))


def test_synthesize_weights_are_consistent_with_errors() -> None:
    for group in synthesize(RadCliQCriteria(), 15, seed=5):
        for candidate in group.candidates:
            assert candidate.finding_weights is not None
            assert min(candidate.finding_weights) >= 0.0
            if not any((candidate.errors or {}).values()):
                vague = sum(entry.wrong or 0.0 for entry in candidate.located_errors or () if not entry.errors)
                # A vague name is not counted, but it is not right.
                assert candidate.finding_weights.wrong == pytest.approx(vague)


def test_synthesize_reports_span_zero_to_eight_findings() -> None:
    counts = Counter(
        min(8, len({fact for fact in parse_report(group.reference).facts if fact.positive}))
        for group in synthesize(RadCliQCriteria(), 100, 2, seed=2)
    )
    assert set(range(9)) <= counts.keys()
    assert 0.2 < sum(counts[number] for number in (5, 6, 7, 8)) / 100 < 0.5


def test_synthesize_group_depends_on_seed_and_number() -> None:
    eight, four = list(synthesize(RadCliQCriteria(), 8, seed=5)), list(synthesize(RadCliQCriteria(), 4, seed=5))
    assert eight[:4] == four
    assert [group.id for group in four] == [f"synthetic-5-{number}" for number in range(4)]
    assert four != list(synthesize(RadCliQCriteria(), 4, seed=6))


def test_synthesize_is_independent_of_hash_seed() -> None:
    expected = hashlib.sha256(repr(list(synthesize(MRScoreCriteria(), 10, seed=4))).encode()).hexdigest()
    hash_seed = "1" if os.environ.get("PYTHONHASHSEED") != "1" else "2"  # unlike that of this process
    environment = os.environ | {"PYTHONHASHSEED": hash_seed}
    command = [sys.executable, "-c", DIGEST]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert process.stdout.strip() == expected


def test_synthesize_uses_given_reports_in_turn() -> None:
    groups = list(synthesize(MRScoreCriteria(), 12, seed=1, reports=REPORTS))
    assert [group.reference for group in groups] == REPORTS * 4
    for group in groups[::3]:
        assert all("near the s" in candidate.text for candidate in group.candidates)  # a misspelling may follow
    assert groups == list(synthesize(MRScoreCriteria(), 12, seed=1, reports=REPORTS))


@pytest.mark.parametrize(("groups", "per_reference", "name"), [(0, 3, "groups"), (3, 1, "per_reference")])
def test_synthesize_number_below_minimum_raises(groups: int, per_reference: int, name: str) -> None:
    with pytest.raises(ValueError, match=rf"`{name}` to be >="):
        synthesize(RadCliQCriteria(), groups, per_reference)


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: criteria.name)
def test_synthesize_files_card_agrees_with_groups(tmp_path: Path, criteria: Criteria) -> None:
    path = synthesize_files(tmp_path / "out", criteria, 12, 3, seed=1)
    groups = list(read_groups(path, criteria))
    assert groups == list(synthesize(criteria, 12, 3, seed=1))
    candidates = [candidate for group in groups for candidate in group.candidates]
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert (card["groups"], card["candidates"], card["seed"]) == (12, 36, 1)
    assert card["systems"] == Counter(candidate.system for candidate in candidates)
    for tag in criteria.tags:
        counts = [(candidate.errors or {})[tag] for candidate in candidates]
        assert card["errors"][tag] == {"count": sum(counts), "candidates": sum(count > 0 for count in counts)}
    words = [len(group.reference.split()) for group in groups]
    assert card["mean_words"]["reference"] == round(sum(words) / 12, 1)
    written = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "SYNTHETIC" in written
    assert all(f"| {tag} |" in written for tag in criteria.tags)


@pytest.mark.parametrize(
    ("seed", "candidates", "digest"),
    [
        (11, "tiers", "8179873f352fb7f4a83d796b2b9ca43a19a82d86aca525f8655ee2d965b6ec8a"),
        (12, "details", "1de84f3e46e98b50d85a4a6695748feee641914de51aff5ede76e6707eecd7bd"),
        (13, "graded", "412ce77edbd6fbe02878cf07f4fce15da7f5e2321f12dee19dfcdc89edcb6bee"),
        (16, "contrast", "2b8dd5472e8005c2199b330d1f9d848fc267483d647cc7e6875e87d0963da604"),
        (4, "tiers", "0f8408cecc8656bfe73023a0c9013001670f8fcb6f212f5298c6f5d73460c4d0"),
    ],
)
def test_synthesize_reproduces_data_of_the_schedule(seed: int, candidates: str, digest: str) -> None:
    """Check that the first reports of experiments/er2score/schedule.yaml are the same on every machine."""
    writer = load_candidate_writer(candidates)
    groups = list(synthesize(RadCliQSignificanceCriteria(), 20, seed=seed, candidates=writer))
    assert hashlib.sha256(repr(groups).encode()).hexdigest() == digest


def test_synthesize_statement_granularity() -> None:
    groups = list(synthesize(RadCliQCriteria(), 40, 6, seed=0, granularity="statement"))
    assert sum(len(group.reference.split()) for group in groups) / 40 < 20
    for criteria, reports in ((MRScoreCriteria(), None), (RadCliQCriteria(), REPORTS)):
        with pytest.raises(InputError, match="granularity: Expected `report`"):
            next(synthesize(criteria, 1, reports=reports, granularity="statement"))


@pytest.mark.parametrize("criterion", RadCliQSignificanceCriteria().criteria, ids=lambda criterion: criterion.tag)
def test_synthesize_single_criterion_gives_different_counts(criterion: Criterion) -> None:
    criteria = Criteria("one", [criterion])
    for group in synthesize(criteria, 1, seed=0):
        assert len({(candidate.errors or {})[criterion.tag] for candidate in group.candidates}) > 1


def test_synthesize_report_without_possible_error_raises() -> None:
    criteria = Criteria("one", [RadCliQCriteria().criteria[RadCliQCriteria().tags.index("incorrect_severity")]])
    with pytest.raises(InputError, match=r"criteria one: no candidates .* for the report 'Shrapnel\.'"):
        list(synthesize(criteria, 1, reports=["Shrapnel.", "Lungs are clear."]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Comparison: None.", "but it has neither"),
        ("however", "no sentence can"),
        ("a " * MAX_REPORT_CHARS, "at most 20000"),
    ],
)
def test_synthesize_unusable_report_raises(text: str, message: str) -> None:
    with pytest.raises(InputError, match=rf"reports\[2\]: Expected .*{message}"):
        next(synthesize(RadCliQCriteria(), 1, reports=[*REPORTS[:2], text]))


@pytest.mark.parametrize(
    ("rows", "parts"),
    [
        ("No edema.\nComparison: None.\n", ["row 2, field 'report'", "with findings or an impression"]),
        ("No edema.\nScar.\nIndication: Cough. FINDINGS:\n", ["row 3, field 'report'", "it has neither"]),
        ("No edema.\nhowever\n", ["row 2, field 'report'", "in sentences"]),
    ],
)
def test_synthesize_files_unusable_report_writes_nothing(tmp_path: Path, rows: str, parts: list[str]) -> None:
    path = tmp_path / "my.csv"
    path.write_text("report\n" + rows, encoding="utf-8")
    with pytest.raises(InputError) as error:
        synthesize_files(tmp_path / "out", RadCliQCriteria(), 2, reports=path)
    assert all(part in str(error.value) for part in [str(path), *parts]), error.value
    assert not (tmp_path / "out").exists()


def test_synthesize_files_warns_about_empty_rows(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "my.csv"
    path.write_text('report,id\nNo edema.,1\n,2\nSmall left effusion.,3\n" ",4\n', encoding="utf-8")
    with caplog.at_level(logging.WARNING):
        synthesize_files(tmp_path / "out", RadCliQCriteria(), 2, reports=path)
    assert caplog.messages == [f"{path}: skipped 2 rows without text, first row 2."]
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert (card["source"], card["reports"]) == ("my.csv", {"used": 2, "empty rows": 2})
    assert "- reports: 2; skipped empty rows: 2\n" in (tmp_path / "out" / "card.md").read_text(encoding="utf-8")


def test_synthesize_files_default_is_one_group_per_usable_report(tmp_path: Path) -> None:
    path = tmp_path / "my.csv"
    path.write_text('report\nNo edema.\n" "\nSmall left effusion.\nNo pneumothorax.\n', encoding="utf-8")
    groups = list(read_groups(synthesize_files(tmp_path / "out", RadCliQCriteria(), reports=path), RadCliQCriteria()))
    assert [group.reference for group in groups] == ["No edema.", "Small left effusion.", "No pneumothorax."]


def test_synthesize_plain_reports_respect_max_findings() -> None:
    def findings(max_findings: int | None) -> set[int]:
        groups = synthesize(RadCliQCriteria(), 25, seed=3, granularity="plain", max_findings=max_findings)
        return {sum(fact.positive for fact in parse_report(group.reference).facts) for group in groups}

    assert findings(1) == {1}
    assert findings(3) == {1, 2, 3}
    assert findings(None) == {1, 2, 3, 4}


def test_synthesize_max_findings_needs_plain_granularity() -> None:
    with pytest.raises(InputError, match="max_findings: Expected `granularity` to be `plain`"):
        synthesize(RadCliQCriteria(), 1, max_findings=1)
    with pytest.raises(ValueError, match="Expected `max_findings` to be >= 1 but got -1"):
        synthesize(RadCliQCriteria(), 1, granularity="plain", max_findings=-1)
