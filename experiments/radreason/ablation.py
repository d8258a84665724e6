"""Ablation of RadReason's second stage in one command: data, start, control, five variants with eight seeds, tests.

The start is a decoder that was trained on plain reports with two to four findings, and errors of each kind zero to
three times, and was stopped when --accuracy of its counts are right. The control continues this training for as much
processor time as the second stage takes. The table compares runs of the same seed: the seed is the unit of the tests.
Everything is in --output; the same command resumes what is missing.

python -m experiments.radreason.ablation --profile balanced --output runs/ablation
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch
from rich.progress import track
from torch import Tensor

from experiments.radreason.ablation_metrics import answer_metrics, prompt_agreement, seed_differences
from experiments.radreason.accuracy import target_counts
from experiments.radreason.step_timer import StepTimer
from radreward.cli import main as radreward
from radreward.criteria import RadCliQCriteria
from radreward.data.records import read_groups, write_groups
from radreward.data.split import normalize_text
from radreward.io.artifacts import read_json_object, write_json
from radreward.io.atomic import write_text_file
from radreward.io.yaml_files import read_yaml_mapping
from radreward.models.generative_evaluator import load_generative_evaluator
from radreward.models.rollout_engine import SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.synthesis import synthesize
from radreward.synthesis.candidate_strategies import load_candidate_writer
from radreward.text.report_parser import parse_report
from radreward.types import ReportGroup

FOLDER = Path(__file__).parent
STUDY, SFT = FOLDER / "ablation.yaml", FOLDER / "sft.yaml"
MIN_FINDINGS, PER_REFERENCE = 2, 3
CONTROL = "control: more SFT"
PROBE_STEPS = {"grpo": 2, "sft": 10}
"""Steps whose processor time is measured, after as many others; GRPO generates answers at every second step."""


def main() -> None:
    """Run what is missing, and print and write the table."""
    options = _options()
    _make_data(options)
    _train_start(options)
    steps = _control_steps(options)
    _fit_study(options)
    for seed in range(options.seeds):
        _fit_control(options, seed, steps)
    table = _table(options, _evaluate(options))
    write_text_file(options.output / "table.md", table)
    print(table)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("runs/ablation"))
    parser.add_argument("--profile", default="balanced", help="`balanced`, or a YAML file with an error profile")
    parser.add_argument(
        "--accuracy", type=float, default=0.85, help="share of right counts at which the start is stopped"
    )
    parser.add_argument("--sft-groups", type=int, default=4_000)
    parser.add_argument("--sft-steps", type=int, nargs=3, default=(600, 1600, 8_000), help="one, two, all findings")
    parser.add_argument("--grpo-groups", type=int, default=480)
    parser.add_argument("--grpo-steps", type=int, default=12)
    parser.add_argument("--grpo-batch", type=int, default=8, help="references per step, with three candidates each")
    parser.add_argument("--generations", type=int, default=8, help="answers per prompt")
    parser.add_argument("--validation", type=int, default=60, help="groups for validation during training")
    parser.add_argument("--held-out", type=int, default=100, help="groups that are evaluated")
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--completions", type=int, default=8, help="sampled answers per held-out prompt")
    parser.add_argument("--set", nargs="*", default=[], help="other settings of every run, as dotted.key=value")
    options = parser.parse_args()
    if options.profile == "balanced":
        options.profile = str(FOLDER / "profile-balanced.yaml")
    return options


def _make_data(options: argparse.Namespace) -> None:
    """Write the data files that are missing; a reference is in one of the files only."""
    seen: set[str] = set()
    sizes = {
        "held_out": options.held_out,
        "validation": options.validation,
        "grpo": options.grpo_groups,
        "sft": options.sft_groups,
    }
    for seed, (name, size) in enumerate(sizes.items()):
        path = options.output / "data" / f"{name}.parquet"
        if not path.is_file():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_groups(path, track(_groups(size, 100 + seed, options.profile, seen), f"Writing {path.name}", size))
        seen |= {normalize_text(group.reference) for group in read_groups(path)}
    for name, findings in (("one", 1), ("two", 2)):
        if not (options.output / "data" / name / "card.json").is_file():
            arguments = [
                "--granularity=plain",
                f"--max-findings={findings}",
                "--criteria=radcliq",
                f"--seed={findings}",
            ]
            groups = max(8, options.sft_groups // 2)
            _run("synthesize", *arguments, f"--groups={groups}", f"--output={options.output / 'data' / name}")


def _groups(size: int, seed: int, profile: str, seen: set[str]) -> Iterator[ReportGroup]:
    """Yield groups of references with at least `MIN_FINDINGS` findings that are not among those seen, and add them."""
    writer, number = load_candidate_writer(profile), 0
    for round_ in range(1_000):
        groups = synthesize(
            RadCliQCriteria(), size, PER_REFERENCE, seed=seed + 10 * round_, granularity="plain", candidates=writer
        )
        for group in groups:
            reference = normalize_text(group.reference)
            findings = sum(fact.positive for fact in parse_report(group.reference).facts)
            if findings >= MIN_FINDINGS and reference not in seen:
                seen.add(reference)
                yield group
                number += 1
                if number == size:
                    return
    raise RuntimeError(f"Expected {size} different references with {MIN_FINDINGS} findings but got {number}.")


def _train_start(options: argparse.Namespace) -> None:
    """Train the start in three stages; the last one stops at the requested accuracy."""
    previous = None
    stages = ("one/groups", "two/groups", "sft")
    for name, steps in zip(stages, options.sft_steps, strict=True):
        folder = options.output / ("start" if name == "sft" else f"start-{name[:3]}")
        interval = min(200, steps)
        settings = [f"trainer.max_steps={steps}", f"trainer.val_check_interval={interval}", "trainer.max_epochs=-1"]
        if name == "sft":
            stop = {"monitor": "val_exact", "mode": "max", "stopping_threshold": options.accuracy, "patience": steps}
            callback = {"class_path": "lightning.pytorch.callbacks.EarlyStopping", "init_args": stop}
            settings += [f"trainer.callbacks={json.dumps([callback])}"]
        if previous is not None:
            settings.append(f"init_from={previous}")
        _fit(options, SFT, folder, *settings, *_sft_data(options, name))
        previous = folder


def _control_steps(options: argparse.Namespace) -> int:
    """Return the steps of SFT that take as much processor time as the second stage; measured once."""
    path = options.output / "compute.json"
    if not path.is_file():
        seconds = {kind: _seconds_per_step(options, kind, steps) for kind, steps in PROBE_STEPS.items()}
        control = max(1, round(options.grpo_steps * seconds["grpo"] / seconds["sft"]))
        write_json(path, {"seconds_per_step": seconds, "grpo_steps": options.grpo_steps, "control_steps": control})
    return int(read_json_object(path)["control_steps"])


def _seconds_per_step(options: argparse.Namespace, kind: str, steps: int) -> float:
    """Return the processor time of a step in the second half of a run of 2 * `steps`: the first half warms up."""
    folder, path = options.output / "probes" / kind, options.output / "probes" / f"{kind}.json"
    if kind == "sft":
        config, settings = SFT, [*_control_settings(options), "trainer.max_epochs=-1"]
    else:
        config = FOLDER / "grpo-both.yaml"
        settings = [f"{key}={value}" for key, value in _study_overrides(options).items()]
    timer = {"class_path": f"{StepTimer.__module__}.StepTimer", "init_args": {"path": str(path), "steps": steps}}
    settings += [f"trainer.max_steps={2 * steps}", f"trainer.val_check_interval={2 * steps}"]
    settings += [f"trainer.callbacks={json.dumps([timer])}", "overwrite=true"]
    _fit(options, config, folder, *settings)
    return float(read_json_object(path)["seconds_per_step"])


def _study_overrides(options: argparse.Namespace) -> dict[str, Any]:
    data = options.output / "data"
    overrides: dict[str, Any] = read_yaml_mapping(STUDY)["overrides"]
    return overrides | {
        "init_from": options.output / "start",
        "data.records": data / "grpo.parquet",
        "data.val_split": data / "validation.parquet",
        "data.batch_size": options.grpo_batch,
        "model.rollouts.num_generations": options.generations,
        "trainer.max_steps": options.grpo_steps,
        "trainer.val_check_interval": options.grpo_steps,
    }


def _fit_study(options: argparse.Namespace) -> None:
    overrides = [f"{key}={value}" for key, value in _study_overrides(options).items()]
    study = ["--config", str(STUDY), "--run-dir", str(options.output / "study")]
    trials = ["--trials", str(5 * options.seeds)]  # all variants of the first seeds
    _run("tune", *study, *trials, *overrides, *options.set)


def _control_settings(options: argparse.Namespace) -> list[str]:
    return [f"init_from={options.output / 'start'}", *_sft_data(options, "sft")]


def _sft_data(options: argparse.Namespace, name: str) -> list[str]:
    data = options.output / "data"
    return [f"data.records={data / name}.parquet", f"data.val_split={data / 'validation.parquet'}"]


def _fit_control(options: argparse.Namespace, seed: int, steps: int) -> None:
    settings = [f"trainer.max_steps={steps}", f"trainer.val_check_interval={steps}", "trainer.max_epochs=-1"]
    settings += [*_control_settings(options), f"seed_everything={seed}", f"data.seed={seed}"]
    _fit(options, SFT, options.output / "control" / str(seed), *settings)


def _fit(options: argparse.Namespace, config: Path, folder: Path, *settings: str) -> None:
    """Train a run, or resume it; a finished one is kept."""
    if (folder / "metrics.json").is_file() and "overwrite=true" not in settings:
        return
    given = [entry for entry in settings if entry != "overwrite=true"]
    is_resumed = len(given) == len(settings) and (folder / "checkpoints" / "last.ckpt").is_file()
    flags = ["--ckpt-path=last"] if is_resumed else ["--overwrite"] if folder.exists() else []
    common = ["data.skip_too_long=true"] if config == SFT else []
    entries = [f"--{entry}" for entry in (f"run_dir={folder}", *common, *given, *options.set)]
    _run("fit", f"--config={config}", *entries, *flags)


def _run(*command: str) -> None:
    if code := radreward(list(command)):
        raise SystemExit(code)


def _evaluate(options: argparse.Namespace) -> dict[str, dict[int, dict[str, float]]]:
    """Return the metrics of the start and of each run, by variant and seed; those of earlier commands are read."""
    groups = list(read_groups(options.output / "data" / "held_out.parquet"))
    runs = {("start", 0): options.output / "start"}
    runs |= {(CONTROL, seed): options.output / "control" / str(seed) for seed in range(options.seeds)}
    for record in sorted((options.output / "study").glob("trials/*/trial.json")):
        trial = read_json_object(record)
        if trial["state"] == "complete":
            runs[trial["params"]["components"], int(trial["params"]["seed_everything"])] = record.parent
    results: dict[str, dict[int, dict[str, float]]] = {}
    agreement: Tensor | None = None
    for number, ((name, seed), folder) in enumerate(track(list(runs.items()), "Evaluating")):
        path = options.output / "metrics" / f"{number:03d}.json"
        if not path.is_file() or agreement is None or read_json_object(path)["run"] != str(folder):
            greedy, sampled, target = _answers(folder, groups, options.completions)
            agreement = prompt_agreement(sampled, target) if agreement is None else agreement
            metrics = answer_metrics(greedy, sampled, target, agreement, RadCliQCriteria().tags)
            path.parent.mkdir(exist_ok=True)
            write_json(path, {"run": str(folder), "metrics": {k: None if v != v else v for k, v in metrics.items()}})
        saved = read_json_object(path)["metrics"]
        results.setdefault(name, {})[seed] = {k: float("nan") if v is None else v for k, v in saved.items()}
    return results


def _answers(folder: Path, groups: list[ReportGroup], completions: int) -> tuple[Tensor, Tensor, Tensor]:
    """Return (n, N) greedy counts, (n, G, N) sampled counts and (n, N) true counts."""
    evaluator = load_generative_evaluator(folder / "model")
    encoder = evaluator.prompt_encoder
    pairs = [(group.reference, candidate.text) for group in groups for candidate in group.candidates]
    prompts = [encoder.encode(*pair, truncate=False)[0].segments for pair in pairs]
    engine = TransformersEngine(evaluator.model, encoder.tokenizer, 256)
    stop = (evaluator.template.stop_string(encoder.criteria) or "",)

    def counts(number: int, temperature: float) -> Tensor:
        params = SamplingParams(number, encoder.max_answer_length, temperature=temperature, stop=stop)
        parsed = [
            [evaluator.template.parse(completion.text, encoder.criteria).values for completion in answers]
            for answers in engine.sample(prompts, params)
        ]
        return torch.tensor([[[torch.nan if v is None else v for v in row] for row in rows] for rows in parsed])

    return counts(1, 0.0)[:, 0], counts(completions, 1.0), target_counts(groups, encoder.criteria)


def _table(options: argparse.Namespace, results: dict[str, dict[int, dict[str, float]]]) -> str:
    """Return Markdown: mean ± SD over seeds, then differences to the control and to the Gaussian reward."""
    columns = list(results["start"][0])
    compute = read_json_object(options.output / "compute.json")
    lines = [
        "# Ablation of RadReason: SYNTHETIC reports",
        "",
        f"Processor time per step, measured: {json.dumps(compute['seconds_per_step'])} seconds; "
        f"{compute['grpo_steps']} steps of GRPO, {compute['control_steps']} steps of the control.",
        "",
        f"| | seeds | {' | '.join(columns)} |",
        f"| --- | ---: |{' ---: |' * len(columns)}",
    ]
    for name, runs in results.items():
        cells = [_mean_sd([run[column] for run in runs.values()]) for column in columns]
        lines.append(f"| {name} | {len(runs)} | {' | '.join(cells)} |")
    for baseline in (CONTROL, "gaussian"):
        lines += ["", f"| against {baseline} | metric | Δ | p | Holm | seeds |", "| --- | --- |" + " ---: |" * 4]
        for column in columns:
            values = {
                name: {seed: run[column] for seed, run in runs.items() if run[column] == run[column]}
                for name, runs in results.items()
                if name != "start"
            }
            for name, (delta, p, p_holm, count) in seed_differences(values, baseline).items():
                lines.append(f"| {name} | {column} | {delta:+.4f} | {p:.4f} | {p_holm:.4f} | {count} |")
    return "\n".join(lines) + "\n"


def _mean_sd(values: list[float]) -> str:
    return f"{mean(values):.3f}" + (f" ± {stdev(values):.3f}" if len(values) > 1 else "")


if __name__ == "__main__":
    main()
