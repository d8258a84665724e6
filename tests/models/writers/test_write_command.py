"""`radreward write` from end to end, against a real server on the loopback."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQ
from radreward.data.records import read_groups


def _honest() -> ModuleType:
    spec = importlib.util.spec_from_file_location("honest", Path(__file__).with_name("honest.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


writer = _honest()


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    path = tmp_path / "reports.csv"
    path.write_text(f'id,report\na,"{writer.REFERENCE}"\nb,"{writer.REFERENCE} The lungs are clear."\n')
    return path


def rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_tiers_are_groups_that_fit_takes(
    talk: Callable[..., Any], reports: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server = talk(writer.honest)
    out = tmp_path / "written"
    command = ["write", "--task=tiers", f"--reports={reports}", "--criteria=radcliq", f"--output={out}"]
    assert main([*command, "--dry-run"]) == 0
    assert "6 requests" in capsys.readouterr().out
    assert server.asked == []
    assert not out.exists()
    assert main(command) == 0
    assert len(server.asked) == 6
    groups = list(read_groups(out / "written.jsonl", RadCliQ()))
    assert [group.id for group in groups] == ["a", "b"]
    assert [[c.errors["omission"] for c in group.candidates if c.errors] for group in groups] == [[1, 3, 5], [1, 3, 5]]
    assert rows(out / "rejects.jsonl") == []
    card = json.loads((out / "card.json").read_text())
    assert card["acceptance"] == 1.0
    assert card["label"].startswith("SYNTHETIC: written by a language model")
