"""A training step against TRL's RewardTrainer: the same decoder, pairs, loss and gradients.

One process, one thread, variants in turn; CPU time of collation, forward and backward, minimum and median. Before
timing, loss and all gradients of the variants with the same pairs must agree. Lengths vary by a tenth, as within a
length bucket; all references share an instruction. The last cases train adapters and include the optimizer step.
Baselines: TRL on all pairs and on one pair per reference, and our own rows, each candidate once without padding. No
ratio can exceed that of the tokens by much, which the table prints. A case of many pairs without a goal against TRL
leaves TRL out, and is compared with rows.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor, nn
from transformers import AutoModel

from benchmarks._figures import Figure
from benchmarks._training import (
    Gradients,
    ModelSize,
    backward_call,
    cpu_milliseconds,
    llama_config,
    random_tokens,
    relative_difference,
    special_tokenizer,
)
from radreward.criteria import Criteria, Criterion
from radreward.data.packing import Packing, pack
from radreward.models import Backbone, LoRA, PooledRewardModel
from radreward.objectives import BradleyTerry
from radreward.types import RewardBatch

Paths = list[list[list[int]]]
"""Token ids of instruction, reference and candidate, per candidate."""
PEER, ONE_PAIR, ROWS, TREE = "TRL, all pairs", "TRL, one pair", "rows", "tree"
SPECIAL_TOKENS = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
TOLERANCE, BF16_TOLERANCE = 5e-6, 0.05
"""Maximum difference relative to the norm of all gradients, in float32 and in bfloat16."""
TARGETS = ["q_proj", "v_proj"]


class Case(NamedTuple):
    """Size of a batch, and target speedups of the tree."""

    candidates: int
    instruction: int = 64
    reference: int = 192
    candidate: int = 64
    groups: int = 2
    rounds: int = 3
    against_peer: float | None = None
    against_rows: float | None = None
    adapters: bool = False
    """Train adapters and head only, with a step of AdamW."""
    bf16: bool = False
    """Compute in mixed precision."""
    peer: bool = True
    """Measure TRL too."""

    @property
    def title(self) -> str:
        """Size and settings in words."""
        sizes = f"instruction {self.instruction}, reference {self.reference}, candidate {self.candidate}"
        settings = ", LoRA and AdamW" * self.adapters + ", bf16-mixed" * self.bf16
        return f"{self.groups} groups of {self.candidates}: {sizes}{settings}"


CASES = (
    Case(4, against_peer=10),
    Case(4, groups=8, rounds=2, against_peer=10, against_rows=2.7),
    Case(4, instruction=448, groups=8, rounds=2, against_rows=5, peer=False),
    Case(8, rounds=2, against_peer=10),
    Case(4, instruction=8, reference=24, candidate=256, rounds=2),  # almost nothing to share
    Case(4, adapters=True, against_peer=10),
    Case(4, adapters=True, bf16=True, against_peer=10),
)


class Variant(NamedTuple):
    """One implementation of a step; `step` returns its loss."""

    model: nn.Module
    step: Callable[[], Tensor]
    pairs: int
    tokens: int
    positions: int
    """Tokens with padding, all of which are computed."""


class Sides(NamedTuple):
    """TRL's trainer and our model, with equal weights."""

    trainer: Any
    model: PooledRewardModel


def build(folder: str, size: ModelSize, adapters: bool = False) -> Sides:
    """Save a random decoder, and load it on both sides with equal heads, and equal adapters if there are any."""
    from datasets import Dataset
    from peft import LoraConfig
    from trl.trainer.reward_config import RewardConfig
    from trl.trainer.reward_trainer import RewardTrainer

    AutoModel.from_config(llama_config(size, eos_token_id=1)).save_pretrained(folder)
    trainer: Any = RewardTrainer(
        model=folder,
        args=RewardConfig(
            output_dir=folder,
            bf16=False,
            activation_checkpointing=False,
            use_cpu=True,
            max_length=None,
            report_to="none",
            disable_tqdm=True,
        ),
        train_dataset=Dataset.from_dict({"chosen_ids": [[3]], "rejected_ids": [[4]]}),
        processing_class=special_tokenizer(SPECIAL_TOKENS),
        peft_config=LoraConfig(r=16, lora_alpha=32, target_modules=TARGETS, modules_to_save=["score"])
        if adapters
        else None,
    )
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    lora = LoRA(16, targets=TARGETS) if adapters else None
    model = PooledRewardModel(Backbone(folder, lora=lora, local_files_only=True), criteria).train()
    peer_weights = dict(trainer.model.named_parameters())
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and name != "head.out.bias":
                parameter.copy_(peer_weights[peer_name(name, adapters)])
                if "lora_B" in name:  # zeros would leave A without gradients
                    peer_weights[peer_name(name, adapters)].copy_(nn.init.normal_(parameter, std=0.01))
    return Sides(trainer, model)


