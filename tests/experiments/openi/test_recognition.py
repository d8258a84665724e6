"""Coded findings that are read, and those that a comparison of two reports accuses or finds."""

from pathlib import Path

import pytest

from experiments.openi.recognition import compared_findings, main, reading_counts
from experiments.openi.studies import Study
from radreward.models.finding_classifier import embedded_classifier
from radreward.models.pair_findings import read_pairs

EFFUSION = Study("1", "Small left pleural effusion. Scoliosis.", (("pleural effusion", "left"), ("scoliosis",)))
PNEUMONIA = Study("2", "Pneumonia at the left base. Scoliosis.", (("pneumonia",), ("scoliosis",), ("cicatrix",)))


def test_codes_of_one_report_and_of_both_are_separate() -> None:
    [findings] = read_pairs([EFFUSION.text], [PNEUMONIA.text], embedded_classifier())
    assert sorted(compared_findings(EFFUSION, PNEUMONIA, findings)) == [
        ("of both", "matched"),
        ("of both", "matched"),
        ("of the candidate only", "open"),
        ("of the candidate only", "unread"),
        ("of the reference only", "open"),
    ]


def test_similar_codes_are_neither_equal_nor_different() -> None:
    opacity = Study("3", "Opacity at the left base.", (("opacity",),))
    [findings] = read_pairs([opacity.text], [PNEUMONIA.text], embedded_classifier())
    kinds = [kind for kind, _ in compared_findings(opacity, PNEUMONIA, findings)]
    assert kinds == ["of the candidate only"]  # scoliosis, but not pneumonia and scar, which an opacity can mean


def test_reports_without_codes_count_only_there() -> None:
    normal, wrong = Study("4", "Clear lungs."), Study("5", "Large right pneumothorax.")
    assert reading_counts([PNEUMONIA, normal, wrong]) == [3, 2, 2, 2, 1]


def test_tables_are_printed_and_a_damaged_file_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    codes = ("Pleural Effusion/left", "Pneumonia", "normal")
    texts = ("Left pleural effusion, film {}.", "Left lower lobe pneumonia, film {}.", "Clear lungs on film {}.")
    rows = [f'{n},{codes[n % 3]},"{texts[n % 3].format(n)}",\n' for n in range(150)]
    (tmp_path / "reports.csv").write_text("uid,MeSH,findings,impression\n" + "".join(rows))
    assert main(csv=tmp_path / "reports.csv", groups=8) == 0
    development, held_out, both, *_ = [
        line.strip("| ").split(" | ")
        for line in capsys.readouterr().out.splitlines()
        if line.startswith(("| dev", "| held", "| of"))
    ]
    assert development[1:4] == [development[1]] * 3
    assert int(development[1]) + int(held_out[1]) == 100
    assert both[3:] == ["1.000", "0.000"]
    assert main(csv=tmp_path / "missing.csv") == 2
    assert "missing.csv" in capsys.readouterr().err
