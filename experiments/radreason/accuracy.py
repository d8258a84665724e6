"""Rewards of generative evaluators on held-out prompts, before and after GRPO, over the seeds of a study.

Two more tables compare each variant, averaged over its runs, with the start and with the first variant: differences of
the reward of greedy answers, of the share of pairs that they order right, and of the reward of sampled answers, with
bootstrap intervals and sign-flip tests over references, p Holm-corrected over the variants.

radreward tune --config experiments/radreason/grpo_components.yaml
python experiments/radreason/accuracy.py --start runs/radreason-one-more --study runs/radreason-components
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from math import isnan, nan
from pathlib import Path
from statistics import mean, stdev
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from rich.progress import track
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.records import read_groups
from radreward.data.split import normalize_text
from radreward.metrics.functional import kendall_tau_b
from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator
from radreward.models.rollout_engine import SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.objectives.functional.accuracy_rewards import gaussian_accuracy
from radreward.statistics.paired_tests import concordant_pairs, holm, paired_differences
from radreward.types import ReportGroup

SIGMA = 0.5
Floats = NDArray[np.float64]


class AnswersByReference(NamedTuple):
    """Answers of an evaluator by reference, for the paired tests.

    Attributes:
        sums: (G, 2) of greedy answers: sum of the rewards of all counts; pairs of candidates in the right order. With
            sampled answers (G, 3): sum of their rewards, averaged over the samples.
        sizes: Likewise, number of counts; pairs with different numbers of errors; number of counts.
    """

    sums: Floats
    sizes: Floats


def main() -> None:
    """Print one row for the best constant answer, the start, and each variant: mean ± SD over seeds; then the tests."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True, help="run whose weights the policies started from")
    parser.add_argument("--study", type=Path, help="study whose variants are compared")
    parser.add_argument("--variants", default="components", help="name of the variants in the study")
    parser.add_argument("--data", type=Path, default=Path("runs/plain-test/groups.parquet"), help="held-out groups")
    parser.add_argument("--seen", type=Path, nargs="*", default=[], help="groups whose references are excluded")
    parser.add_argument("--completions", type=int, default=4, help="samples per prompt, 0 for none")
    options = parser.parse_args()
    seen = {normalize_text(group.reference) for path in options.seen for group in read_groups(path)}
    groups = [group for group in read_groups(options.data) if normalize_text(group.reference) not in seen]
    print(f"{len(groups)} references that are not in {', '.join(map(str, options.seen)) or 'any other file'}")
    runs: dict[str, list[Path]] = defaultdict(list, start=[options.start])
    for record in sorted(options.study.glob("trials/*/trial.json") if options.study else ()):
        trial = json.loads(record.read_text(encoding="utf-8"))
        if trial["state"] == "complete":
            runs[trial["params"][options.variants]].append(record.parent)
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    criteria = load_generative_evaluator(options.start / "model").prompt_encoder.criteria
    target = target_counts(groups, criteria)
    print(f"{len(target)} candidates with {target.sum(-1).mean():.3f} errors on average")
    results["best constant answer"] = [best_constant(target)]
    answers: dict[str, list[AnswersByReference]] = defaultdict(list)
    for name, folder in track([(name, folder) for name, folders in runs.items() for folder in folders], "Evaluating"):
        row, by_reference = evaluate(load_generative_evaluator(folder / "model"), groups, options.completions)
        results[name].append(row)
        answers[name].append(by_reference)
    columns = list(results["start"][0])
    print("| | runs | " + " | ".join(columns) + " |")
    print("| --- | ---: |" + " ---: |" * len(columns))
    for name, rows in results.items():
        print(f"| {name} | {len(rows)} | " + " | ".join(mean_std([row[key] for row in rows]) for key in columns) + " |")
    for baseline in list(answers)[:2]:
        print_differences(baseline, answers)


def print_differences(baseline: str, answers: dict[str, list[AnswersByReference]]) -> None:
    """Print the differences of all other variants to a baseline, if there are any."""
    variants = [name for name in answers if name not in (baseline, "start")]
    if not variants:
        return
    sums = {name: np.mean([run.sums for run in runs], 0) for name, runs in answers.items()}
    sizes = answers[baseline][0].sizes
    results = [paired_differences(sums[name], sums[baseline], sizes) for name in variants]  # one seed: same resamples
    corrected = np.transpose([holm(p) for p in np.transpose([result.p for result in results]).tolist()])
    names = ("greedy", "pairs", "sampled")[: sizes.shape[1]]
    print(f"\n| against {baseline} | {' | '.join(f'Δ {name} | 95 % | Holm' for name in names)} |")
    print(f"| --- |{3 * len(names) * ' ---: |'}")
    for name, result, p_holm in zip(variants, results, corrected, strict=True):
        columns = zip(result.difference, result.low, result.high, p_holm, strict=True)
        cells = [f"{value:+.3f} | {low:+.3f} to {high:+.3f} | {p:.3f}" for value, low, high, p in columns]
        print(f"| {name} | {' | '.join(cells)} |")


