"""A policy update against TRL's GRPOTrainer: the same decoder, prompts, completions, loss and gradients.

One process, one thread, variants in turn, CPU time, minimum and median. Before timing, loss and all gradients of the
variants must agree. TRL's variant is its own `compute_loss` with padded rows and without the entropies that it logs;
ours reads the prompt once with all its completions. A complete step is the sampling of the completions, for which TRL
calls `generate` on one copy of the prompt per completion, and the update; the optimizer step is equal for both and not
included.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM

from benchmarks._figures import Figure
from benchmarks._training import (
    Gradients,
    ModelSize,
    RolloutTokens,
    backward_call,
    cpu_milliseconds,
    llama_config,
    peer_inputs,
    random_tokens,
    relative_difference,
    special_tokenizer,
)
from radreward.models import Backbone
from radreward.models.log_probs import CompletionPacking, rollout_log_probs
from radreward.models.rollout_engine import SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.objectives import GRPO, Rollouts

PEER, ROWS, TREE = "TRL", "rows", "tree"
SPECIAL_TOKENS = {"pad_token": "<pad>", "unk_token": "<unk>"}
TOLERANCE = 1e-5
"""Maximum difference relative to the norm of all gradients, in float32."""


class Case(NamedTuple):
    """Size of a rollout batch, and the target speedup of the tree."""

    completions: int = 8
    prompt: int = 700
    completion: int = 300
    prompts: int = 1
    rounds: int = 3
    vocabulary: int = 1000
    against_peer: float | None = None
    step_against_peer: float | None = None
    """Target speedup of a complete step; sampling is measured only with one."""

    @property
    def title(self) -> str:
        """Sizes in words."""
        sizes = f"prompt {self.prompt}, completion {self.completion}, vocabulary of {self.vocabulary:,}"
        return f"{self.prompts} x {self.completions} completions: {sizes}"


CASES = (
    Case(against_peer=4, step_against_peer=1.5),
    Case(prompt=350, completion=150, rounds=2, vocabulary=32_000, against_peer=4),
    Case(4),
    Case(8, prompt=32),  # almost nothing to share
)


def no_reward(completions: list[Any], **_: Any) -> list[float | None]:
    """Return zeros; never called, because advantages are given."""
    return [0.0] * len(completions)


class Sides(NamedTuple):
    """TRL's trainer and our model, with equal weights."""

    trainer: Any
    model: Any
    tokenizer: Any


def build(folder: str, size: ModelSize, completions: int, **settings: Any) -> Sides:
    """Save a random decoder without an end token, and load it on both sides."""
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer
    from trl.trainer.utils import add_fused_lm_head

    AutoModelForCausalLM.from_config(llama_config(size, eos_token_id=None)).save_pretrained(folder)
    tokenizer = special_tokenizer(SPECIAL_TOKENS)
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
    add_fused_lm_head(trainer.model, temperature=trainer.temperature, outputs=("log_probs",))
    trainer._get_per_token_logps_and_entropies = partial(without_entropies, trainer._get_per_token_logps_and_entropies)
    model = Backbone(folder, lora=None, local_files_only=True).build(causal_lm=True)
    return Sides(trainer, model, tokenizer)


def without_entropies(compute: Callable[..., Any], *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor, Any]:
    """Return TRL's log-probabilities with zeros as entropies, which we do not log."""
    log_probs, _, loss = compute(*args, **{**kwargs, "compute_entropy": False})
    return log_probs, torch.zeros_like(log_probs), loss


def random_batch(case: Case, vocabulary: int) -> RolloutTokens:
    """Return random tokens, with lengths that vary by a tenth, and random advantages of mean 0."""
    source = torch.Generator().manual_seed(0)
    prompts = [random_tokens(case.prompt, vocabulary, source) for _ in range(case.prompts)]
    completions = [
        [random_tokens(case.completion, vocabulary, source) for _ in range(case.completions)] for _ in prompts
    ]
    advantages = torch.randn(case.prompts, case.completions, generator=source)
    return RolloutTokens(prompts, completions, advantages - advantages.mean(1, keepdim=True))


class Variant(NamedTuple):
    """One implementation of an update; `step` returns its loss."""

    model: nn.Module
    step: Callable[[], Tensor]
    tokens: int
    """Tokens with padding, all of which are computed."""


def peer_variant(trainer: Any, batch: RolloutTokens) -> Variant:
    """Return the loss of TRL's trainer."""
    inputs = peer_inputs(batch)

    def step() -> Tensor:
        loss: Tensor = trainer.compute_loss(trainer.model, inputs)
        return loss

    return Variant(trainer.model, step, inputs["prompt_ids"].numel() + inputs["completion_ids"].numel())


def own_variant(model: Any, batch: RolloutTokens, packing: CompletionPacking) -> Variant:
    """Return log-probabilities and objective of radreward."""
    objective = GRPO(kl_coef=0.0)
    lengths = torch.tensor([[len(completion) for completion in group] for group in batch.completions])
    mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(-1)

    def step() -> Tensor:
        logps = rollout_log_probs(model, batch.prompts, batch.completions, 1.0, packing)
        loss, _ = objective(Rollouts(logps, logps.detach(), None, mask, batch.advantages))
        return loss

    prompts = torch.tensor([len(prompt) for prompt in batch.prompts])
    copies = lengths.shape[1] if packing == "rows" else 1
    return Variant(model, step, int(lengths.sum() + copies * prompts.sum()))


