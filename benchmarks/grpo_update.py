"""An update of a policy against TRL's GRPOTrainer: the same decoder, prompts, completions, loss and gradients.

One process, one thread, variants in turn, CPU time, minimum and median. Before anything is timed, loss and all
gradients of the variants must agree. TRL's side is its own `compute_loss`, with rows as its trainer pads them; ours is
the prompt once with all its completions. A whole step is the drawing of the completions, which TRL leaves to
`generate` on the prompt as often as it has completions, and the update; the optimizer is the same for both.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, NamedTuple
from unittest import mock

import torch
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, LlamaConfig, PreTrainedTokenizerFast

from radreward.models import Backbone, tree_attention
from radreward.models.log_probs import CompletionPacking, completion_log_probs
from radreward.models.rollout_engine import SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.objectives import GRPO
from radreward.types import Rollouts

PEER, ROWS, MASKED, TREE = "TRL", "rows", "tree, masked", "tree"
SPECIAL = {"pad_token": "<pad>", "unk_token": "<unk>"}
TOLERANCE = 1e-5
"""Relative to the norm of all gradients, in float32."""


class Case(NamedTuple):
    """What a batch of rollouts holds, and how many times faster the tree is meant to be."""

    completions: int = 8
    prompt: int = 700
    completion: int = 300
    prompts: int = 1
    rounds: int = 4
    against_peer: float | None = None
    draws: bool = False
    """Whether drawing is measured too."""


CASES = (
    Case(against_peer=2, draws=True),
    Case(4, rounds=3),
    Case(8, prompt=32, rounds=3),  # next to nothing to share
)


class Size(NamedTuple):
    """Of the random decoder."""

    width: int = 256
    layers: int = 4
    vocabulary: int = 1000


SIZE = Size()


class Batch(NamedTuple):
    """Prompts, their completions and what these are worth."""

    prompts: list[list[int]]
    completions: list[list[list[int]]]
    advantages: Tensor
    """(B, G)."""


def no_reward(completions: list[Any], **_: Any) -> list[float | None]:
    """Never asked: the advantages are given."""
    return [0.0] * len(completions)


class Sides(NamedTuple):
    """TRL's trainer and our model, with equal weights."""

    trainer: Any
    ours: Any
    tokenizer: Any


def build(folder: str, size: Size, completions: int, **settings: Any) -> Sides:
    """One saved random decoder, loaded by name on both sides; nothing ends a completion but its length."""
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    config = LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.width * 8 // 3,
        num_hidden_layers=size.layers,
        num_attention_heads=4,
        pad_token_id=0,
        eos_token_id=None,
        bos_token_id=None,
    )
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    words = Tokenizer(WordLevel({token: i for i, token in enumerate(SPECIAL.values())}, SPECIAL["unk_token"]))
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL)
    trainer: Any = GRPOTrainer(
        model=folder,
        reward_funcs=no_reward,
        args=GRPOConfig(
            output_dir=folder,
            num_generations=completions,
            per_device_train_batch_size=completions,
            loss_type="grpo",
            bf16=False,
            activation_checkpointing=False,
            use_cpu=True,
            report_to="none",
            disable_tqdm=True,
            **settings,
        ),
        train_dataset=Dataset.from_dict({"prompt": ["lamp"]}),
        processing_class=tokenizer,
    )
    ours = Backbone(folder, lora=None, local_files_only=True).build(causal_lm=True)
    return Sides(trainer, ours, tokenizer)


def draw(case: Case, vocabulary: int) -> Batch:
    """Random tokens, completions of lengths that vary by a tenth, random advantages of mean 0."""
    source = torch.Generator().manual_seed(0)

    def piece(length: int, spread: float = 0.1) -> list[int]:
        factor = 1 + spread * (2 * float(torch.rand((), generator=source)) - 1)
        tokens: list[int] = torch.randint(3, vocabulary, (max(1, round(length * factor)),), generator=source).tolist()
        return tokens

    prompts = [piece(case.prompt) for _ in range(case.prompts)]
    completions = [[piece(case.completion) for _ in range(case.completions)] for _ in prompts]
    advantages = torch.randn(case.prompts, case.completions, generator=source)
    return Batch(prompts, completions, advantages - advantages.mean(1, keepdim=True))


