"""Every command that writes an output, on small inputs: for the soak of kills and the tests of full disks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import yaml
from transformers import LlamaConfig, LlamaForCausalLM

from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.tokenizer import byte_tokenizer, load_tokenizer
from radreward.models import Backbone, LoRA
from radreward.scorers.explanation import Explanation
from radreward.synthesis import synthesize_files
from radreward.synthesis.llm.review_sheet import write_review_sheet
from radreward.systems.sentence_eval.artifact import make_relation_artifact, save_relation_artifact
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

PAIRS = 1_200
"""Pairs to score, in more than two chunks of any scorer."""


class Command(NamedTuple):
    """A command line without its output."""

    name: str
    """Name of the command, followed by what distinguishes it from others of this name."""
    arguments: list[str]
    option: str
    """Option of the output, with `=`."""
    output: str
    """Name of the output in its folder."""

    def line(self, folder: Path) -> list[str]:
        """Return the command line with its output in a folder."""
        return [self.name.split()[0], *self.arguments, f"{self.option}{folder / self.output}"]


def prepare_commands(folder: Path) -> list[Command]:
    """Write the inputs into a folder, and return all commands; models are tiny, with random weights."""
    groups = synthesize_files(folder / "groups", RadCliQSignificanceCriteria(), 35, 2, granularity="statement")
    pairs, few = _write_pairs(folder / "pairs.jsonl", PAIRS), _write_pairs(folder / "few.jsonl", 8)
    judge, config = _save_judge(folder / "judge"), _write_fit_config(folder)
    search = folder / "search.yaml"
    search.write_text("decision-tree: [{max_depth: 2}]\nrandom-forest: [{max_depth: 4}]")
    case = {"id": "a", "reference": "Clear.", "candidate": "Clear."}
    local = ["--chat=local", f"--model={save_language_model(folder / 'llama')}", "--max-tokens=4"]
    commands = [
        ("synthesize", ["--groups=60", "--granularity=statement"], "--output=", "data"),
        ("fit", [f"--config={config}"], "--run-dir=", "run"),
        ("fit affinity", _affinity_settings(groups), "--run-dir=", "affinity"),
        (
            "evaluate",
            ["--scorer=chexpert-f1", f"--data={groups}", "--criteria=radcliq-significance"],
            "--output=",
            "metrics.json",
        ),
        ("score", ["--scorers=chexpert-f1", f"--input={pairs}"], "--output=", "scores.jsonl"),
        ("score parquet", ["--scorers=bleu-1", f"--input={pairs}"], "--output=", "scores.parquet"),
        ("tune", [f"--config={_write_study(folder, config)}"], "--run-dir=", "study"),
        ("convert", [f"--input={groups}", "--from=groups"], "--output=", "rated.jsonl"),
        ("benchmark", _benchmark_arguments(folder, groups), "--output=", "benchmark"),
        ("summarize", [f"--input={_write_explained(folder / 'explained.jsonl')}"], "--output=", "summary"),
        ("judge-sentences", [f"--judge={judge}", f"--input={pairs}"], "--output=", "judged.jsonl"),
        ("fit-regressor", [f"--judge={judge}", f"--data={groups}", f"--search={search}"], "--output=", "regressor"),
        (
            "judge-sentences refine",
            ["--refine", f"--judge={judge}", f"--input={few}", "--scorers=bleu-1"],
            "--output=",
            "refined.jsonl",
        ),
        ("synthesize llm", ["--llm-task=tiers", f"--reports={few}", *local], "--output=", "written"),
        ("experiments", [], "--output=", "experiments"),
        ("rate", [f"--input={_write_rows(folder / 'cases.jsonl', iter([case]))}"], "--output=", "rate.html"),
        (
            "evaluate review",
            [f"--review-sheet={_write_sheet(folder / 'sheet.csv')}"],
            "--output=",
            "agreement.csv",
        ),
    ]
    return [Command(*entry) for entry in commands]


def _write_rows(path: Path, rows: Iterator[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _write_pairs(path: Path, number: int) -> Path:
    sizes = ("small", "moderate", "large")
    return _write_rows(
        path,
        (
            {
                "id": f"r{index}",
                "reference": f"There is a {sizes[index % 3]} left effusion. A nodule of {index} mm is seen.",
                "candidate": f"There is a {sizes[index % 2]} left effusion. No nodule." if index % 50 else "",
            }
            for index in range(number)
        ),
    )


def _save_judge(folder: Path) -> Path:
    torch.manual_seed(0)
    model = RelationModel(Backbone("tiny-bert", LoRA(2)), 8, 8)
    save_relation_artifact(make_relation_artifact(RelationPredictor(model, load_tokenizer("tiny-bert"))), folder)
    return folder


def save_language_model(folder: Path) -> Path:
    """Save a one-layer Llama with random weights and a byte tokenizer, and return its folder."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=260,
        hidden_size=16,
        intermediate_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        max_position_embeddings=8192,
        pad_token_id=0,
        eos_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    byte_tokenizer(encoder=False).save_pretrained(folder)
    return folder


