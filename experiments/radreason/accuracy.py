"""Rewards of generative evaluators on held-out prompts, before and after GRPO, over the seeds of a study.

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

import torch
from rich.progress import track
from torch import Tensor

from radreward.criteria import Criteria
from radreward.data.records import read_groups
from radreward.data.split import normalize_text
from radreward.generative.evaluator import GenerativeEvaluator, load_generative_evaluator
from radreward.metrics.functional import kendall_tau_b
from radreward.models.rollout_engine import SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.objectives.functional.policy import gaussian_accuracy
from radreward.types import ReportGroup

SIGMA = 0.5


def main() -> None:
    """Print one row for the best constant answer, the start, and each variant: mean ± SD over seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True, help="run whose weights the policies started from")
    parser.add_argument("--study", type=Path, help="study whose variants are compared")
    parser.add_argument("--variants", default="components", help="name of the variants in the study")
    parser.add_argument("--data", type=Path, default=Path("runs/plain-test/groups.parquet"), help="held-out groups")
    parser.add_argument("--seen", type=Path, nargs="*", default=[], help="groups whose references are excluded")
    parser.add_argument("--completions", type=int, default=4, help="number of samples per prompt")
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
    results["best constant answer"] = [best_constant(target_counts(groups, criteria))]
    for name, folder in track([(name, folder) for name, folders in runs.items() for folder in folders], "Evaluating"):
        results[name].append(evaluate(load_generative_evaluator(folder / "model"), groups, options.completions))
    columns = list(results["start"][0])
    print("| | runs | " + " | ".join(columns) + " |")
    print("| --- | ---: |" + " ---: |" * len(columns))
    for name, rows in results.items():
        print(f"| {name} | {len(rows)} | " + " | ".join(mean_std([row[key] for row in rows]) for key in columns) + " |")


def evaluate(evaluator: GenerativeEvaluator, groups: list[ReportGroup], num_completions: int) -> dict[str, float]:
    """Return mean accuracy rewards of sampled and of greedy answers, and the agreement of the greedy ones."""
    encoder = evaluator.prompt_encoder
    prompts = [
        encoder.encode(group.reference, candidate.text, truncate=False)[0]
        for group in groups
        for candidate in group.candidates
    ]
    target = target_counts(groups, encoder.criteria)
    engine = TransformersEngine(evaluator.model, encoder.tokenizer, 256)
    stop = (evaluator.template.stop_string(encoder.criteria) or "",)
    result: dict[str, float] = {}
    for name, params in (
        ("sampled", SamplingParams(num_completions, encoder.max_answer_length, stop=stop)),
        ("greedy", SamplingParams(1, encoder.max_answer_length, temperature=0.0, stop=stop)),
    ):
        texts = [[completion.text for completion in group] for group in engine.sample(prompts, params)]
        parsed = [[evaluator.template.parse(text, encoder.criteria).values for text in group] for group in texts]
        counts = torch.tensor([[[torch.nan if v is None else v for v in row] for row in group] for group in parsed])
        result[name] = float(gaussian_accuracy(counts, target.unsqueeze(1), SIGMA).mean())  # counts are (n, G, N)
    greedy = counts[:, 0]
    result["exact"] = float((greedy == target).float().mean())
    total = greedy.sum(-1)
    defined = ~total.isnan()
    result["τ-b"] = float(kendall_tau_b(total[defined], target.sum(-1)[defined]))
    return result


def best_constant(target: Tensor) -> dict[str, float]:
    """Return the values of `evaluate` for the constant answer with the highest reward of each criterion.

    Args:
        target: (n, N) error counts.

    >>> best_constant(torch.tensor([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))["exact"]
    0.8333333134651184
    """
    answers = torch.arange(float(target.max()) + 1).view(-1, 1, 1)  # (counts, 1, 1)
    rewards = gaussian_accuracy(answers, target, SIGMA).mean(1)  # (counts, N)
    reward, exact = float(rewards.max(0).values.mean()), float((rewards.argmax(0) == target).float().mean())
    return {"sampled": reward, "greedy": reward, "exact": exact, "τ-b": nan}


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
