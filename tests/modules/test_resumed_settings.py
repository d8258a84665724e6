"""Settings of a resumed run are compared with those in its folder."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from radreward.errors import InputError
from radreward.modules import RunFolder
from radreward.modules.resumed_settings import changed_settings, check_resumable


def loss(name: str, **settings: Any) -> dict[str, Any]:
    return {"class_path": f"losses.{name}", "init_args": settings}


STORED: dict[str, Any] = {
    "seed_everything": 0,
    "criteria": "radcliq",
    "run_dir": "a",
    "early_stop": None,
    "model": {"class_path": "m.M", "init_args": {"objective": loss("A", c=1), "rank": 4, "old": 1}},
    "data": {"class_path": "d.D", "init_args": {"num_workers": 0, "parts": [loss("A", c=1), loss("B")]}},
    "trainer": {"max_steps": 4, "precision": None, "callbacks": None},
}


def changes(tmp_path: Path, **settings: Any) -> list[str]:
    run = RunFolder(tmp_path)
    run.config.write_text(yaml.safe_dump(STORED))
    return list(map(str, changed_settings(run, {**STORED, **settings})))


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, []),
        ({"run_dir": "b", "early_stop": 3}, []),
        ({"trainer": {"max_steps": 9, "precision": None, "callbacks": [loss("C")]}}, []),
        ({"trainer": {"max_steps": 4, "precision": "bf16-true"}}, ["trainer.precision null → bf16-true"]),
        (
            {"model": {"class_path": "m.M", "init_args": {"objective": loss("C", c=2), "rank": 8, "new": 1}}},
            ["model.objective losses.A → losses.C", "model.rank 4 → 8"],
        ),
        ({"model": {"class_path": "m.N", "init_args": {"rank": 8}}}, ["model m.M → m.N"]),
        (
            {"data": {"class_path": "d.D", "init_args": {"num_workers": 2, "parts": [loss("A", c=3), loss("C")]}}},
            ["data.parts.0.c 1 → 3", "data.parts.1 losses.B → losses.C"],
        ),
        (
            {"data": {"class_path": "d.D", "init_args": {"parts": [loss("A", c=1)]}}},
            ["data.parts [losses.A, losses.B] → [losses.A]"],
        ),
        ({"seed_everything": 1, "criteria": "own.yaml"}, ["seed_everything 0 → 1", "criteria radcliq → own.yaml"]),
    ],
)
def test_changed_settings_are_those_that_change_the_results(
    settings: dict[str, Any], expected: list[str], tmp_path: Path
) -> None:
    assert changes(tmp_path, **settings) == expected


def test_check_resumable_rejects_another_module_objective_or_criteria_only(tmp_path: Path) -> None:
    run = RunFolder(tmp_path)
    run.config.write_text(yaml.safe_dump(STORED))
    model = {"class_path": "m.M", "init_args": {"objective": loss("A", c=2), "rank": 8}}
    found = changed_settings(run, {**STORED, "seed_everything": 1, "criteria": None, "model": model})
    with pytest.raises(
        InputError, match=r"^last\.ckpt: .*: criteria radcliq → null, model\.objective\.c 1 → 2\. Start"
    ):
        check_resumable(Path("last.ckpt"), found)
    check_resumable(Path("last.ckpt"), [change for change in found if change.is_allowed])
    assert [change.name for change in found if change.is_allowed] == ["seed_everything", "model.rank"]


def test_run_without_stored_settings_has_no_changes(tmp_path: Path) -> None:
    assert changed_settings(RunFolder(tmp_path), STORED) == []
