"""A training step against TRL's RewardTrainer: the same decoder, the same pairs, the same loss and gradients.

One process, one thread, variants in turn, CPU time of forward and backward with collation, minimum and median.
Before anything is timed, the loss and all gradients of the variants that see the same pairs must agree. Lengths
vary by a tenth around those of the case, as they do in a batch of one length bucket; a quarter of the prefix is an
instruction that all references share. No optimizer step: it would be the same for all.
"""

from __future__ import annotations

import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from torch import Tensor, nn
from transformers import AutoModel, LlamaConfig, PreTrainedTokenizerFast

from radreward.criteria import Criteria, Criterion
from radreward.data.packing import Packing, pack
from radreward.models import Backbone, RewardModel
from radreward.objectives import BradleyTerry
from radreward.types import RewardBatch

PATHS = list[list[list[int]]]
"""Per candidate the token ids of instruction, reference and candidate."""
PEER, ONE_PAIR, ROWS, TREE, BATCH = "TRL, all pairs", "TRL, one pair", "rows", "tree", "batch trie"
SPECIAL = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"}
TOLERANCE = 5e-6
"""Relative to the norm of all gradients, in float32."""


class Case(NamedTuple):
    """What a batch holds, and how many times faster the tree is meant to be."""

    candidates: int
    prefix: int = 256
    candidate: int = 64
    groups: int = 2
    rounds: int = 5
    against_peer: float | None = None
    against_rows: float | None = None


CASES = (
    Case(3, against_peer=3, against_rows=2.5),
    Case(4, against_peer=7, against_rows=2.5),
    Case(8, rounds=3, against_rows=2.5),
    Case(4, prefix=32, candidate=256),  # next to nothing to share
)


class Size(NamedTuple):
    """Of the random decoder."""

    width: int = 256
    layers: int = 4
    vocabulary: int = 1000


SIZE = Size()


class Variant(NamedTuple):
    """One way to take a step: its loss by `step`, on so many pairs."""

    model: nn.Module
    step: Callable[[], Tensor]
    pairs: int
    tokens: int
    positions: int
    """Tokens with padding: what is computed."""


class Sides(NamedTuple):
    """TRL's trainer and our model, with equal weights."""

    trainer: Any
    ours: RewardModel


def build(folder: str, size: Size) -> Sides:
    """One saved random decoder, loaded by name on both sides; our head takes the weights of theirs."""
    from datasets import Dataset
    from trl.trainer.reward_config import RewardConfig
    from trl.trainer.reward_trainer import RewardTrainer

    config = LlamaConfig(
        vocab_size=size.vocabulary,
        hidden_size=size.width,
        intermediate_size=size.width * 8 // 3,
        num_hidden_layers=size.layers,
        num_attention_heads=4,
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    AutoModel.from_config(config).save_pretrained(folder)
    words = Tokenizer(WordLevel({token: i for i, token in enumerate(SPECIAL.values())}, SPECIAL["unk_token"]))
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
        processing_class=PreTrainedTokenizerFast(tokenizer_object=words, **SPECIAL),
    )
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    ours = RewardModel(Backbone(folder, lora=None, local_files_only=True), criteria)
    with torch.no_grad():
        ours.head.out.weight.copy_(trainer.model.score.weight)
    return Sides(trainer, ours)


