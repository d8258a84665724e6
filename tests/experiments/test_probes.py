"""Tests of the probes: their files, and the table of changed details."""

import pytest

from experiments.probes import details, order
from radreward.meta_evaluation.preferences import read_preferences


@pytest.mark.parametrize("name", order.PROBES)
def test_each_file_has_distinct_probes_of_both_kinds(name: str) -> None:
    probes = read_preferences(order.FOLDER / f"{name}.jsonl")
    assert len(probes) >= 40
    assert len({(entry.reference, entry.candidate_a, entry.candidate_b) for entry in probes}) == len(probes)


@pytest.mark.parametrize("name", details.FILES)
def test_each_kind_of_detail_has_distinct_pairs(name: str) -> None:
    pairs = details.read_details(name)
    kinds = [pair.detail for pair in pairs]
    assert len(set(kinds)) == 30
    assert min(map(kinds.count, kinds)) >= 8
    assert all(pair.reference != pair.candidate for pair in pairs)
    assert len(set(pairs)) == len(pairs)


def test_table_counts_the_changes_that_a_scorer_sees(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pairs = [
        details.ChangedDetail("side", "Left effusion.", "Right effusion."),
        details.ChangedDetail("degree", "Small effusion.", "A small effusion is seen."),
    ]
    monkeypatch.setattr(details, "read_details", lambda name: pairs if name == "details" else pairs[:1])
    assert details.main(scorers=["entity-f1"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if " of " in line]
    assert [[cell.strip("| ") for cell in row] for row in rows] == [
        ["all", "1 of 2", "1 of 1"],
        ["side", "1 of 1", "1 of 1"],
        ["degree", "0 of 1", "0 of 0"],
    ]


def test_scorer_without_quality_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert details.main(scorers=["rouge-l"]) == 2
    assert "scorer with a quality" in capsys.readouterr().err