def peer_inputs(batch: Batch) -> dict[str, Tensor]:
    """Rows as TRL's trainer makes them: prompts padded on the left, completions on the right."""
    rows = [
        (prompt, completion)
        for prompt, group in zip(batch.prompts, batch.completions, strict=True)
        for completion in group
    ]

    def padded(pieces: list[list[int]], side: str) -> tuple[Tensor, Tensor]:
        ids = pad_sequence([torch.tensor(piece) for piece in pieces], batch_first=True, padding_side=side)
        ones = [torch.ones(len(piece), dtype=torch.int64) for piece in pieces]
        return ids, pad_sequence(ones, batch_first=True, padding_side=side)

    prompt_ids, prompt_mask = padded([prompt for prompt, _ in rows], "left")
    completion_ids, completion_mask = padded([completion for _, completion in rows], "right")
    return {
        "prompt_ids": prompt_ids,
        "prompt_mask": prompt_mask,
        "completion_ids": completion_ids,
        "completion_mask": completion_mask,
        "advantages": batch.advantages.flatten(),
        "num_items_in_batch": completion_mask.sum(),
    }


class Variant(NamedTuple):
    """One way to make an update: its loss by `step`."""

    model: nn.Module
    step: Callable[[], Tensor]
    tokens: int
    """Tokens with padding: what is computed."""


def peer(trainer: Any, batch: Batch) -> Variant:
    """The loss of TRL's trainer, as it is."""
    inputs = peer_inputs(batch)

    def step() -> Tensor:
        loss: Tensor = trainer.compute_loss(trainer.model, inputs)
        return loss

    return Variant(trainer.model, step, inputs["prompt_ids"].numel() + inputs["completion_ids"].numel())


def own(model: Any, batch: Batch, packing: CompletionPacking, masked: bool = False) -> Variant:
    """Log-probabilities and objective of ours."""
    objective = GRPO(kl_coef=0.0)
    lengths = torch.tensor([[len(completion) for completion in group] for group in batch.completions])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)

    def step() -> Tensor:
        # What an architecture gets that is not known to hand the tree on.
        with mock.patch.object(tree_attention, "KNOWN", frozenset()) if masked else nullcontext():
            parts = [
                completion_log_probs(model, prompt, group, 1.0, packing).T
                for prompt, group in zip(batch.prompts, batch.completions, strict=True)
            ]
        logps = pad_sequence(parts, batch_first=True).transpose(1, 2)
        return objective.reduce(objective(Rollouts(logps, logps.detach(), None, mask, batch.advantages)))

    prompts = torch.tensor([len(prompt) for prompt in batch.prompts])
    times = lengths.shape[1] if packing == "rows" else 1
    return Variant(model, step, int(lengths.sum() + times * prompts.sum()))


def variants(batch: Batch, sides: Sides) -> dict[str, Variant]:
    """By name, all on the same tokens."""
    return {
        PEER: peer(sides.trainer, batch),
        ROWS: own(sides.ours, batch, "rows"),
        MASKED: own(sides.ours, batch, "tree", masked=True),
        TREE: own(sides.ours, batch, "tree"),
    }


def loss_and_gradients(variant: Variant) -> tuple[float, dict[str, Tensor]]:
    """The loss and all gradients by name."""
    variant.model.zero_grad()
    loss = variant.step()
    torch.autograd.backward(loss)
    found = {name: parameter.grad for name, parameter in variant.model.named_parameters()}
    return loss.item(), {name: value.clone() for name, value in found.items() if value is not None}


def disagreement(found: tuple[float, dict[str, Tensor]], expected: tuple[float, dict[str, Tensor]]) -> float:
    """The larger of the difference of the losses and the relative one of all gradients (by norm)."""
    known = expected[1]
    assert found[1].keys() == known.keys()
    apart = math.sqrt(sum(float((found[1][name] - known[name]).square().sum()) for name in known))
    norm = math.sqrt(sum(float(value.square().sum()) for value in known.values()))
    return max(abs(found[0] - expected[0]), apart / norm)


