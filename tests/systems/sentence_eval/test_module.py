"""Training of the relation judge: metrics, saved model, resumed runs, other data."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from experiments.sentence_eval.relation_generator import generate_sentence_relations
from radreward.cli import build
from radreward.data.relation_io import SentenceRelations, write_relations
from radreward.errors import InputError
from radreward.systems.sentence_eval.judges import RelationJudge
from radreward.systems.sentence_eval.module import RelationModule, relation_metrics

ROOT = Path(__file__).resolve().parents[3]
CONFIG = """
run_dir: {folder}/run
criteria: radcliq
checkpoint_every: 2
model:
  class_path: radreward.systems.sentence_eval.module.RelationModule
  init_args:
    projection_size: 8
    comparison_size: 8
    backbone: {{name: tiny-bert, lora: {{r: 2}}}}
    optimizer: {{lr: 1.0e-2}}
data:
  class_path: radreward.data.relation_datamodule.RelationDataModule
  init_args: {{relations: {folder}/train.jsonl, val_split: 0.3, batch_size: 3}}
trainer: {{max_steps: 4, val_check_interval: 2, accelerator: cpu, enable_progress_bar: false}}
"""


@pytest.fixture
def config(tmp_path: Path) -> Path:
    write_relations(tmp_path / "train.jsonl", generate_sentence_relations(16, seed=1))
    path = tmp_path / "judge.yaml"
    path.write_text(CONFIG.format(folder=tmp_path))
    return path


def test_fit_saves_the_judge_and_its_metrics(config: Path) -> None:
    training = build(config)
    metrics = training.fit()
    assert list(metrics) == ["equal", "partial", "contradiction", "unrelated", "total"]
    assert metrics["total"]["kappa"] is not None
    assert json.loads(training.run_folder.metrics.read_text())["relations"] == metrics
    module = training.module
    assert isinstance(module, RelationModule)
    texts = ["No effusion.", "Small left effusion."]
    with torch.no_grad():
        saved = RelationJudge.from_pretrained(training.run_folder.model).artifact.predictor
        expected = module.predictor.logits(module.predictor.encode(texts), [(0, 1)])
        assert torch.allclose(saved.logits(saved.encode(texts), [(0, 1)]), expected, atol=1e-5)


def test_loss_not_finite_stops_before_the_weights_change(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair_logits = RelationModule._pair_logits

    def not_a_number(module: RelationModule, batch: list[SentenceRelations]) -> tuple[torch.Tensor, torch.Tensor]:
        logits, targets = pair_logits(module, batch)
        return logits * torch.nan, targets

    monkeypatch.setattr(RelationModule, "_pair_logits", not_a_number)
    with pytest.raises(FloatingPointError, match=r"^The loss is nan in step 0, sentences '.*\. Lower model\.optimizer"):
        build(config).fit()


def test_fit_resumed_run_equals_uninterrupted_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninterrupted = build(config, f"--run-dir={config.parent / 'uninterrupted'}")
    uninterrupted.fit()
    training_step = RelationModule.training_step

    def interrupted_step(self: RelationModule, batch: list[SentenceRelations], batch_idx: int) -> object:
        if self.global_step == 3:
            raise KeyboardInterrupt
        return training_step(self, batch, batch_idx)

    monkeypatch.setattr(RelationModule, "training_step", interrupted_step)
    with pytest.raises(KeyboardInterrupt):
        build(config).fit()
    monkeypatch.setattr(RelationModule, "training_step", training_step)
    resumed = build(config, "--ckpt-path=last")
    resumed.fit()
    states = [
        RelationJudge.from_pretrained(training.run_folder.model).artifact.state for training in (uninterrupted, resumed)
    ]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


def test_exporter_accepts_the_shipped_config_and_rejects_other_data(config: Path, tmp_path: Path) -> None:
    shipped = build(
        ROOT / "experiments" / "sentence_eval" / "judge.yaml",
        "--model.backbone.name=tiny-bert",
        f"--data.relations={tmp_path / 'train.jsonl'}",
        f"--run-dir={tmp_path / 'run'}",
    )
    shipped.module.exporter.check(shipped.module, shipped.data)
    reward = build(ROOT / "experiments" / "er2score" / "embedded.yaml", "--model.backbone.name=tiny-bert")
    with pytest.raises(InputError, match="Expected RelationDataModule for relations"):
        shipped.module.exporter.check(shipped.module, reward.data)


def test_relation_metrics_follow_the_confusion_matrix() -> None:
    confusion = torch.tensor([[3, 1, 0, 0], [0, 4, 0, 0], [0, 0, 2, 2], [0, 0, 0, 0]])
    metrics = relation_metrics(confusion)
    assert metrics["contradiction"] == {"precision": 1.0, "recall": 0.75, "kappa": None, "accuracy": None}
    assert metrics["equal"]["recall"] is None
    assert metrics["total"]["accuracy"] == 0.75
    assert metrics["total"]["kappa"] == pytest.approx((0.75 - 40 / 144) / (1 - 40 / 144), abs=1e-6)
