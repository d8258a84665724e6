"""A model card states what the folder of the model records, and nothing else."""

from pathlib import Path

import pytest

from radreward import load
from radreward.io.model_card import MODEL_CARD, write_model_settings


def card(folder: Path, config: dict[str, object]) -> str:
    write_model_settings(folder / "config.json", config)
    return (folder / MODEL_CARD).read_text(encoding="utf-8")


def test_card_lists_settings_criteria_and_training(tmp_path: Path) -> None:
    criterion = {"name": "omission", "description": "A finding is missing.", "kind": "count", "weight": 0.5}
    text = card(
        tmp_path,
        {
            "format": 1,
            "backbone": {"name": "embedded"},
            "criteria": {"name": "own", "criteria": [criterion]},
            "training_info": {"steps": 10, "data": {"groups.jsonl": "1234"}},
        },
    )
    titles = ("Settings", "Criteria", "Data and training")
    settings, criteria, training = (text.partition(f"## {title}\n\n")[2] for title in titles)
    assert settings.startswith("- backbone name: embedded\n\n")
    assert criteria.startswith("- omission (count, weight 0.5): A finding is missing.\n\n")
    assert training.startswith("- steps: 10\n- data groups.jsonl: 1234\n\n")
    assert "For research only" in text


def test_card_without_records_invents_none(tmp_path: Path) -> None:
    assert card(tmp_path, {"format": 1}).count("None recorded.") == 3


def test_card_escapes_and_shortens_values(tmp_path: Path) -> None:
    text = card(tmp_path, {"template": "<script>" + "word " * 100})
    assert "\\<script\\>word" in text
    assert max(map(len, text.splitlines())) < 300


@pytest.mark.parametrize("name", ["er2score", "ratescore", "sentence-eval", "rouge-l"])
def test_saved_scorers_have_a_card(name: str, tmp_path: Path) -> None:
    load(name).save_pretrained(tmp_path / "model")
    assert "**For research only.**" in (tmp_path / "model" / MODEL_CARD).read_text(encoding="utf-8")
