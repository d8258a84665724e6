"""Rewards of policies on held-out prompts, before and after GRPO, over the seeds of a study.

radreward synthesize --length plain --criteria radcliq --groups 100 --seed 9 --output runs/plain-test
radreward tune --config experiments/radreason/grpo_components.yaml
python experiments/radreason/accuracy.py --start runs/radreason-under --study runs/radreason-parts
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from math import isnan
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
Figures = dict[str, float]


def main() -> None:
    """Print a row for the start and for each variant: mean ± SD over its seeds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--start", type=Path, required=True, help="run that the policies began with")
    parser.add_argument("--study", type=Path, help="study whose variants are compared")
    parser.add_argument("--variants", default="parts", help="name of the variants in the study")
    parser.add_argument("--data", type=Path, default=Path("runs/plain-test/groups.parquet"), help="held-out groups")
    parser.add_argument("--seen", type=Path, nargs="*", default=[], help="groups whose references are left out")
    parser.add_argument("--completions", type=int, default=4, help="drawn for each prompt")
    options = parser.parse_args()
    seen = {normalize_text(group.reference) for path in options.seen for group in read_groups(path)}
    groups = [group for group in read_groups(options.data) if normalize_text(group.reference) not in seen]
    print(f"{len(groups)} references that are not in {', '.join(map(str, options.seen)) or 'any other file'}")
    runs: dict[str, list[Path]] = defaultdict(list, start=[options.start])
    for record in sorted(options.study.glob("trials/*/trial.json") if options.study else ()):
        trial = json.loads(record.read_text(encoding="utf-8"))
        if trial["state"] == "complete":
            runs[trial["params"][options.variants]].append(record.parent)
    figures: dict[str, list[Figures]] = defaultdict(list)
    for name, folder in track([(name, folder) for name, folders in runs.items() for folder in folders], "Judging"):
        figures[name].append(judged(load_generative_evaluator(folder / "model"), groups, options.completions))
    columns = list(figures["start"][0])
    print("| | runs | " + " | ".join(columns) + " |")
    print("| --- | ---: |" + " ---: |" * len(columns))
    for name, found in figures.items():
        print(f"| {name} | {len(found)} | " + " | ".join(spread([one[key] for one in found]) for key in columns) + " |")


def judged(explainer: GenerativeEvaluator, groups: list[ReportGroup], completions: int) -> Figures:
    """Mean accuracy reward of drawn and of likeliest judgements, and how far the likeliest agree with what is known."""
    questions = explainer.prompt_encoder
    prompts = [
        questions.encode(group.reference, candidate.text, truncate=False)[0]
        for group in groups
        for candidate in group.candidates
    ]
    target = known(groups, questions.criteria)  # (n, N)
    engine = TransformersEngine(explainer.model, questions.tokenizer, 256)
    stop = (explainer.template.stop_string(questions.criteria) or "",)
    found: Figures = {}
    for name, sampling in (
        ("drawn", SamplingParams(completions, questions.max_answer_length, stop=stop)),
        ("likeliest", SamplingParams(1, questions.max_answer_length, temperature=0.0, stop=stop)),
    ):
        texts = [[made.text for made in group] for group in engine.sample(prompts, sampling)]
        parsed = [[explainer.template.parse(text, questions.criteria).values for text in group] for group in texts]
        values = torch.tensor([[[torch.nan if v is None else v for v in one] for one in group] for group in parsed])
        found[name] = float(gaussian_accuracy(values, target.unsqueeze(1), SIGMA).mean())  # values are (n, G, N)
    likeliest = values[:, 0]
    found["exact"] = float((likeliest == target).float().mean())
    total = likeliest.sum(-1)
    read = ~total.isnan()
    found["τ-b"] = float(kendall_tau_b(total[read], target.sum(-1)[read]))
    return found


def known(groups: list[ReportGroup], criteria: Criteria) -> Tensor:
    """(n, N) errors of all candidates."""
    return torch.stack([criteria.to_tensor(entry.errors or {}) for group in groups for entry in group.candidates])


def spread(values: list[float]) -> str:
    """Mean and SD over seeds; a dash where a figure is not defined, as a correlation with what never varies.

    >>> spread([0.5, 0.7]), spread([0.5])
    ('0.600 ± 0.141', '0.500')
    """
    if any(map(isnan, values)):
        return "–"
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
