"""Train a model like the shipped ER²Score from nothing: nine runs, each from the adapters of the one before.

    python experiments/er2score/train.py            about eight hours on one core, on SYNTHETIC reports

Every step is a `radreward` command, printed before it runs. To resume an interrupted run, start it again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from radreward.cli import main as radreward
from radreward.modules.run_folder import RunFolder

CONFIG = Path(__file__).parent / "embedded.yaml"
DETAILS = ("--candidates", "details")  # many wrong locations and severities
GRADED = ("--candidates", "graded")  # a finding stated right, partly right, and not at all
STATEMENTS = ("--granularity", "statement", "--per-reference", "8")
console = Console()


class Data(NamedTuple):
    """Options of `radreward synthesize`."""

    groups: int
    seed: int
    options: tuple[str, ...] = ()


class Stage(NamedTuple):
    """One run: what it adds to the previous run, its data and its settings.

    Attributes:
        name: Name of the run.
        data: Training data, mixed.
        steps: Number of training steps.
        learning_rates: Of the adapters and of the head.
        settings: What differs from `embedded.yaml`.
    """

    name: str
    data: tuple[Data, ...]
    steps: int
    learning_rates: tuple[float, float] = (6e-4, 1e-3)
    settings: tuple[str, ...] = ()


WITHOUT_LOCATIONS = (
    "--model.objective=SumObjective",
    "--model.objective.objectives=[MarginRewardEnforcement, CountRegression, FindingRegression, QualityOrder]",
)
MATCHING = (
    "--model.architecture=pooled",
    "--model.pooling=matching",
    "--model.head_hidden_size=128",
    *WITHOUT_LOCATIONS,
)
REPORTS = Data(30_000, 2)
VALIDATION = Data(600, 4)
STAGES = (
    # Statements are short: a batch holds many wordings, from which the model learns what words mean.
    Stage("statements", (Data(8_000, 0, STATEMENTS),), 700, (1e-3, 2e-3), MATCHING),
    Stage("matching", (Data(30_000, 1),), 2_500, (1e-3, 2e-3), MATCHING),
    # Evidence per token in place of the comparison of all tokens: first alone, then with the adapters.
    Stage("evidence", (REPORTS,), 800, (1e-9, 2e-3), WITHOUT_LOCATIONS),
    Stage("counts", (REPORTS, Data(30_000, 3, DETAILS)), 1_000, (5e-4, 1e-3), WITHOUT_LOCATIONS),
    # From here on also in which statements the errors show.
    Stage("located", (Data(12_400, 6), Data(6_000, 7, DETAILS)), 2_300),
    Stage("sized", (Data(9_000, 11), Data(4_500, 12, DETAILS)), 1_690),
    Stage("worded", (Data(14_700, 15), Data(7_300, 16, DETAILS)), 2_750),
    # From here on also the order of qualities.
    Stage("graded", (Data(12_000, 7402), Data(4_000, 7403, DETAILS), Data(5_000, 7401, GRADED)), 2_650),
    Stage(
        "sided",
        (Data(9_000, 7502), Data(5_000, 7503, DETAILS), Data(10_000, 7501, GRADED)),
        2_900,
        (5e-4, 8e-4),
        ("--seed=7504", "--data.seed=7504"),
    ),
)


def run(*arguments: str) -> None:
    """Run a command as a user types it; exit if it fails."""
    console.print(f"\n[bold]$ radreward {escape(shlex.join(arguments))}[/bold]", soft_wrap=True, highlight=False)
    if code := radreward(list(arguments)):
        sys.exit(code)


def synthesize(data: Data, out: Path, trial: bool) -> Path:
    """Return the file of these data, made if it is missing."""
    folder = out / f"data-{data.seed}"
    file = folder / "groups.parquet"
    if not file.exists():
        groups = 2 if trial else data.groups
        run("synthesize", f"--groups={groups}", f"--seed={data.seed}", f"--output={folder}", *data.options)
    return file


def train(stage: Stage, start: Path | None, out: Path, trial: bool) -> Path:
    """Train from the weights of an earlier run, unless it is done; return the folder of the run."""
    run_folder = RunFolder(out / stage.name)
    if run_folder.model.exists():
        console.print(f"{run_folder.folder} is done")
        return run_folder.folder
    files = ", ".join(str(synthesize(data, out, trial)) for data in stage.data)
    steps = 1 if trial else stage.steps
    lr, head_lr = stage.learning_rates
    run(
        "fit",
        f"--config={CONFIG}",
        f"--run-dir={run_folder.folder}",
        f"--data.records=[{files}]",
        f"--data.val_split={synthesize(VALIDATION, out, trial)}",
        f"--model.optimizer.lr={lr}",
        f"--model.optimizer.head_lr={head_lr}",
        f"--trainer.max_steps={steps}",
        f"--trainer.val_check_interval={steps}",
        *stage.settings,
        *([f"--init-from={start}"] if start else []),
        *(["--trainer.logger=false"] if trial else []),
        "--ckpt-path=last" if run_folder.last.exists() else "--overwrite",
    )
    return run_folder.folder


def main() -> None:
    """Train all stages that are not done."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=None, help="folder of data and runs; runs/er2score-stages")
    parser.add_argument("--trial", action="store_true", help="one step per run, on two groups; in runs/er2score-trial")
    options = parser.parse_args()
    out = options.output or Path("runs/er2score-trial" if options.trial else "runs/er2score-stages")
    model = None
    for stage in STAGES:
        model = train(stage, model, out, options.trial)
    console.print(f"\nradreward score --scorers {model} scores with the last run.", soft_wrap=True)


if __name__ == "__main__":
    main()