def draw(case: Case, vocabulary: int) -> PATHS:
    """Random token paths, group by group; ids 0 to 2 are special."""
    source = torch.Generator().manual_seed(0)

    def piece(length: int, spread: float = 0.1) -> list[int]:
        factor = 1 + spread * (2 * float(torch.rand((), generator=source)) - 1)
        tokens: list[int] = torch.randint(3, vocabulary, (max(1, round(length * factor)),), generator=source).tolist()
        return tokens

    instruction, paths = piece(case.prefix // 4, 0), []
    for _ in range(case.groups):
        reference = piece(case.prefix - case.prefix // 4)
        paths += [[instruction, reference, piece(case.candidate)] for _ in range(case.candidates)]
    return paths


def pairs_of(case: Case) -> list[tuple[int, int]]:
    """All pairs of every group; the earlier candidate is the better one."""
    starts = range(0, case.groups * case.candidates, case.candidates)
    return [(s + i, s + j) for s in starts for i in range(case.candidates) for j in range(i + 1, case.candidates)]


def peer(trainer: Any, paths: PATHS, pairs: Sequence[tuple[int, int]]) -> Variant:
    """Collator and loss of TRL's trainer, as they are."""
    whole = [sum(path, []) for path in paths]
    examples = [{"chosen_ids": whole[i], "rejected_ids": whole[j]} for i, j in pairs]

    def step() -> Tensor:
        loss: Tensor = trainer.compute_loss(trainer.model, trainer.data_collator(examples))
        return loss

    mask = trainer.data_collator(examples)["attention_mask"]
    return Variant(trainer.model, step, len(pairs), int(mask.sum()), mask.numel())


def own(model: RewardModel, paths: PATHS, pairs: Sequence[tuple[int, int]], case: Case, packing: Packing) -> Variant:
    """Packing, model and objective of ours."""
    objective = BradleyTerry(use_criteria=False)
    rank = torch.arange(len(paths))
    quality, group = -(rank % case.candidates).float().unsqueeze(1), rank // case.candidates

    def step() -> Tensor:
        rewards = model(pack(paths, packing))
        return objective.reduce(objective(RewardBatch(rewards, quality, group, torch.tensor(pairs))))

    nodes = pack(paths, packing).node_ids
    return Variant(model, step, len(pairs), int((nodes >= 0).sum()), nodes.numel())


def variants(case: Case, sides: Sides, vocabulary: int) -> dict[str, Variant]:
    """By name, all on the same tokens."""
    paths, pairs = draw(case, vocabulary), pairs_of(case)
    first = pairs[:: len(pairs) // case.groups]
    return {
        PEER: peer(sides.trainer, paths, pairs),
        ONE_PAIR: peer(sides.trainer, paths, first),
        ROWS: own(sides.ours, paths, pairs, case, "rows"),
        TREE: own(sides.ours, paths, pairs, case, "tree"),
        BATCH: own(sides.ours, paths, pairs, case, "batch"),
    }


def loss_and_gradients(variant: Variant) -> tuple[float, dict[str, Tensor]]:
    """The loss, and the gradients under TRL's names."""
    variant.model.zero_grad()
    loss = variant.step()
    torch.autograd.backward(loss)
    gradients = {}
    for name, parameter in variant.model.named_parameters():
        assert parameter.grad is not None, name
        name = name.replace("encoder.", "model.").replace("head.out.", "score.")
        gradients[name] = parameter.grad.clone()
    return loss.item(), gradients


def disagreement(variant: Variant, expected: tuple[float, dict[str, Tensor]]) -> float:
    """The larger of the relative differences of loss and of all gradients (by norm).

    The bias of our head is no part of theirs: a difference of rewards does not depend on it.
    """
    loss, gradients = loss_and_gradients(variant)
    known = expected[1]
    bias = gradients.pop("score.bias", None)
    assert gradients.keys() == known.keys()
    assert bias is None or float(bias.abs().max()) < TOLERANCE
    apart = math.sqrt(sum(float((gradients[name] - known[name]).square().sum()) for name in known))
    norm = math.sqrt(sum(float(value.square().sum()) for value in known.values()))
    return max(abs(loss - expected[0]) / abs(expected[0]), apart / norm)


def measure(case: Case, sides: Sides, vocabulary: int) -> dict[str, Any]:
    """Check that the variants agree, then time them in turn: what is printed as a line of JSON."""
    every = variants(case, sides, vocabulary)
    expected = loss_and_gradients(every[PEER])
    errors = {name: disagreement(every[name], expected) for name in (ROWS, TREE, BATCH)}
    assert max(errors.values()) < TOLERANCE, f"Loss or gradients differ: {errors}."
    loss_and_gradients(every[ONE_PAIR])  # the others are warm by now
    spent: dict[str, list[float]] = {name: [] for name in every}
    for _ in range(case.rounds):
        for name, variant in every.items():
            variant.model.zero_grad()
            begin = time.process_time()
            torch.autograd.backward(variant.step())
            spent[name].append(1000 * (time.process_time() - begin))
    least = {name: min(values) for name, values in spent.items()}
    found = {
        name: {
            "pairs": variant.pairs,
            "tokens": variant.tokens,
            "positions": variant.positions,
            "ms": least[name],
            "ms_median": statistics.median(spent[name]),
            "ratio": least[PEER] / least[name],
            "ratio_by_positions": least[PEER] / least[name] / (every[PEER].positions / variant.positions),
            "error": errors.get(name),
        }
        for name, variant in every.items()
    }
    once, sharing = least[PEER] / least[ROWS], least[ROWS] / least[TREE]
    return {"case": case._asdict(), "variants": found, "once": once, "sharing": sharing}


def table(result: dict[str, Any]) -> Table:
    """The variants of one case."""
    case = Case(**result["case"])
    title = f"{case.groups} groups of {case.candidates}: prefix {case.prefix}, candidate {case.candidate} tokens"
    heads = ("pairs", "tokens", "with padding", "ms min", "ms median", "TRL / this", "÷ token ratio", "differs by")
    printed = Table("variant", *heads, title=title)
    for name, row in result["variants"].items():
        error = "" if row["error"] is None else f"{row['error']:.0e}"
        times = f"{row['ms']:.0f}", f"{row['ms_median']:.0f}", f"{row['ratio']:.2f}", f"{row['ratio_by_positions']:.2f}"
        printed.add_row(name, *(str(row[key]) for key in ("pairs", "tokens", "positions")), *times, error)
    return printed


def summary(result: dict[str, Any]) -> list[str]:
    """Where the tree's advantage comes from, and whether the targets are met."""
    once, sharing, case = result["once"], result["sharing"], Case(**result["case"])
    whole = once * sharing
    lines = [f"TRL / tree {whole:.2f} = {once:.2f} (each candidate encoded once) x {sharing:.2f} (prefix shared)"]
    if once > 1 and sharing > 1:
        lines[0] += (
            f"; in logarithms {math.log(once) / math.log(whole):.0%} and {math.log(sharing) / math.log(whole):.0%}"
        )
    goals = (("TRL / tree", whole, case.against_peer), ("rows / tree", sharing, case.against_rows))
    for name, value, goal in goals:
        if goal is not None:
            lines.append(f"{name}: {value:.2f}, target {goal:g}: {'met' if value >= goal else 'MISSED'}")
    return lines


def main(cases: Sequence[Case] = CASES, size: Size = SIZE) -> None:
    """Measure and print; a missed target is said, not an error."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console = Console(width=120)
    with tempfile.TemporaryDirectory() as folder:
        sides = build(folder, size)
        for case in cases:
            result = measure(case, sides, size.vocabulary)
            console.print(table(result))
            for line in summary(result):
                console.print(line, highlight=False)
            print(json.dumps(result), flush=True)
