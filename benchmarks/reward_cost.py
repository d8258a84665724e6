"""Processor time of scoring 1,000 pairs with each offline scorer, as a reward function pays it: one thread, warm.

Four generated candidates per reference, in batches of 64 pairs, as a step of reinforcement learning scores them. The
caches of a scorer are filled by other reports first, never by the measured ones.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from benchmarks._figures import Figure
from radreward.cli import main as radreward
from radreward.data.records import read_groups
from radreward.integrations.rewards import scorer_rewards
from radreward.scorers import Scorer, load

SCORERS = (
    *("rouge-l", "bleu-4", "chrf", "meteor", "cider", "chexpert-f1", "entity-f1"),
    *("ratescore", "sentence-eval", "er2score", "bertscore"),
)
BATCH_SIZE, WARM_UP_PAIRS, PAIRS = 64, 64, 320


def seconds_per_1000(scorer: Scorer, pairs: Sequence[tuple[str, str]]) -> float:
    """Return the processor seconds per 1,000 pairs."""
    start = time.process_time()
    for first in range(0, len(pairs), BATCH_SIZE):
        references, candidates = zip(*pairs[first : first + BATCH_SIZE], strict=True)
        scorer_rewards(scorer, references, candidates, missing_reward=0.0)
    return (time.process_time() - start) * 1000 / len(pairs)


def make_pairs(count: int) -> list[tuple[str, str]]:
    """Return generated pairs, the candidates of a reference beside each other."""
    with tempfile.TemporaryDirectory() as folder:
        groups = str(count // 4 + 1)
        radreward(["synthesize", f"--groups={groups}", "--per-reference=4", "--seed=3", f"--output={folder}/data"])
        rows = read_groups(Path(folder, "data", "groups.parquet"))
        return [(group.reference, candidate.text) for group in rows for candidate in group.candidates][:count]


def main() -> list[Figure]:
    """Measure every scorer."""
    torch.set_num_threads(1)
    pairs = make_pairs(WARM_UP_PAIRS + PAIRS)
    measured = []
    for name in SCORERS:
        scorer = load(name).fit_references(reference for reference, _ in pairs)
        seconds_per_1000(scorer, pairs[:WARM_UP_PAIRS])
        measured.append(Figure(f"1,000 pairs by {name}", seconds_per_1000(scorer, pairs[WARM_UP_PAIRS:]), "s"))
    return measured
