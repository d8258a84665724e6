"""LanguageModelModule: loss, saved model as the start of SFT, and the study of GREEN's backbones."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.nn import functional as F

from radreward.cli import build, main
from radreward.criteria import RadCliQCriteria
from radreward.data.collators.language_model import LanguageModelCollator
from radreward.data.records import write_groups
from radreward.models.log_probs import next_token_loss
from radreward.modules import LanguageModelModule
from radreward.synthesis import synthesize
from radreward.systems.radreason import RadReasonTemplate
from radreward.tuning import load_study_config
from radreward.types import ReportGroup

ROOT = Path(__file__).resolve().parents[2]
TEMPLATE = "radreward.systems.radreason.RadReasonTemplate"


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reports") / "groups.parquet"
    write_groups(path, synthesize(RadCliQCriteria(), 10, 2, seed=1, granularity="plain"))
    return path


def settings(folder: Path, records: Path, module: str, collator: str) -> list[str]:
    return [
        f"run_dir={folder}",
        "criteria=radcliq",
        "seed_everything=0",
        f"model={module}",
        "model.backbone.name=tiny-generator",
        "model.backbone.lora=null",
        "model.optimizer.lr=1e-3",
        f"data.records={records}",
        "data.val_split=0.4",
        "data.batch_size=4",
        f"data.collator={collator}",
        f"data.collator.template={TEMPLATE}",
        "data.collator.template.include_instruction=false",
        "data.collator.max_length=256",
        "data.collator.max_answer_length=128",
        "trainer.max_steps=4",
        "trainer.val_check_interval=4",
        "trainer.accelerator=cpu",
        "trainer.enable_progress_bar=false",
        "trainer.logger=false",
    ]


def test_loss_equals_that_of_plain_sequences() -> None:
    collator = LanguageModelCollator(RadCliQCriteria(), RadReasonTemplate(False), max_length=6)
    groups = [ReportGroup("1", "No edema.", ()), ReportGroup("2", "Small left pleural effusion. No edema. Clear.", ())]
    batch = collator.collate(groups)
    model: Any = LanguageModelModule().model
    encoder = collator.prompt_encoder
    losses = []
    for group in groups:
        text = [encoder.tokenizer.bos_token_id, *encoder.encode_answer(group.reference)]
        assert collator.length(group) in (len(text), len(text) - 1), "a last part of one token has no loss"
        for part in (text[start : start + 6] for start in range(0, len(text), 6)):
            tokens = torch.tensor(part)
            if len(part) > 1:
                losses.append(F.cross_entropy(model(tokens[None]).logits[0, :-1], tokens[1:], reduction="none"))
    assert len(losses) > 2
    expected = torch.cat(losses).mean()
    torch.testing.assert_close(next_token_loss(model, batch.packed, batch.targets), expected, rtol=1e-4, atol=1e-5)


def test_fit_learns_reports_and_sft_starts_from_it(tmp_path: Path, records: Path) -> None:
    path = "radreward.data.collators.language_model.LanguageModelCollator"
    training = build(None, *settings(tmp_path / "text", records, "LanguageModelModule", path), "trainer.max_steps=20")
    before = training.module.model.lm_head.weight.clone()
    metrics = training.fit()["total"]
    assert metrics["perplexity"] == pytest.approx(torch.tensor(metrics["loss"]).exp().item())
    saved = json.loads((tmp_path / "text" / "metrics.json").read_text(encoding="utf-8"))["language_model"]
    assert saved["loss"] < torch.tensor(float(training.module.model.config.vocab_size)).log(), "better than chance"
    assert not torch.equal(before, training.module.model.lm_head.weight)
    sft = settings(tmp_path / "sft", records, "SFTModule", "radreward.data.collators.sft.SFTCollator")
    started = build(None, *sft, f"init_from={tmp_path / 'text'}")
    assert started.init_from is not None
    started.module.load_initial_weights(started.init_from)
    torch.testing.assert_close(started.module.model.lm_head.weight, training.module.model.lm_head.weight)


def test_other_collator_raises(tmp_path: Path, records: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = settings(tmp_path, records, "LanguageModelModule", "radreward.data.collators.sft.SFTCollator")
    assert main(["fit", *(f"--{entry}" for entry in given)]) == 2
    assert "Expected LanguageModelCollator for a language model but got SFTCollator" in capsys.readouterr().err


def test_reports_in_a_text_column_are_pretrained_on(
    tmp_path: Path, records: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    texts = tmp_path / "texts.jsonl"
    texts.write_text("\n".join(json.dumps({"text": f"No edema. Small effusion {number}."}) for number in range(12)))
    path = "radreward.data.collators.language_model.LanguageModelCollator"
    training = build(None, *settings(tmp_path / "run", texts, "LanguageModelModule", path))
    training.fit()
    assert training.trainer.global_step == 4
    saved = json.loads((tmp_path / "run" / "metrics.json").read_text(encoding="utf-8"))["language_model"]
    assert saved["perplexity"] > 1
    sft = settings(tmp_path / "sft", texts, "SFTModule", "radreward.data.collators.sft.SFTCollator")
    assert main(["fit", *(f"--{entry}" for entry in sft)]) == 2
    assert "texts.jsonl, row 1: field 'id': Expected a column of this name" in capsys.readouterr().err


def test_backbones_of_green_build_with_tiny_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    study = load_study_config(Path("experiments/green/backbones.yaml"))
    tiny = ("model.backbone.name=tiny-llama", "model.backbone.dtype=float32", "model.backbone.lora={r: 2}")
    small = (*tiny, "trainer.accelerator=cpu", "trainer.precision=32-true")
    names = set()
    for labels in study.space.conditional_branches():
        overrides = [entry for entry in study.overrides_for(labels) if not entry.startswith("init_from")]
        names |= {entry for entry in overrides if entry.startswith("model.backbone.name")}
        assert build(study.base, *overrides, *small).module.monitor == study.metric
    assert len(names) == 2
