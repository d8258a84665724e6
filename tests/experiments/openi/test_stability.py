"""Changed candidates of coded pairs, and the table of their qualities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import pytest
import torch

from experiments.openi.stability import Case, main, real_cases, stability_rows
from experiments.openi.studies import Study
from radreward.scorers.stateless import StatelessScorer
from radreward.text.findings import FINDINGS, can_mean_same
from radreward.text.report_parser import parse_report
from radreward.types import Scores

STUDIES = [
    Study("1", "Small left effusion. The heart is normal.", (("pleural effusion", "left", "small"),)),
    Study("2", "Large cloud at the left base. No edema.", (("pleural effusion", "left", "large"),)),
    Study("3", "Clear lungs. Normal heart."),
    Study("4", "Rib fracture. Scar.", (("fractures, bone", "ribs"),)),
    Study("5", "Cardiomegaly. Edema.", (("cardiomegaly", "mild"), ("pulmonary edema",))),
]


def test_false_findings_are_in_neither_text_nor_codes() -> None:
    cases = list(real_cases(STUDIES, 30, 0))
    assert len(cases) == 30
    for case in cases:
        added = case.with_false_finding.removeprefix(f"{case.candidate} ")
        (false,) = {fact.finding for sentence in parse_report(added).sentences for fact in sentence.facts}
        studies = [study for study in STUDIES if study.text in (case.reference, case.candidate)]
        assert len(studies) == 2
        assert not any(can_mean_same(false, name) for study in studies for name in study.codes if name in FINDINGS)
        assert sorted(case.shuffled.split()) == sorted(case.candidate.split())


class _LengthScorer(StatelessScorer):
    """Quality by the number of words: it rises with every sentence, and no order matters."""

    has_quality = True

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        words = torch.tensor([float(len(text.split())) for text in candidates])
        return Scores(words, None, None, ("ok",) * len(words), quality=words / 1000)


def test_changes_of_the_quality_are_counted() -> None:
    cases = [Case("Mass.", "Edema.", f"Edema. {'word ' * length}", "Edema.") for length in (5, 8, 20)]
    rises, moves = stability_rows(_LengthScorer(), "length", cases)
    assert rises[2:] == ["3", "1", "0.020"]
    assert moves[2:] == ["3", "0", "0.000"]


def test_a_scorer_without_quality_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    csv = tmp_path / "reports.csv"
    frame = pd.DataFrame(
        {
            "uid": study.id,
            "MeSH": ";".join("/".join(path) for path in study.code_paths),
            "findings": study.text,
            "impression": "",
        }
        for study in STUDIES
    )
    frame.to_csv(csv, index=False)
    assert main(csv=csv, scorers=["rouge-l"], pairs=3) == 2
    assert "--scorers: Expected scorers with a quality but rouge-l has none." in capsys.readouterr().err
