"""Pairs a second of the embedded backbone on one core: precisions, and sharing against padded rows.

One process, variants in turn, CPU time, minimum and median; parity is asserted in the same run.
"""

from __future__ import annotations

import random
import statistics
import time

import torch
from scipy.stats import kendalltau

from radreward.criteria import RadCliQ
from radreward.models import Backbone, RewardModel, SavedModel
from radreward.prompts import PairTemplate
from radreward.scorers import RewardModelScorer

WORDS = [
    "the",
    "a",
    "of",
    "is",
    "are",
    "no",
    "with",
    "and",
    "left",
    "right",
    "lung",
    "heart",
    "effusion",
    "small",
    "large",
    "mild",
    "severe",
    "stable",
    "clear",
    "new",
    "pleural",
    "basal",
    "opacity",
    "nodule",
    "catheter",
    "tip",
    "upper",
    "lower",
    "lobe",
    "normal",
    "size",
    "silhouette",
    "unchanged",
    "pneumothorax",
    "spine",
]
ROUNDS, REFERENCES, LENGTH = 3, 8, 60


def texts(candidates: int) -> tuple[list[str], list[str]]:
    """`REFERENCES` reports of 60 words with so many candidates each."""
    draw = random.Random(0)  # noqa: S311 - words, not secrets
    reports = [" ".join(draw.choices(WORDS, k=LENGTH)) for _ in range(REFERENCES * (1 + candidates))]
    return [r for r in reports[:REFERENCES] for _ in range(candidates)], reports[REFERENCES:]


def main() -> None:
    """Print the table."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    saved = SavedModel(RewardModel(Backbone(), RadCliQ()).eval(), PairTemplate(), 512)
    naive = RewardModelScorer(saved, packing="rows", batch_tokens=16_384)
    scorers = {
        "fp32 rows": naive,
        "fp32 shared": RewardModelScorer(saved),
        "int8 shared": RewardModelScorer(saved, "int8"),
    }
    print("candidates  variant       pairs/s best  pairs/s median")
    for candidates in (1, 4):
        pairs = texts(candidates)
        seconds: dict[str, list[float]] = {name: [] for name in scorers}
        totals = {}
        for _ in range(ROUNDS):
            for name, scorer in scorers.items():
                begin = time.process_time()
                totals[name] = scorer.score(*pairs).total
                seconds[name].append(time.process_time() - begin)
        torch.testing.assert_close(totals["fp32 shared"], totals["fp32 rows"], rtol=1e-4, atol=1e-5)
        for name, spent in seconds.items():
            best, median = (len(pairs[0]) / value for value in (min(spent), statistics.median(spent)))
            print(f"{candidates:10d}  {name:12s}  {best:12.1f}  {median:14.1f}")
        rows, shared = (min(seconds[name]) for name in ("fp32 rows", "fp32 shared"))
        tau = kendalltau(totals["fp32 shared"], totals["int8 shared"]).statistic
        print(f"{candidates:10d}  shared is {rows / shared:.2f} times rows; tau of int8 with fp32 {tau:.3f}")


if __name__ == "__main__":
    main()