def evaluate(
    evaluator: GenerativeEvaluator, groups: list[ReportGroup], num_completions: int
) -> tuple[dict[str, float], AnswersByReference]:
    """Return mean accuracy rewards of sampled and of greedy answers; of the latter also agreement and errors stated."""
    encoder = evaluator.prompt_encoder
    prompts = [
        encoder.encode(group.reference, candidate.text, truncate=False)[0].segments
        for group in groups
        for candidate in group.candidates
    ]
    target = target_counts(groups, encoder.criteria)
    engine = TransformersEngine(evaluator.model, encoder.tokenizer, 256)
    stop = (evaluator.template.stop_string(encoder.criteria) or "",)

    def counts_and_rewards(params: SamplingParams) -> tuple[Tensor, Tensor]:
        """Return (n, G, N) counts and rewards."""
        texts = [[completion.text for completion in group] for group in engine.sample(prompts, params)]
        parsed = [[evaluator.template.parse(text, encoder.criteria).values for text in group] for group in texts]
        counts = torch.tensor([[[torch.nan if v is None else v for v in row] for row in group] for group in parsed])
        return counts, gaussian_accuracy(counts, target.unsqueeze(1), SIGMA)

    sampled = None
    if num_completions:
        params = SamplingParams(num_completions, encoder.max_answer_length, stop=stop)
        sampled = counts_and_rewards(params)[1].mean(1)  # (n, N)
    params = SamplingParams(1, encoder.max_answer_length, temperature=0.0, stop=stop)
    counts, rewards = (values[:, 0] for values in counts_and_rewards(params))
    total = counts.sum(-1)
    defined = ~total.isnan()
    answers = _by_reference(rewards, total, target, groups, sampled)
    row = {
        "sampled": nan if sampled is None else float(sampled.mean()),
        "greedy": float(rewards.mean()),
        "exact": float((counts == target).float().mean()),
        "τ-b": float(kendall_tau_b(total[defined], target.sum(-1)[defined])),
        "pairs": float(answers.sums[:, 1].sum() / max(1, answers.sizes[:, 1].sum())),
        "errors": float(total[defined].mean()),
    }
    return row, answers


def _by_reference(
    rewards: Tensor, total: Tensor, target: Tensor, groups: list[ReportGroup], sampled: Tensor | None
) -> AnswersByReference:
    """Return (n, N) rewards and (n,) totals summed by reference; an answer without a count ranks last."""
    index = np.repeat(np.arange(len(groups)), [len(group.candidates) for group in groups])
    num_counts = np.bincount(index) * target.shape[1]
    targets = -target.sum(-1, keepdim=True).double().numpy()
    predicted = -total.nan_to_num(1e9).unsqueeze(-1).double().numpy()
    concordant, comparable = concordant_pairs(predicted, targets, index)
    sums, sizes = [_reward_sums(rewards, index), concordant], [num_counts, comparable]
    if sampled is not None:
        sums.append(_reward_sums(sampled, index))
        sizes.append(num_counts)
    return AnswersByReference(np.column_stack(sums), np.column_stack(sizes).astype(np.float64))


def _reward_sums(rewards: Tensor, index: NDArray[np.int64]) -> Floats:
    """Return (n, N) rewards summed over the candidates and counts of each reference."""
    sums: Floats = np.bincount(index, weights=rewards.sum(-1).double().numpy()).astype(np.float64)
    return sums


def best_constant(target: Tensor) -> dict[str, float]:
    """Return the values of `evaluate` for the constant answer with the highest reward of each criterion.

    Args:
        target: (n, N) error counts.

    >>> best_constant(torch.tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))["exact"]
    0.8333333134651184
    """
    answers = torch.arange(float(target.max()) + 1).view(-1, 1, 1)  # (counts, 1, 1)
    rewards = gaussian_accuracy(answers, target, SIGMA).mean(1)  # (counts, N)
    best = rewards.argmax(0)  # (N,) counts
    reward, exact = float(rewards.max(0).values.mean()), float((best == target).float().mean())
    return {"sampled": reward, "greedy": reward, "exact": exact, "τ-b": nan, "pairs": nan, "errors": float(best.sum())}


def target_counts(groups: list[ReportGroup], criteria: Criteria) -> Tensor:
    """Return the (n, N) error counts of all candidates."""
    return torch.stack([criteria.to_tensor(entry.errors or {}) for group in groups for entry in group.candidates])


def mean_std(values: list[float]) -> str:
    """Return mean and SD over seeds; a dash if undefined, such as the correlation of a constant.

    >>> mean_std([0.5, 0.7]), mean_std([0.5])
    ('0.600 ± 0.141', '0.500')
    """
    if any(map(isnan, values)):
        return "–"
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
