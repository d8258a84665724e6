"""Tests of the probes: their files, and the table of changed details."""

import pytest

from experiments.probes import details, order
from radreward.meta_evaluation.preferences import read_preferences


@pytest.mark.parametrize("name", order.PROBES)
def test_each_file_has_distinct_probes_of_both_kinds(name: str) -> None:
    probes = read_preferences(order.FOLDER / f"{name}.jsonl")
    assert len(probes) >= 40
    assert len({(entry.reference, entry.candidate_a, entry.candidate_b) for entry in probes}) == len(probes)


@pytest.mark.parametrize("suffix", details.SETS.values())
def test_each_kind_of_detail_has_distinct_pairs(suffix: str) -> None:
    changed, same = details.read_pairs(f"details{suffix}", "detail"), details.read_pairs(f"same{suffix}", "topic")
    kinds = [pair.kind for pair in changed]
    assert len(set(kinds)) == 30
    assert min(map(kinds.count, kinds)) >= 8
    assert len(set(changed)) == len(changed)
    assert len(set(same)) == len(same) >= 290
    assert all(pair.reference != pair.candidate for pair in (*changed, *same))


def test_table_counts_the_pairs_that_hold(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    changed = [
        details.StatementPair("side", "Left effusion.", "Right effusion."),
        details.StatementPair("degree", "Small effusion.", "A small effusion is seen."),
    ]
    same = [details.StatementPair("effusion", "Left effusion.", "An effusion is seen on the left.")]
    monkeypatch.setattr(details, "read_pairs", lambda file, _: changed if file.startswith("details") else same)
    assert details.main(scorers=["entity-f1"]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if " of " in line]
    assert [[cell.strip("| ") for cell in row] for row in rows] == [
        ["changed details that are seen", "1 of 2", "1 of 2"],
        ["the same in other words, equal", "1 of 1", "1 of 1"],
        ["side", "1 of 1", "1 of 1"],
        ["degree", "0 of 1", "0 of 1"],
    ]


def test_scorer_without_quality_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert details.main(scorers=["rouge-l"]) == 2
    assert "scorer with a quality" in capsys.readouterr().err
