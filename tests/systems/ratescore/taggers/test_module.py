import json
import logging
import re
from pathlib import Path

import pytest
import torch
from torch import Tensor

from experiments.ratescore.entity_generator import generate_annotated_sentences
from radreward.cli import build, main
from radreward.data.entity_io import TaggedSentence, write_tagged_sentences
from radreward.errors import InputError
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
from radreward.systems.ratescore.taggers.module import TaggerModule

ROOT = Path(__file__).resolve().parents[4]
CONFIG = """
run_dir: {folder}/run
criteria: radcliq
checkpoint_every: 2
model:
  class_path: radreward.systems.ratescore.taggers.module.TaggerModule
  init_args:
    scheme: {scheme}
    hidden_size: 16
    backbone: {{name: tiny-bert, lora: {{r: 2}}}}
    optimizer: {{lr: 1.0e-2}}
data:
  class_path: radreward.data.entity_datamodule.EntityDataModule
  init_args: {{sentences: {folder}/train.jsonl, val_split: 0.2, batch_size: 8}}
trainer: {{max_steps: 4, val_check_interval: 2, accelerator: cpu, enable_progress_bar: false}}
"""


@pytest.fixture
def config(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    write_tagged_sentences(tmp_path / "train.jsonl", generate_annotated_sentences(60, seed=1))
    path = tmp_path / "tagger.yaml"
    path.write_text(CONFIG.format(folder=tmp_path, scheme=getattr(request, "param", "iob")))
    return path


@pytest.mark.parametrize("config", ["iob", "span"], indirect=True)
def test_run_writes_tagger_and_metrics(config: Path) -> None:
    training = build(config)
    figures = training.fit()
    assert set(figures["total"]) == {"precision", "recall", "f1", "accuracy"}
    assert figures["total"]["accuracy"] is not None
    saved = json.loads((training.run_folder.metrics).read_text())
    assert saved["entities"] == figures
    assert saved["steps"] == 4
    module = training.module
    assert isinstance(module, TaggerModule)
    texts = ["No effusion.", "Clear lungs."]
    tagger = load_tagger(training.run_folder.model)
    assert tagger.tag(texts) == module.tagger.tag(texts)
    assert tagger.fingerprint() == module.tagger.fingerprint(), "what is measured is what is saved"


def test_stopped_and_resumed_run_equals_uninterrupted_run(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    uninterrupted = build(config).fit()
    step = TaggerModule.training_step

    def stopped(module: TaggerModule, batch: list[TaggedSentence], batch_index: int) -> Tensor:
        if module.global_step == 3:
            raise KeyboardInterrupt
        return step(module, batch, batch_index)

    with monkeypatch.context() as patch:
        patch.setattr(TaggerModule, "training_step", stopped)
        with pytest.raises(KeyboardInterrupt):
            build(config, "overwrite=true").fit()
    assert not (config.parent / "run" / "model").exists()
    assert build(config, "ckpt_path=last").fit() == uninterrupted


def test_loss_not_finite_stops_before_the_weights_change(config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def not_a_number(tagger: IOBTagger, *_: object) -> Tensor:
        return next(weight for weight in tagger.parameters() if weight.requires_grad).sum() * torch.nan

    monkeypatch.setattr(IOBTagger, "loss", not_a_number)
    with pytest.raises(FloatingPointError, match=r"^The loss is nan in step 0, sentences '.*\. Lower model\.optimizer"):
        build(config).fit()


@pytest.mark.parametrize("config", ["span"], indirect=True)
def test_too_long_entities_are_reported(config: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    name = "a mass of as many words as nobody needs"
    with (tmp_path / "train.jsonl").open("a") as file:
        for number in range(20):
            entity = {"start": 0, "end": len(name), "type": "Abnormality"}
            file.write(json.dumps({"text": f"{name} {number}.", "entities": [entity]}) + "\n")
    with caplog.at_level(logging.WARNING):
        build(config, "trainer.max_steps=1", "trainer.val_check_interval=1").fit()
    assert re.search(r"1\d of \d+ training entities have more than 8 words", caplog.text)


def test_other_data_are_rejected(config: Path, tmp_path: Path) -> None:
    text = config.read_text()
    changed = text[: text.index("data:")] + (
        f"data: {{records: {tmp_path}/groups.parquet, collator: {{class_path: RewardCollator}}}}\n"
        "trainer: {max_steps: 1, accelerator: cpu, enable_progress_bar: false}\n"
    )
    config.write_text(changed)
    with pytest.raises(InputError, match="data: Expected EntityDataModule for a tagger but got PairedReportDataModule"):
        build(config).fit()
    assert not (tmp_path / "run").exists()


def test_invalid_data_leave_no_run_folder(config: Path, tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_text('{"text": "x", "entities": [{"start": 0, "end": 9, "type": "Disease"}]}\n')
    with pytest.raises(InputError, match=r"train\.jsonl, line 1: field 'entities'"):
        build(config).fit()
    assert not (tmp_path / "run").exists()


def test_settings_of_the_embedded_tagger_train(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_tagged_sentences(tmp_path / "train.jsonl", generate_annotated_sentences(40, seed=1))
    small = {
        "run_dir": tmp_path / "run",
        "data.init_args.sentences": tmp_path / "train.jsonl",
        "data.init_args.val_split": 0.3,
        "model.init_args.backbone.init_args.name": "tiny-bert",
        "trainer.max_steps": 1,
        "trainer.val_check_interval": 1,
        "trainer.accelerator": "cpu",
        "trainer.precision": "32-true",
    }
    config = ROOT / "experiments" / "ratescore" / "tagger.yaml"
    assert main(["fit", "--config", str(config), *(f"--{name}={value}" for name, value in small.items())]) == 0
    printed = capsys.readouterr()
    assert "accuracy" in printed.out
    assert "Non-Disease" in printed.out
    assert "validation F1" in printed.err
