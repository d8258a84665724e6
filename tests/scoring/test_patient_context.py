"""Age and indication move qualities and the total of `crimson`, no other total, and are never required."""

import json
import logging
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from radreward.scorers import load
from radreward.scoring import score_file, score_frame
from radreward.text.patient_context import PatientContext

REFERENCE, CANDIDATE = "Mild pulmonary edema. Aortic calcification.", "Mild pulmonary edema."
SCORERS = ("chexpert-f1", "entity-f1", "er2score", "ratescore", "sentence-eval")


@pytest.mark.parametrize("name", SCORERS)
def test_context_moves_the_quality_and_not_the_total(name: str) -> None:
    scorer = load(name)
    assert scorer.uses_context
    pairs = [REFERENCE] * 4, ["Small left pleural effusion."] * 4
    contexts = [None, PatientContext(), PatientContext(50), PatientContext(70, "History of heart failure.")]
    plain, moved = scorer.score(*pairs), scorer.score(*pairs, contexts)
    assert moved.total.tolist() == plain.total.tolist()
    assert plain.quality is not None
    assert moved.quality is not None
    assert moved.quality[:2].tolist() == plain.quality[:2].tolist()
    # Heart failure explains edema and effusion, which then weigh less against the constant prior.
    assert moved.quality[3] > plain.quality[3]


def test_age_makes_expected_changes_benign() -> None:
    scorer = load("entity-f1")
    contexts = [PatientContext(70), PatientContext(50), PatientContext(70, "Aortic calcification?")]
    quality = scorer.score([REFERENCE] * 3, [CANDIDATE] * 3, contexts).quality
    assert quality is not None
    assert quality.tolist() == pytest.approx([1.0, 0.75, 0.75], abs=0.005)


def test_number_of_contexts_must_fit() -> None:
    with pytest.raises(ValueError, match="Expected as many contexts as references \\(1\\) but got 2"):
        load("entity-f1").score([REFERENCE], [CANDIDATE], [None, None])


def test_file_and_frame_use_age_and_indication(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    contexts: list[dict[str, Any]] = [
        {"age": 50},
        {"age": "070Y"},
        {"age": "old", "indication": "Cough."},
        {"indication": 3},
    ]
    rows = [{"reference": REFERENCE, "candidate": CANDIDATE, **context} for context in contexts]
    source, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with caplog.at_level(logging.WARNING):
        score_file(load("entity-f1"), source, output, chunk_size=2, progress=False)
        frame = score_frame(pd.DataFrame(rows), "entity-f1", progress=False)
    written = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["quality"] for row in written] == pytest.approx([0.75, 1.0, 0.75, 0.75], abs=0.005)
    assert frame["quality"].tolist() == pytest.approx([row["quality"] for row in written])
    assert [row["age"] for row in written] == ["50", "070Y", "old", None]
    ignored = "Ignored a missing or unreadable age in 2 rows and indication in 3 rows."
    assert [record.getMessage() for record in caplog.records] == [f"{source}: {ignored}", f"frame: {ignored}"]


def test_scorer_without_context_ignores_the_columns_silently(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"reference": REFERENCE, "candidate": CANDIDATE, "age": "old"}) + "\n")
    with caplog.at_level(logging.WARNING):
        score_file(load("rouge-l"), source, tmp_path / "out.jsonl", progress=False)
    assert not caplog.records