def _write_fit_config(folder: Path) -> Path:
    tags = RadCliQCriteria().tags
    groups = (
        {
            "id": str(number),
            "reference": f"Nodule of {number} mm.",
            "candidates": [
                {
                    "text": f"Nodule of {number} mm." + " broken" * k,
                    "errors": {tag: k * (tag in tags[:2]) for tag in tags},
                }
                for k in range(3)
            ],
        }
        for number in range(10)
    )
    settings = {
        "criteria": "radcliq",
        "checkpoint_every": 2,
        "model": {"backbone": {"name": "tiny-bert", "lora": {"r": 4}}, "head_hidden_size": 4},
        "data": {"records": str(_write_rows(folder / "train.jsonl", groups)), "val_split": 0.3, "batch_size": 4},
        "trainer": {"max_steps": 8, "val_check_interval": 4, "accelerator": "cpu", "enable_progress_bar": False},
    }
    path = folder / "fit.yaml"
    path.write_text(yaml.safe_dump(settings))
    return path


def _affinity_settings(groups: Path) -> list[str]:
    config = Path(__file__).parents[1] / "experiments" / "ratescore" / "affinity.yaml"
    settings = {
        "data.records": groups,
        "data.batch_size": 4,
        "data.collator.encoder.name": "tiny-bert",
        "data.collator.encoder.max_length": 200,  # its tokens are bytes
        "data.collator.encoder.context": "name",
        "model.optimizer.max_steps": 4,
        "model.bootstrap_samples": 2,
        "model.n_folds": 2,
        "checkpoint_every": 2,
        "trainer.accelerator": "cpu",
        "trainer.enable_progress_bar": "false",
    }
    return [f"--config={config}", *(f"--{name}={value}" for name, value in settings.items())]


def _write_study(folder: Path, base: Path) -> Path:
    study = {
        "study": "toy",
        "base": str(base),
        "trials": 2,
        "prune": False,
        "overrides": {"trainer.max_steps": 4},
        "space": {"model.optimizer.lr": {"low": 1e-4, "high": 1e-1, "log": True}},
    }
    path = folder / "study.yaml"
    path.write_text(yaml.safe_dump(study))
    return path


def _benchmark_arguments(folder: Path, groups: Path) -> list[str]:
    from radreward.meta_evaluation.converters import convert

    convert("groups", groups, folder / "rated.jsonl")
    scorers = ["bleu-1", "rouge-l", "chexpert-f1"]
    return [f"--data={folder / 'rated.jsonl'}", "--probes=1", "--bootstrap=10", "--scorers", *scorers]


def _write_explained(path: Path) -> Path:
    def row(number: int) -> dict[str, Any]:
        errors: dict[str, tuple[str, ...]] = {"omission": (f"The nodule of {number} mm is left out.",)}
        evidence = Explanation("", "stop", None, None, {"omission": 1.0}, {}, errors, 3.0, ("effusion",))
        return {"id": str(number), "total": 0.75, "evidence": json.dumps(evidence._asdict()), "status": "ok"}

    return _write_rows(path, map(row, range(12)))


def _write_sheet(path: Path) -> Path:
    criteria = RadCliQCriteria()
    texts = {"id": "a", "reference": "Clear.", "candidate": "Clear.", "explanation": "", "stated": []}
    write_review_sheet(path, criteria, [{**texts, "errors": dict.fromkeys(criteria.tags, 0)}], 1)
    header, row = path.read_text().splitlines()
    cells = row.split(",")
    cells[header.split(",").index(f"checked: {criteria.tags[0]}")] = "0"
    path.write_text(f"{header}\n{','.join(cells)}\n")
    return path
