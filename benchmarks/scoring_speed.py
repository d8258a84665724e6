"""Pairs per second on one core: the scorer against padded batches of transformers, in fp32 and in bf16.

The peer is one row per pair with its reference and candidate, padded to the longest of its batch, in the same
precision: in the order of the file, and sorted by length in the batch size that is fastest in the first round. The same
weights with merged adapters, the same pooling and head; references see only themselves. One process, one thread,
variants in turn, CPU time, minimum and median. Totals must agree within `TOLERANCES`. Two types of files: reports of 60
words, and log-normal lengths similar to those of real reports.
"""

from __future__ import annotations

import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import torch
from rich.console import Console
from rich.table import Table
from scipy.stats import kendalltau
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers import BertConfig, BertModel

import radreward
from benchmarks._figures import Figure
from radreward.criteria import RadCliQCriteria
from radreward.data.packing import pack_paths
from radreward.data.prompt_encoder import PromptEncoder
from radreward.models import Backbone, PooledRewardModel, RewardModel, RewardModelArtifact
from radreward.models.bert import BertSizes
from radreward.models.precision import Precision, has_bfloat16_products
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.scorer import EMBEDDED_DIR, RewardModelScorer, for_inference
from radreward.types import TokenPath

VOCABULARY = (
    "the a of is are no with and left right lung heart effusion small large mild severe stable clear new pleural basal "
    "opacity nodule catheter tip upper lower lobe normal size silhouette unchanged pneumothorax spine"
)
MEDIAN, LONGEST = 60, 150
"""Words per report."""
BATCHES = (4, 8, 16, 32)
"""Rows per batch of the sorted peer; the largest also in the order of the file."""
FILE_ORDER, SORTED, SCORER = "padded, file order", "padded, sorted", "scorer"
TOLERANCES: dict[Precision, float] = {"fp32": 1e-2, "bf16": 0.5}
"""Largest difference between a total of the scorer and that of a peer, plus a ten-thousandth of the total. The scorer
rounds each of twelve rewards to four decimals, and leaves out the evidence of tokens outside of statements (up to 2e-3,
measured)."""
Totals = Callable[[Sequence[str], Sequence[str]], Tensor]


class Case(NamedTuple):
    """A file, and targets."""

    candidates: int
    """Candidates per reference, next to each other."""
    pairs: int
    spread: float = 0.0
    """Standard deviation of the logarithm of the number of words."""
    pairs_per_second: float | None = None
    """In each precision."""
    against_file_order: float | None = None
    against_sorted: float | None = None
    rounds: int = 3

    @property
    def title(self) -> str:
        """Pairs and lengths in words."""
        lengths = f"log-normal around {MEDIAN} words" if self.spread else f"{MEDIAN} words"
        return f"{self.pairs} pairs, {self.candidates} of a reference, reports of {lengths}"


CASES = (
    Case(1, 32, pairs_per_second=40),
    Case(4, 64, pairs_per_second=40),
    Case(1, 64, spread=0.5),
    Case(4, 128, spread=0.5, against_file_order=3, against_sorted=2),
)


