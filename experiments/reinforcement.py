"""Reward hacking in one minute: a report generator is trained by GRPO in TRL with a scorer as the reward.

    python experiments/reinforcement.py --reward rouge-1 --held-out chexpert-f1 ratescore

A decoder of two million random weights learns for 50 steps. The table shows if held-out scorers rise with the reward;
a generated text follows. All reports are SYNTHETIC.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from datasets import Dataset
from jsonargparse import ArgumentParser
from rich.console import Console
from rich.table import Table
from transformers import PrinterCallback
from trl.trainer.grpo_config import GRPOConfig
from trl.trainer.grpo_trainer import GRPOTrainer

from radreward.cli import main as radreward
from radreward.cli.signature import add_signature
from radreward.data.records import read_groups
from radreward.data.tokenizer import word_tokenizer
from radreward.integrations.trl import trl_reward
from radreward.models.tiny_backbones import tiny_model
from radreward.scorers import load

PROMPT = "Findings:"
MAX_TOKENS = 24


def run(
    *,
    reward: str = "rouge-1",
    held_out: Sequence[str] = ("chexpert-f1", "ratescore"),
    steps: int = 50,
    learning_rate: float = 3e-3,
    output: Path | None = None,
) -> int:
    """Train, and print the mean score of each scorer before and after: of the reward the total, else the quality.

    Args:
        reward: Scorer that is the reward.
        held_out: Scorers with a quality that are not.
        steps: Updates of the generator.
        learning_rate: Learning rate.
        output: Folder for TensorBoard's log; by default nothing is written.
    """
    references = _references(32)
    model, tokenizer = tiny_model("generator", causal_lm=True), word_tokenizer()
    names = [reward, *held_out]
    before = _scores(names, references, _generate(model, tokenizer, len(references)))
    with tempfile.TemporaryDirectory() as scratch:
        trainer: Any = GRPOTrainer(
            model=model,
            reward_funcs=trl_reward(reward, missing_reward=0.0),
            args=GRPOConfig(
                output_dir=str(output or scratch),
                max_steps=steps,
                num_generations=8,
                per_device_train_batch_size=16,
                max_completion_length=MAX_TOKENS,
                learning_rate=learning_rate,
                beta=0.0,
                use_cpu=True,
                bf16=False,
                report_to="tensorboard" if output else "none",
                logging_steps=1,
                disable_tqdm=True,
                save_strategy="no",
                seed=0,
            ),
            train_dataset=Dataset.from_dict({"prompt": [PROMPT] * len(references), "reference": references}),
            processing_class=tokenizer,
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train()
    completions = _generate(model, tokenizer, len(references))
    after = _scores(names, references, completions)
    table = Table("scorer", "before", "after", "pairs with a score", title="Mean score, 0 for a text without one")
    for name in names:
        role = "reward" if name == reward else "held out, quality"
        table.add_row(f"{name} ({role})", f"{before[name][0]:.3f}", f"{after[name][0]:.3f}", f"{after[name][1]:.0%}")
    Console().print(table)
    Console().print(
        f"A reference: {references[0]}\nA generated text: {completions[0]}", soft_wrap=True, highlight=False
    )
    return 0


def _references(count: int) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        settings = ["--granularity=plain", "--per-reference=2", "--seed=0", f"--groups={count}"]
        radreward(["synthesize", *settings, f"--output={folder}/data"])
        return [group.reference for group in read_groups(Path(folder, "data", "groups.parquet"))]


def _generate(model: Any, tokenizer: Any, count: int) -> list[str]:
    """Return sampled texts, the same for the same weights."""
    torch.manual_seed(0)
    prompts = tokenizer([PROMPT] * count, return_tensors="pt")
    tokens = model.eval().generate(
        **prompts, do_sample=True, max_new_tokens=MAX_TOKENS, pad_token_id=tokenizer.pad_token_id
    )
    texts: list[str] = tokenizer.batch_decode(tokens[:, prompts["input_ids"].shape[1] :], skip_special_tokens=True)
    return texts


def _scores(names: Sequence[str], references: Sequence[str], texts: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the mean score of each scorer, in which a text without a score counts as 0, and the share with a score."""
    means = {}
    for number, name in enumerate(names):
        scorer = load(name)
        scores = scorer.score(references, texts)
        values = scorer.higher_is_better_output(scores, "quality" if number else "total")
        means[name] = values.nan_to_num(0.0).mean().item(), values.isfinite().float().mean().item()
    return means


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, run)
    sys.exit(run(**vars(parser.parse_args())))
