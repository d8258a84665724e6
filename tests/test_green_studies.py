"""GREEN's study of other imaging modalities: both variants start from the chest model and take a step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from radreward.cli import build
from radreward.criteria import load_criteria
from radreward.data.collators.sft import SFTCollator
from radreward.data.records import write_groups
from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator
from radreward.modules import SFTModule
from radreward.modules.base import require_collator
from radreward.synthesis import synthesize
from radreward.tuning import load_study_config

ROOT = Path(__file__).resolve().parents[1]
STUDY = Path("experiments/green/modalities.yaml")
CRITERIA = "radcliq-significance"
TINY = (
    *("model.backbone.name=tiny-generator", "model.backbone.dtype=float32", "model.backbone.lora={r: 2}"),
    *(
        "model.max_decoded=1",
        "data.batch_size=2",
        "data.collator.max_length=1548",
        "data.collator.max_answer_length=180",
    ),
    *("trainer.precision=32-true", "trainer.accelerator=cpu", "trainer.accumulate_grad_batches=1"),
    *("trainer.enable_progress_bar=false", "trainer.logger=false"),
)


def write_analyses(path: Path, seed: int) -> None:
    """Write pairs with analyses, as `synthesize --llm-task analysis` does."""
    rows = [
        {
            **{"id": f"{group.id}/{number}", "group": group.id, "errors": candidate.errors},
            **{"reference": group.reference, "candidate": candidate.text},
            **{"stated": [], "explanation": "Explained by a language model.", "matched_findings": []},
        }
        for group in synthesize(load_criteria(CRITERIA), 1, 2, seed=seed, granularity="plain", max_findings=1)
        for number, candidate in enumerate(group.candidates)
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.usefixtures("one_layer_generator")
def test_modalities_are_scored_by_the_chest_model_as_it_is_and_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    study = load_study_config(STUDY)
    study_files = [entry for entry in study.overrides_for({"training": "trained"}) if "runs/" in entry]
    monkeypatch.chdir(tmp_path)
    groups = Path("runs/green-data/groups.parquet")
    groups.parent.mkdir(parents=True)
    write_groups(groups, synthesize(load_criteria(CRITERIA), 3, 2, seed=1, granularity="plain", max_findings=1))
    for seed, name in enumerate(("train", "validation"), 2):
        write_analyses(Path(f"runs/other-modalities/{name}.jsonl"), seed)
    base = ROOT / study.base
    chest = build(base, *TINY)
    assert isinstance(chest.module, SFTModule)
    encoder = require_collator(chest.data, SFTCollator, "SFT").prompt_encoder
    evaluator = GenerativeEvaluator(chest.module.backbone, chest.module.model, encoder)
    evaluator.save(Path("runs/green-llama2-7b/model"), as_float16=True)
    assert any("init_from=runs/green-llama2-7b" in entry for entry in study_files)
    start = load_generative_evaluator(Path("runs/green-llama2-7b/model")).model.state_dict()
    changed = {}
    for labels in study.space.conditional_branches():
        name = str(labels["training"])
        run = build(base, *study.overrides_for(labels), *TINY, f"run_dir=runs/{name}", "trainer.max_epochs=1")
        assert isinstance(run.module, SFTModule)
        assert run.module.monitor == study.metric
        run.fit()
        assert run.trainer.global_step >= 1
        answers = json.loads(Path(f"runs/{name}/metrics.json").read_text(encoding="utf-8"))["answers"]
        assert answers["candidates"] == 2, "the other modalities alone are the validation"
        trained = load_generative_evaluator(Path(f"runs/{name}/model")).model.state_dict()
        changed[name] = max(float((value - start[key]).abs().max()) for key, value in trained.items())
    assert changed["zero-shot"] == 0
    assert changed["trained"] > 1e-5
