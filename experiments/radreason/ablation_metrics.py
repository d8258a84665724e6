"""Metrics of an evaluator's answers, for the ablation of RadReason, and tests with seeds as the unit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import Tensor

from radreward.objectives.functional.accuracy_rewards import gaussian_accuracy
from radreward.objectives.functional.advantages import majority_mask
from radreward.statistics.paired_tests import holm, sign_flip_test

SIGMA = 0.5
DIFFICULTIES = ("hard", "medium", "easy")
"""Thirds of the prompts by the agreement of the start's majority answer with the true counts, lowest first."""


def majority_counts(sampled: Tensor) -> Tensor:
    """Return the (n, N) counts of the most frequent of (n, G, N) sampled answers, see `majority_mask`; NaN without one.

    >>> majority_counts(torch.tensor([[[1.0], [2.0], [1.0]]])).tolist()
    [[1.0]]
    """
    mask = majority_mask(sampled)
    counts = sampled[torch.arange(len(sampled)), mask.int().argmax(1)]
    return counts.masked_fill(~mask.any(1, keepdim=True), torch.nan)


def prompt_agreement(sampled: Tensor, target: Tensor) -> Tensor:
    """Return the (n,) γ of MGAS: accuracy reward of the majority answer to each prompt, 0 without one."""
    return gaussian_accuracy(majority_counts(sampled), target, SIGMA).nan_to_num(0.0).mean(-1)


def f1_by_criterion(predicted: Tensor, target: Tensor) -> Tensor:
    """Return (N,) F1 of "has an error" from (n, N) counts; an unparsable count states no error; NaN without errors.

    >>> f1_by_criterion(torch.tensor([[1.0], [1.0], [0.0]]), torch.tensor([[2.0], [0.0], [0.0]])).tolist()
    [0.6666666865348816]
    """
    stated, actual = predicted.nan_to_num(0.0) >= 0.5, target >= 0.5
    hits, wrong = (stated & actual).sum(0), (stated ^ actual).sum(0)
    return 2 * hits / (2 * hits + wrong)


def answer_metrics(
    greedy: Tensor, sampled: Tensor, target: Tensor, agreement: Tensor, tags: Sequence[str]
) -> dict[str, float]:
    """Return the metrics of one run.

    Args:
        greedy: (n, N) counts of the most likely answers; NaN if unparsable.
        sampled: (n, G, N) counts of sampled answers.
        target: (n, N) true counts.
        agreement: (n,) `prompt_agreement` of the start, which defines the difficulty of the prompts.
        tags: N criteria.
    """
    majority = majority_counts(sampled)
    exact = (greedy == target).float()
    f1 = f1_by_criterion(greedy, target)
    thirds = agreement.argsort(stable=True).tensor_split(len(DIFFICULTIES))
    own_agreement = prompt_agreement(sampled, target)
    stated = greedy.sum(-1)
    return {
        "greedy": float(gaussian_accuracy(greedy, target, SIGMA).mean()),
        "sampled": float(gaussian_accuracy(sampled, target.unsqueeze(1), SIGMA).mean()),
        "exact": float(exact.mean()),
        "majority": float((majority == target).float().mean()),
        "F1": float(f1.nanmean()),
        "worst F1": float(f1[~f1.isnan()].min()) if not f1.isnan().all() else float("nan"),
        "stated errors": float(stated[~stated.isnan()].mean()) if not stated.isnan().all() else float("nan"),
        **{f"exact, {name}": float(exact[part].mean()) for name, part in zip(DIFFICULTIES, thirds, strict=True)},
        **{f"γ, {name}": float(own_agreement[part].mean()) for name, part in zip(DIFFICULTIES, thirds, strict=True)},
        **{f"F1 {tag}": float(value) for tag, value in zip(tags, f1, strict=True)},
    }


def seed_differences(
    runs: Mapping[str, Mapping[int, float]], baseline: str
) -> dict[str, tuple[float, float, float, int]]:
    """Return, per variant, mean difference to a baseline, p, p after Holm, and the number of seeds that both have.

    A seed is the unit: runs with the same seed share their prompts and their order, and their differences are the
    values of a two-sided sign-flip test. With n seeds, p is at least 2 / 2^n.

    Args:
        runs: Variant → seed → value of a metric.
        baseline: Name of the variant to compare with.

    >>> seed_differences({"a": {0: 1.0, 1: 1.0}, "b": {0: 2.0, 1: 3.0}}, "a")
    {'b': (1.5, 0.5, 0.5, 2)}
    """
    results = {}
    for name, values in runs.items():
        seeds = sorted(set(values) & set(runs[baseline]))
        if name == baseline or not seeds:
            continue
        differences = np.array([values[seed] - runs[baseline][seed] for seed in seeds])
        p = float(sign_flip_test(differences[:, None])[0])
        results[name] = (float(differences.mean()), p, len(seeds))
    corrected = holm([p for _, p, _ in results.values()])
    return {
        name: (mean, p, p_holm, count)
        for (name, (mean, p, count)), p_holm in zip(results.items(), corrected, strict=True)
    }
