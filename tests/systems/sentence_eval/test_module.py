"""A judge of relations is trained: figures, what is saved, a run that is continued, other data refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from radreward.cli import build
from radreward.data.relation_io import SentenceRelations, write_relations
from radreward.errors import InputError
from radreward.synthesis.relation_generator import generate_sentence_relations
from radreward.systems.sentence_eval.judges import RelationJudge
from radreward.systems.sentence_eval.module import RelationModule, relation_metrics

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
run: {folder}/run
criteria: RadCliQ
checkpoint_every: 2
model:
  class_path: radreward.systems.sentence_eval.module.RelationModule
  init_args:
    width: 8
    compared: 8
    backbone: {{name: tiny-bert, lora: {{r: 2}}}}
    optimizer: {{lr: 1.0e-2}}
data:
  class_path: radreward.data.relation_datamodule.RelationDataModule
  init_args: {{relations: {folder}/train.jsonl, validation: 0.3, records_per_batch: 3}}
trainer: {{max_steps: 4, val_check_interval: 2, accelerator: cpu, enable_progress_bar: false}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_relations(tmp_path / "train.jsonl", generate_sentence_relations(16, seed=1))
    path = tmp_path / "judge.yaml"
    path.write_text(CONFIG.format(folder=tmp_path))
    return path


def test_a_run_leaves_a_judge_and_figures(config: Path) -> None:
    training = build(config)
    figures = training.fit()
    assert list(figures) == ["same", "partly", "contrary", "unrelated", "total"]
    assert figures["total"]["kappa"] is not None
    assert json.loads(training.run.metrics.read_text())["relations"] == figures
    module = training.module
    assert isinstance(module, RelationModule)
    texts = ["No effusion.", "Small left effusion."]
    with torch.no_grad():
        saved = RelationJudge.from_pretrained(training.run.model).artifact.predictor
        ours = module.predictor.logits(module.predictor.encode(texts), [(0, 1)])
        assert torch.allclose(saved.logits(saved.encode(texts), [(0, 1)]), ours, atol=1e-5)


def test_a_run_that_was_stopped_and_continued_is_the_same_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = build(config, f"--run={config.parent / 'whole'}")
    whole.fit()
    step = RelationModule.training_step

    def stop(self: RelationModule, batch: list[SentenceRelations], index: int) -> object:
        if self.global_step == 3:
            raise KeyboardInterrupt
        return step(self, batch, index)

    monkeypatch.setattr(RelationModule, "training_step", stop)
    with pytest.raises(KeyboardInterrupt):
        build(config).fit()
    monkeypatch.setattr(RelationModule, "training_step", step)
    continued = build(config, "--ckpt_path=last")
    continued.fit()
    states = [RelationJudge.from_pretrained(run.run.model).artifact.state for run in (whole, continued)]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_other_data_and_the_shipped_settings(config: Path, tmp_path: Path) -> None:
    settings = ROOT / "experiments" / "sentences" / "judge.yaml"
    small = (
        "--model.backbone.name=tiny-bert",
        f"--data.relations={tmp_path / 'train.jsonl'}",
        f"--run={tmp_path / 'r'}",
    )
    built = build(settings, *small)
    built.module.validate_setup(built.data)
    reward = build(ROOT / "experiments" / "er2score" / "embedded.yaml", "--model.backbone.name=tiny-bert")
    with pytest.raises(InputError, match="Expected RelationDataModule for relations"):
        built.module.validate_setup(reward.data)


def test_figures_are_those_of_the_table() -> None:
    counts = torch.tensor([[3, 1, 0, 0], [0, 4, 0, 0], [0, 0, 2, 2], [0, 0, 0, 0]])
    figures = relation_metrics(counts)
    assert figures["contrary"] == {"precision": 1.0, "recall": 0.75, "kappa": None, "accuracy": None}
    assert figures["same"]["recall"] is None
    assert figures["total"]["accuracy"] == 0.75
    assert figures["total"]["kappa"] == pytest.approx((0.75 - 40 / 144) / (1 - 40 / 144), abs=1e-6)