def random_reports(case: Case) -> tuple[list[str], list[str]]:
    """Return references and candidates, pair by pair."""
    rng, vocabulary = random.Random(0), VOCABULARY.split()

    def report() -> str:
        words = min(LONGEST, round(MEDIAN * rng.lognormvariate(0, case.spread)))
        return " ".join(rng.choices(vocabulary, k=words))

    references = [report() for _ in range(case.pairs // case.candidates)]
    repeated = [reference for reference in references for _ in range(case.candidates)]
    return repeated, [report() for _ in repeated]


def peer_totals(saved: RewardModelArtifact, batch: int, in_file_order: bool, precision: Precision) -> Totals:
    """Return a function that scores padded batches with transformers."""
    model = for_inference(saved.model, "fp32")
    prompts = PromptEncoder(model.backbone.name, model.criteria, saved.template, saved.max_length)
    encoder = transformers_bert(model)
    if precision == "bf16":
        encoder.to(torch.bfloat16)

    @torch.inference_mode()
    def totals(references: Sequence[str], candidates: Sequence[str]) -> Tensor:
        pairs = zip(references, candidates, strict=True)
        paths = [prompts.encode(*pair, truncate=True)[0] for pair in pairs]
        order = list(range(len(paths)))
        if not in_file_order:
            order.sort(key=lambda row: paths[row].num_tokens)
        rewards = torch.empty(len(paths), len(model.criteria))
        for start in range(0, len(order), batch):
            rows = order[start : start + batch]
            chosen = [paths[row] for row in rows]
            rewards[rows] = model.read_out(padded_states(encoder, chosen), pack_paths(chosen, "rows")).rewards
        return model.criteria.total(rewards)

    return totals


def transformers_bert(model: RewardModel) -> Any:
    """Return the encoder of transformers with the weights of a model without adapters."""
    ours = model.encoder.state_dict()
    sizes: dict[str, Any] = {field.name: getattr(model.config, field.name) for field in fields(BertSizes)}
    encoder: Any = BertModel(BertConfig(**sizes), add_pooling_layer=False)
    encoder.load_state_dict(ours)
    return encoder.eval()


def padded_states(encoder: Any, paths: Sequence[TokenPath]) -> Tensor:
    """Return the (T, H) states of all tokens, in padded rows. A node sees itself and the shared ones before it."""
    packed = [pack_paths([path], "rows") for path in paths]
    ids, positions, nodes = (
        pad_sequence(rows, batch_first=True, padding_value=padding)
        for rows, padding in (
            ([row.input_ids for row in packed], 0),
            ([row.position_ids for row in packed], 0),
            (
                [
                    torch.arange(len(row.node_lengths)).repeat_interleave(torch.tensor(row.node_lengths))
                    for row in packed
                ],
                -1,
            ),
        )
    )
    is_shared = nodes < torch.tensor([[len(path.shared)] for path in paths])
    own, other = nodes[:, :, None], nodes[:, None]
    visible = (other >= 0) & ((other == own) | (is_shared[:, None] & (other < own)))
    visible |= own < 0  # padding sees everything, so that no row of the softmax is empty
    mask = torch.zeros(visible.shape, dtype=encoder.dtype)
    mask = mask.masked_fill_(~visible, torch.finfo(encoder.dtype).min)[:, None]
    states: Tensor = encoder(ids, attention_mask=mask, position_ids=positions).last_hidden_state
    return states[nodes >= 0].float()


def build_variants(saved: RewardModelArtifact, precision: Precision) -> dict[str, Totals]:
    """Return the scorer and its peers in one precision, by name."""
    scorer = RewardModelScorer(saved, precision, on_too_long="truncate")
    variants = {f"{SORTED} by {batch}": peer_totals(saved, batch, False, precision) for batch in BATCHES}
    variants[FILE_ORDER] = peer_totals(saved, max(BATCHES), True, precision)
    return variants | {SCORER: lambda references, candidates: scorer.score(references, candidates).total}


def measure(case: Case, variants: dict[str, Totals], precision: Precision) -> tuple[dict[str, Any], Tensor]:
    """Time the variants in turn and compare their totals; return results for JSON, and the totals of the scorer."""
    pairs = random_reports(case)
    times: dict[str, list[float]] = {name: [] for name in variants}
    totals = {}
    timed = dict(variants)
    for number in range(case.rounds):
        for name, score in timed.items():
            start = time.process_time()
            totals[name] = score(*pairs)
            times[name].append(time.process_time() - start)
        if number == 0:  # of the sorted peers, the fastest one stays
            peers = sorted((name for name in times if name.startswith(SORTED)), key=times.__getitem__)
            timed = {name: score for name, score in variants.items() if name not in peers[1:]}
    for name in variants:
        torch.testing.assert_close(totals[SCORER], totals[name], rtol=1e-4, atol=TOLERANCES[precision])
    minimum = {name: min(values) for name, values in times.items()}
    best = min((name for name in variants if name.startswith(SORTED)), key=minimum.__getitem__)
    result = {
        "case": case._asdict(),
        "precision": precision,
        "pairs_per_second": {name: case.pairs / value for name, value in minimum.items()},
        "pairs_per_second_median": {name: case.pairs / statistics.median(value) for name, value in times.items()},
        "against_sorted": {name: minimum[best] / value for name, value in minimum.items()},
        "against_file_order": {name: minimum[FILE_ORDER] / value for name, value in minimum.items()},
    }
    return result, totals[SCORER]


def result_table(result: dict[str, Any]) -> Table:
    """Return the variants of one case as a table."""
    columns = ("pairs/s best", "pairs/s median", "against file order", "against sorted")
    title = f"{Case(**result['case']).title}, {result['precision']}"
    table = Table("variant", *columns, title=title)
    for name, best in result["pairs_per_second"].items():
        ratios = (result[ratio][name] for ratio in ("against_file_order", "against_sorted"))
        figures = (f"{value:.2f}" for value in ratios)
        table.add_row(name, f"{best:.1f}", f"{result['pairs_per_second_median'][name]:.1f}", *figures)
    return table


def figures(result: dict[str, Any], parity: str) -> list[Figure]:
    """Return the speed of the scorer and its speedups over the peers in the same precision."""
    case, precision = Case(**result["case"]), result["precision"]
    work = f"{SCORER} {precision}, {case.title}"
    peer_parity = f"{TOLERANCES[precision]:g}"
    return [
        Figure(work, result["pairs_per_second"][SCORER], "pairs/s", parity, at_least=case.pairs_per_second),
        *(
            Figure(f"{work}; against {peer}", result[key][SCORER], parity=peer_parity, at_least=goal)
            for peer, key, goal in (
                (FILE_ORDER, "against_file_order", case.against_file_order),
                (SORTED, "against_sorted", case.against_sorted),
            )
        ),
    ]


def load_model() -> tuple[RewardModelArtifact, str]:
    """Return the shipped model, or without it its backbone with a random head, and a description."""
    if EMBEDDED_DIR.is_dir():
        scorer = radreward.load("er2score")
        assert isinstance(scorer, RewardModelScorer)
        return scorer.artifact, "the embedded model"
    return RewardModelArtifact(
        PooledRewardModel(Backbone(), RadCliQCriteria()).eval(), PlainPairTemplate(), 512
    ), "an untrained head"


def main(cases: Sequence[Case] = CASES, saved: RewardModelArtifact | None = None) -> list[Figure]:
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    console, measured = Console(width=100), []
    chosen, name = (saved, "a given model") if saved else load_model()
    console.print(f"One thread, {name}.")
    precisions: tuple[Precision, ...] = ("fp32", "bf16") if has_bfloat16_products() else ("fp32",)
    if len(precisions) == 1:
        print("No bf16: this CPU has no bfloat16 products (AMX or AVX512-BF16).")
    variants = {precision: build_variants(chosen, precision) for precision in precisions}
    for case in cases:
        totals: dict[str, Tensor] = {}
        for precision in precisions:
            result, totals[precision] = measure(case, variants[precision], precision)
            console.print(result_table(result))
            parity = ""
            if precision == "bf16":
                parity = f"τ-b with fp32 {kendalltau(totals['fp32'], totals['bf16']).statistic:.3f}"
            print(json.dumps(result), flush=True)
            measured += figures(result, parity)
    return measured
