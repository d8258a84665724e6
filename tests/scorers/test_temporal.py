"""Temporal F1: the formula on made-up changes, statuses, and independence of everything but changes."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import radreward
from radreward.scorers.temporal import STATUS_NO_CHANGE, TemporalF1

CHANGES = {
    "Worsening pulmonary edema.": ("edema", "worse"),
    "Improving pulmonary edema.": ("edema", "better"),
    "New left pleural effusion.": ("effusion", "new"),
    "Unchanged left pleural effusion.": ("effusion", "stable"),
    "Stable cardiomegaly.": ("cardiomegaly", "stable"),
}
reports = st.lists(st.sampled_from([*CHANGES, "No pneumothorax."]), min_size=1, max_size=4, unique=True)


@given(reports, reports)
def test_score_is_the_f1_of_stated_changes(first: list[str], second: list[str]) -> None:
    a, b = ({CHANGES[sentence] for sentence in report if sentence in CHANGES} for report in (first, second))
    scores = TemporalF1().score([" ".join(first)], [" ".join(second)])
    if not a and not b:
        assert math.isnan(scores.total[0])
        assert scores.status == (STATUS_NO_CHANGE,)
    else:
        assert scores.total[0] == pytest.approx(2 * len(a & b) / (len(a) + len(b)))


def test_evidence_names_missing_and_extra_changes(tmp_path: Path) -> None:
    scorer = radreward.load("temporal-f1")
    scores = scorer.score(["Worsening pulmonary edema."], ["Improving pulmonary edema."])
    assert scores.evidence is not None
    [evidence] = scores.evidence
    assert [change for _, change in evidence["missing"]] == ["worse"]
    assert [change for _, change in evidence["extra"]] == ["better"]
    scorer.save_pretrained(tmp_path / "saved")
    assert radreward.load(tmp_path / "saved").fingerprint() == scorer.fingerprint()
