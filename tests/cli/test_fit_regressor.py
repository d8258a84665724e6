"""`radreward fit-regressor`: metrics, the saved scorer, and judging that is not repeated."""

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


def test_fit_regressor_saves_a_scorer_and_judges_once(
    judge: Path, groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["fit-regressor", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]
    assert main(command) == 0
    output = capsys.readouterr().out
    assert "random forest" in output
    assert "highest possible" in output
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["pairs"] == 180
    assert len(metrics["tau_b"]) == 7
    scorer = radreward.load(tmp_path / "out")
    scores = scorer.score(["Left effusion. No edema."] * 2, ["Left effusion.", "..."])
    assert scores.total[0].isfinite()
    assert scores.status == ("ok", "no sentence in the candidate")

    def never(*_: object) -> None:
        raise AssertionError("the pairs were judged before")

    monkeypatch.setattr(RelationJudge, "judge", never)
    before = (tmp_path / "out" / "metrics.json").read_bytes()
    assert main([*command, "--regressor=decision-tree"]) == 0
    assert (tmp_path / "out" / "metrics.json").read_bytes() == before
    config = json.loads((tmp_path / "out" / "model" / "sentences.json").read_text())
    assert config["training_info"]["regressor"] == "decision-tree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data=nowhere.jsonl"], "nowhere.jsonl: Expected groups or pairs but there is no such file"),
        (["--regressor=ridge"], "--regressor: Expected best or one of decision-tree"),
        (["--judge=nowhere"], "--judge: Expected embedded or the folder of a judge but got 'nowhere'"),
        (["--criteria=nothing"], "nothing"),
    ],
)
def test_wrong_option_prints_one_line(
    options: list[str], message: str, groups: Path, judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["fit-regressor", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}", *options]) == 2
    )
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_too_few_references_print_one_line(judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
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
    assert main(["fit-regressor", f"--data={path}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]) == 2
    assert "few.jsonl: Expected at least 15 references, for 5 × 3 folds, but got 1." in capsys.readouterr().err