def peer_name(name: str, adapters: bool) -> str:
    """Return TRL's name of one of our parameters."""
    if adapters:
        name = name.replace("encoder.base_model.model.", "base_model.model.model.")
        return name.replace("head.out.", "base_model.model.score.modules_to_save.default.")
    return name.replace("encoder.", "model.").replace("head.out.", "score.")


def random_paths(case: Case, vocabulary: int) -> Paths:
    """Return random token paths, group by group."""
    source = torch.Generator().manual_seed(0)
    instruction, paths = random_tokens(case.instruction, vocabulary, source, 0), []
    for _ in range(case.groups):
        reference = random_tokens(case.reference, vocabulary, source)
        paths += [
            [instruction, reference, random_tokens(case.candidate, vocabulary, source)] for _ in range(case.candidates)
        ]
    return paths


def all_pairs(case: Case) -> list[tuple[int, int]]:
    """Return all pairs of every group; the first candidate is the better one."""
    starts = range(0, case.groups * case.candidates, case.candidates)
    return [(s + i, s + j) for s in starts for i in range(case.candidates) for j in range(i + 1, case.candidates)]


def peer_variant(trainer: Any, paths: Paths, pairs: Sequence[tuple[int, int]], bf16: bool = False) -> Variant:
    """Return collator and loss of TRL's trainer."""
    rows = [sum(path, []) for path in paths]
    examples = [{"chosen_ids": rows[i], "rejected_ids": rows[j]} for i, j in pairs]

    def step() -> Tensor:
        with torch.autocast("cpu", enabled=bf16):
            loss: Tensor = trainer.compute_loss(trainer.model, trainer.data_collator(examples))
        return loss

    mask = trainer.data_collator(examples)["attention_mask"]
    return Variant(trainer.model, step, len(pairs), int(mask.sum()), mask.numel())


def own_variant(
    model: PooledRewardModel, paths: Paths, pairs: Sequence[tuple[int, int]], case: Case, packing: Packing
) -> Variant:
    """Return packing, model and objective of radreward."""
    objective = BradleyTerry(use_criteria=False)
    rank = torch.arange(len(paths))
    targets, group = -(rank % case.candidates).float().unsqueeze(1), rank // case.candidates

    def step() -> Tensor:
        with torch.autocast("cpu", enabled=case.bf16):
            rewards = model(pack(paths, packing)).rewards
        return objective(RewardBatch(rewards, targets, group, torch.tensor(pairs))).loss

    tokens = len(pack(paths, packing).input_ids)
    return Variant(model, step, len(pairs), tokens, tokens)


