"""`radreward regress`: figures, a scorer that scores as it was validated, judging that is not done twice."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

import radreward
from radreward.cli import main
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.tokenizer import load_tokenizer
from radreward.models import Backbone, LoRA
from radreward.synthesis import synthesize_files
from radreward.systems.sentence_eval.artifact import make_relation_artifact, save_relation_artifact
from radreward.systems.sentence_eval.judges import RelationJudge
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge") / "judge"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = RelationModel(Backbone("tiny-bert", LoRA(2)), 8, 8)
    save_relation_artifact(make_relation_artifact(RelationPredictor(model, load_tokenizer("tiny-bert"))), folder)
    return folder


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    return synthesize_files(folder, RadCliQSignificanceCriteria(), 45, 4, granularity="statement")


def test_leaves_a_scorer_and_judges_once(
    judge: Path, groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["regress", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]
    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "random forest" in shown
    assert "highest possible" in shown
    figures = json.loads((tmp_path / "out" / "figures.json").read_text())
    assert figures["pairs"] == 180
    assert len(figures["tau_b"]) == 7
    scorer = radreward.load(tmp_path / "out")
    scores = scorer.score(["Left effusion. No edema."] * 2, ["Left effusion.", "..."])
    assert scores.total[0].isfinite()
    assert scores.status == ("ok", "no sentence in the candidate")

    def never(*_: object) -> None:
        raise AssertionError("the pairs were judged already")

    monkeypatch.setattr(RelationJudge, "judge", never)
    before = (tmp_path / "out" / "figures.json").read_bytes()
    assert main([*command, "--regressor=decision-tree"]) == 0
    assert (tmp_path / "out" / "figures.json").read_bytes() == before
    config = json.loads((tmp_path / "out" / "model" / "sentences.json").read_text())
    assert config["training"]["regressor"] == "decision-tree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data=nowhere.jsonl"], "nowhere.jsonl: cannot be read"),
        (["--regressor=ridge"], "--regressor: Expected best or one of decision-tree"),
        (["--judge=nowhere"], "--judge: Expected embedded or the folder of a judge but got 'nowhere'"),
        (["--criteria=nothing"], "nothing"),
    ],
)
def test_what_cannot_be_used_is_told_in_a_line(
    options: list[str], message: str, groups: Path, judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["regress", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}", *options]) == 2
    told = capsys.readouterr().err.strip()
    assert message in told
    assert "\n" not in told


def test_too_little_to_fit_to_is_told_in_a_line(
    judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "few.jsonl"
    rows = [
        {
            "id": str(i),
            "reference": "Clear.",
            "candidate": "Edema.",
            "errors": dict.fromkeys(RadCliQSignificanceCriteria().tags, 0),
        }
        for i in range(8)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert main(["regress", f"--data={path}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]) == 2
    assert "few.jsonl: Expected 15 references at least, for 5 × 3 folds, but got 1." in capsys.readouterr().err