def build_variants(batch: RolloutTokens, sides: Sides) -> dict[str, Variant]:
    """Return all variants by name, on the same tokens."""
    return {
        PEER: peer_variant(sides.trainer, batch),
        ROWS: own_variant(sides.model, batch, "rows"),
        TREE: own_variant(sides.model, batch, "tree"),
    }


def loss_and_gradients(variant: Variant) -> tuple[float, Gradients]:
    """Return the loss and all gradients by name."""
    variant.model.zero_grad()
    loss = variant.step()
    torch.autograd.backward(loss)
    gradients = {name: parameter.grad for name, parameter in variant.model.named_parameters()}
    return loss.item(), {name: value.clone() for name, value in gradients.items() if value is not None}


def disagreement(actual: tuple[float, Gradients], expected: tuple[float, Gradients]) -> float:
    """Return the larger of the difference of the losses and the relative difference of the gradients."""
    return max(abs(actual[0] - expected[0]), relative_difference(actual[1], expected[1]))


def sampling_calls(case: Case, batch: RolloutTokens, sides: Sides, tokens: int) -> dict[str, Callable[[], Any]]:
    """Return calls that sample completions: with one copy of the prompt per completion, or with one copy."""
    engine = TransformersEngine(sides.model, sides.tokenizer)
    params = SamplingParams(case.completions, tokens)

    def peer() -> Any:
        rows = [torch.tensor(prompt) for prompt in batch.prompts for _ in range(case.completions)]
        ids = pad_sequence(rows, batch_first=True, padding_side="left")
        with torch.no_grad():
            return sides.trainer.model.generate(
                ids, attention_mask=(ids != 0).long(), max_new_tokens=tokens, do_sample=True, pad_token_id=0
            )

    return {PEER: peer, TREE: lambda: engine.sample([[prompt] for prompt in batch.prompts], params)}


def measure(case: Case, sides: Sides, vocabulary: int) -> dict[str, Any]:
    """Check that the variants agree, and time them in turn; return the results that are printed as JSON."""
    batch = random_batch(case, vocabulary)
    variants = build_variants(batch, sides)
    expected = loss_and_gradients(variants[PEER])
    errors = {name: disagreement(loss_and_gradients(variants[name]), expected) for name in (ROWS, TREE)}
    assert max(errors.values()) < TOLERANCE, f"Loss or gradients differ: {errors}."
    calls = {name: backward_call(variant.model, variant.step) for name, variant in variants.items()}
    times = cpu_milliseconds(calls, case.rounds)
    minimum = {name: min(values) for name, values in times.items()}
    rows = {
        name: {
            "tokens": variant.tokens,
            "ms": minimum[name],
            "ms_median": statistics.median(times[name]),
            "ratio": minimum[PEER] / minimum[name],
            "token_ratio": variants[PEER].tokens / variant.tokens,
            "error": errors.get(name),
        }
        for name, variant in variants.items()
    }
    result: dict[str, Any] = {"case": case._asdict(), "variants": rows}
    if case.step_against_peer is not None:
        first, sampling = (
            {name: min(values) for name, values in cpu_milliseconds(calls, 2).items()}
            for calls in (sampling_calls(case, batch, sides, tokens) for tokens in (1, case.completion))
        )
        step = {name: sampling[name] + minimum[name] for name in sampling}
        result |= {"first token": first, "sampling": sampling, "sampling and update": step}
    return result


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one case as a table."""
    columns = ("tokens with padding", "ms min", "ms median", "TRL / this", "of tokens", "difference")
    table = Table("variant", *columns, title=Case(**result["case"]).title)
    for name, row in result["variants"].items():
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        times = f"{row['ms']:.0f}", f"{row['ms_median']:.0f}", f"{row['ratio']:.2f}", f"{row['token_ratio']:.2f}"
        table.add_row(name, str(row["tokens"]), *times, error)
    return table


def figures(result: dict[str, Any]) -> list[Figure]:
    """Return the speedups of the tree in the update, and in sampling and the complete step if they were measured."""
    case, tree = Case(**result["case"]), result["variants"][TREE]
    tokens = f"tokens {tree['token_ratio']:.1f} ×"
    update = Figure(
        f"GRPO update, {case.title}; against {PEER}",
        tree["ratio"],
        parity=f"{tree['error']:.0e}; {tokens}",
        at_least=case.against_peer,
    )
    parts = {"first token": None, "sampling": None, "sampling and update": case.step_against_peer}
    return [update] + [
        Figure(f"GRPO {part}, {case.title}; against {PEER}", result[part][PEER] / result[part][TREE], at_least=goal)
        for part, goal in parts.items()
        if part in result
    ]


def main(cases: Sequence[Case] = CASES, size: ModelSize = ModelSize()) -> list[Figure]:  # noqa: B008 - immutable
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console, measured = Console(width=120), []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            sides = build(folder, size._replace(vocabulary=case.vocabulary), case.completions)
            result = measure(case, sides, case.vocabulary)
        console.print(result_table(result))
        print(json.dumps(result), flush=True)
        measured += figures(result)
    return measured