def drawing(case: Case, batch: Batch, sides: Sides, tokens: int) -> dict[str, Callable[[], Any]]:
    """Completions of so many tokens: the prompt read once, or as often as it has completions."""
    engine = TransformersEngine(sides.ours, sides.tokenizer)
    sampling = SamplingParams(case.completions, tokens)

    def repeated() -> Any:
        rows = [torch.tensor(prompt) for prompt in batch.prompts for _ in range(case.completions)]
        ids = pad_sequence(rows, batch_first=True, padding_side="left")
        with torch.no_grad():
            return sides.trainer.model.generate(
                ids, attention_mask=(ids != 0).long(), max_new_tokens=tokens, do_sample=True, pad_token_id=0
            )

    return {PEER: repeated, TREE: lambda: engine.sample([[prompt] for prompt in batch.prompts], sampling)}


def spent(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    """Milliseconds of CPU of each call, in turn."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            begin = time.process_time()
            call()
            times[name].append(1000 * (time.process_time() - begin))
    return times


def measure(case: Case, sides: Sides, vocabulary: int) -> dict[str, Any]:
    """Check that the variants agree, then time them in turn: what is printed as a line of JSON."""
    batch = draw(case, vocabulary)
    every = variants(batch, sides)
    expected = loss_and_gradients(every[PEER])
    errors = {name: disagreement(loss_and_gradients(every[name]), expected) for name in (ROWS, MASKED, TREE)}
    assert max(errors.values()) < TOLERANCE, f"Loss or gradients differ: {errors}."

    def update(variant: Variant) -> Callable[[], None]:
        def call() -> None:
            variant.model.zero_grad()
            torch.autograd.backward(variant.step())

        return call

    times = spent({name: update(variant) for name, variant in every.items()}, case.rounds)
    least = {name: min(values) for name, values in times.items()}
    found = {
        name: {
            "tokens": variant.tokens,
            "ms": least[name],
            "ms_median": statistics.median(times[name]),
            "ratio": least[PEER] / least[name],
            "ratio_by_tokens": least[PEER] / least[name] / (every[PEER].tokens / variant.tokens),
            "error": errors.get(name),
        }
        for name, variant in every.items()
    }
    result: dict[str, Any] = {"case": case._asdict(), "variants": found}
    if case.draws:
        first, drawn = (
            {name: min(values) for name, values in spent(drawing(case, batch, sides, tokens), 2).items()}
            for tokens in (1, case.completion)
        )
        whole = {name: drawn[name] + least[name] for name in drawn}
        result |= {"first": first, "drawing": drawn, "whole": whole, "whole_ratio": whole[PEER] / whole[TREE]}
    return result


def table(result: dict[str, Any]) -> Table:
    """The variants of one case."""
    case = Case(**result["case"])
    title = (
        f"{case.prompts} x {case.completions} completions: prompt {case.prompt}, completion {case.completion} tokens"
    )
    heads = ("tokens with padding", "ms min", "ms median", "TRL / this", "÷ token ratio", "differs by")
    printed = Table("variant", *heads, title=title)
    for name, row in result["variants"].items():
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        times = f"{row['ms']:.0f}", f"{row['ms_median']:.0f}", f"{row['ratio']:.2f}", f"{row['ratio_by_tokens']:.2f}"
        printed.add_row(name, str(row["tokens"]), *times, error)
    return printed


def summary(result: dict[str, Any]) -> list[str]:
    """Whether the target is met, and what a whole step takes."""
    case, lines = Case(**result["case"]), []
    ratio = result["variants"][TREE]["ratio"]
    if case.against_peer is not None:
        met = "met" if ratio >= case.against_peer else "MISSED"
        lines.append(f"update, TRL / tree: {ratio:.2f}, target {case.against_peer:g}: {met}")
    if "drawing" in result:
        whole = result["whole"]
        for told, times in (("to the first token", result["first"]), ("whole", result["drawing"])):
            lines.append(
                f"drawing {told}, ms: the prompt {case.completions} times {times[PEER]:.0f}, once {times[TREE]:.0f}: "
                f"{times[PEER] / times[TREE]:.2f} times"
            )
        lines.append(
            f"drawing and update, ms: {whole[PEER]:.0f} and {whole[TREE]:.0f}: {result['whole_ratio']:.2f} times"
        )
    return lines


def main(cases: Sequence[Case] = CASES, size: Size = SIZE) -> None:
    """Measure and print; a missed target is said, not an error."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console = Console(width=120)
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(case, build(folder, size, case.completions), size.vocabulary)
        console.print(table(result))
        for line in summary(result):
            console.print(line, highlight=False)
        print(json.dumps(result), flush=True)