def build_variants(case: Case, sides: Sides, vocabulary: int) -> dict[str, Variant]:
    """Return all variants by name, on the same tokens."""
    paths, pairs = random_paths(case, vocabulary), all_pairs(case)
    own = {
        ROWS: own_variant(sides.model, paths, pairs, case, "rows"),
        TREE: own_variant(sides.model, paths, pairs, case, "tree"),
    }
    if not case.peer:
        return own
    one_per_group = pairs[:: len(pairs) // case.groups]
    return {
        PEER: peer_variant(sides.trainer, paths, pairs, case.bf16),
        ONE_PAIR: peer_variant(sides.trainer, paths, one_per_group, case.bf16),
        **own,
    }


def loss_and_gradients(variant: Variant, case: Case) -> tuple[float, Gradients]:
    """Return the loss and all gradients by TRL's names.

    Only our head has a bias; differences of rewards do not depend on it.
    """
    variant.model.zero_grad()
    loss = variant.step()
    torch.autograd.backward(loss)
    gradients = {
        peer_name(name, case.adapters): parameter.grad.clone()
        for name, parameter in variant.model.named_parameters()
        if parameter.grad is not None and name != "head.out.bias"
    }
    return loss.item(), gradients


def disagreement(variant: Variant, expected: tuple[float, Gradients], case: Case) -> float:
    """Return the larger of the relative differences of loss and gradients."""
    loss, gradients = loss_and_gradients(variant, case)
    return max(abs(loss - expected[0]) / abs(expected[0]), relative_difference(gradients, expected[1]))


def training_call(variant: Variant, case: Case) -> Callable[[], None]:
    """Return a call that computes gradients, followed by a step of AdamW if adapters are trained."""
    gradients = backward_call(variant.model, variant.step)
    if not case.adapters:
        return gradients
    optimizer = torch.optim.AdamW([p for p in variant.model.parameters() if p.requires_grad], lr=1e-5)

    def call() -> None:
        gradients()
        optimizer.step()

    return call


def measure(case: Case, sides: Sides, vocabulary: int) -> dict[str, Any]:
    """Check that the variants agree, and time them in turn; return the results that are printed as JSON."""
    variants = build_variants(case, sides, vocabulary)
    base = PEER if case.peer else ROWS
    expected = loss_and_gradients(variants[base], case)
    errors = {name: disagreement(variants[name], expected, case) for name in (ROWS, TREE) if name != base}
    assert max(errors.values()) < (BF16_TOLERANCE if case.bf16 else TOLERANCE), f"Loss or gradients differ: {errors}."
    if case.peer:
        loss_and_gradients(variants[ONE_PAIR], case)  # warm-up; the others have run
    times = cpu_milliseconds({name: training_call(variant, case) for name, variant in variants.items()}, case.rounds)
    minimum = {name: min(values) for name, values in times.items()}
    rows = {
        name: {
            "pairs": variant.pairs,
            "tokens": variant.tokens,
            "positions": variant.positions,
            "ms": minimum[name],
            "ms_median": statistics.median(times[name]),
            "ratio": minimum[base] / minimum[name],
            "token_ratio": variants[base].positions / variant.positions,
            "error": errors.get(name),
        }
        for name, variant in variants.items()
    }
    return {"case": case._asdict(), "variants": rows}


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one case as a table."""
    columns = ("pairs", "tokens", "with padding", "ms min", "ms median", "first / this", "of tokens", "difference")
    table = Table("variant", *columns, title=Case(**result["case"]).title)
    for name, row in result["variants"].items():
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        times = f"{row['ms']:.0f}", f"{row['ms_median']:.0f}", f"{row['ratio']:.2f}", f"{row['token_ratio']:.2f}"
        table.add_row(name, *(str(row[key]) for key in ("pairs", "tokens", "positions")), *times, error)
    return table


def figures(result: dict[str, Any]) -> list[Figure]:
    """Return the speedups of the tree."""
    case, variants = Case(**result["case"]), result["variants"]
    tree = variants[TREE]
    goals = {PEER: case.against_peer, ONE_PAIR: None, ROWS: case.against_rows}
    return [
        Figure(
            f"training step, {case.title}; against {name}",
            variants[name]["ms"] / tree["ms"],
            parity=f"{tree['error']:.0e}; tokens {variants[name]['positions'] / tree['positions']:.1f} ×",
            at_least=goal,
        )
        for name, goal in goals.items()
        if name in variants
    ]


def main(cases: Sequence[Case] = CASES, size: ModelSize = ModelSize()) -> list[Figure]:  # noqa: B008 - immutable
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console, measured = Console(width=120), []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            result = measure(case, build(folder, size, case.adapters), size.vocabulary)
        console.print(result_table(result))
        print(json.dumps(result), flush=True)
        measured += figures(result)
    return measured
