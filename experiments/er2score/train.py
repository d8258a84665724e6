"""Train the shipped ER²Score from the pretrained encoder: the stages of schedule.yaml, then the calibration.

    python -m experiments.er2score.train --workers 4    on a GPU, on SYNTHETIC reports
    python -m experiments.er2score.train --short        a shorter form

Data and stages are `radreward` commands, printed before they run. To resume an interrupted run, start it again.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from rich.console import Console
from rich.markup import escape

from experiments.er2score import calibrate
from radreward.cli import main as radreward
from radreward.io.atomic import write_text_file
from radreward.modules.run_folder import RunFolder

FOLDER = Path(__file__).parent
SCHEDULE = FOLDER / "schedule.yaml"
CONFIG = FOLDER / "embedded.yaml"
Form = Literal["full", "short", "trial"]
"""All steps, the shorter form, or one step per stage on two groups."""
RULE_SHARE = 0.7
"""Share of rules in the quality and the errors of the shipped model."""
console = Console()


class Data(NamedTuple):
    """Options of `radreward synthesize`."""

    groups: int
    short_groups: int
    seed: int
    options: tuple[str, ...] = ()

    def count(self, form: Form) -> int:
        """Return the number of groups."""
        return {"full": self.groups, "short": self.short_groups, "trial": 2}[form]


class Stage(NamedTuple):
    """One stage: its data, steps, and what differs from embedded.yaml."""

    name: str
    data: tuple[str, ...]
    steps: int
    short_steps: int
    settings: dict[str, Any]

    def count(self, form: Form) -> int:
        """Return the number of steps."""
        return {"full": self.steps, "short": self.short_steps, "trial": 1}[form]


class Schedule(NamedTuple):
    """Stages with their data by name, and the validation data of all."""

    validation: Data
    data: dict[str, Data]
    stages: tuple[Stage, ...]


def read_schedule(path: Path) -> Schedule:
    """Return the schedule of a YAML file; an unknown or missing field raises a TypeError that names it."""
    values = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Schedule(
        Data(**values["validation"]),
        {name: Data(**entry | {"options": tuple(entry.get("options", ()))}) for name, entry in values["data"].items()},
        tuple(Stage(**entry | {"data": tuple(entry["data"])}) for entry in values["stages"]),
    )


def keep_schedule(out: Path, form: Form) -> None:
    """Copy the schedule and its form into the folder of data and runs; exit if the folder is that of others."""
    kept, copy = f"# form: {form}\n{SCHEDULE.read_text(encoding='utf-8')}", out / SCHEDULE.name
    if not copy.exists():
        out.mkdir(parents=True, exist_ok=True)
        write_text_file(copy, kept)
    elif copy.read_text(encoding="utf-8") != kept:
        sys.exit(f"{copy}: Expected the {form} form of {SCHEDULE} but it differs. Choose another --output.")


def run(*arguments: str) -> None:
    """Run a command as a user types it; exit if it fails."""
    console.print(f"\n[bold]$ radreward {escape(shlex.join(arguments))}[/bold]", soft_wrap=True, highlight=False)
    if code := radreward(list(arguments)):
        sys.exit(code)


def synthesize(data: Data, out: Path, form: Form) -> Path:
    """Return the file of these data, made if it is missing."""
    folder = out / f"data-{data.seed}"
    file = folder / "groups.parquet"
    if not file.exists():
        options = [*data.options, *(["--per-reference=2"] if form == "trial" else [])]
        run("synthesize", f"--groups={data.count(form)}", f"--seed={data.seed}", f"--output={folder}", *options)
    return file


def train(schedule: Schedule, stage: Stage, start: Path | None, out: Path, form: Form, options: Sequence[str]) -> Path:
    """Train a stage from the weights of the one before, unless it is done; return the folder of its run."""
    run_folder = RunFolder(out / stage.name)
    if run_folder.model.exists():
        console.print(f"{run_folder.folder} is done")
        return run_folder.folder
    files = ", ".join(str(synthesize(schedule.data[name], out, form)) for name in stage.data)
    steps = stage.count(form)
    run(
        "fit",
        f"--config={CONFIG}",
        f"--run-dir={run_folder.folder}",
        f"--data.records=[{files}]",
        f"--data.val_split={synthesize(schedule.validation, out, form)}",
        f"--trainer.max_steps={steps}",
        f"--trainer.val_check_interval={steps}",
        *(f"--{name}={value}" for name, value in stage.settings.items()),
        *([f"--init-from={start}"] if start else []),
        *options,
        "--ckpt-path=last" if run_folder.last.exists() else "--overwrite",
    )
    return run_folder.folder


def calibrated(trained: Path, out: Path, form: Form) -> Path:
    """Calibrate a model, with the gate and the share of rules of the shipped one; return its folder."""
    model, size = out / "model", 3 if form == "trial" else 300
    if not model.exists():
        console.print(f"\n[bold]{escape(str(model))}: calibration on generated groups[/bold]", soft_wrap=True)
        if code := calibrate.main(
            model=str(trained), output=model, groups=size, graded=size * 2 // 3, rule_share=RULE_SHARE, gate=True
        ):
            sys.exit(code)
    return model


def main() -> None:
    """Train all stages that are not done, and calibrate the last."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=None, help="folder of data and runs; runs/er2score-FORM")
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--short", action="store_const", const="short", dest="form", help="fewer steps and data")
    forms.add_argument("--trial", action="store_const", const="trial", dest="form", help="one step per stage")
    parser.add_argument("--precision", default="bf16-mixed", help="32-true on a CPU without bfloat16 products")
    parser.add_argument("--workers", type=int, default=0, help="processes that prepare batches while a GPU computes")
    given = parser.parse_args()
    form: Form = given.form or "full"
    out = given.output or Path(f"runs/er2score-{form}")
    if form == "trial":  # on any CPU
        options = ["--trainer.precision=32-true", "--trainer.logger=false", "--data.batch_size=1"]
        options += ["--trainer.limit_val_batches=1", "--trainer.num_sanity_val_steps=0"]
    else:
        options = [f"--trainer.precision={given.precision}", f"--data.num_workers={given.workers}"]
    schedule = read_schedule(SCHEDULE)
    keep_schedule(out, form)
    first, *rest = schedule.stages
    trained = train(schedule, first, None, out, form, options)
    for stage in rest:
        trained = train(schedule, stage, trained, out, form, options)
    model = calibrated(trained, out, form)
    console.print(f"\nradreward score --scorers {model} scores with the trained model.", soft_wrap=True)


if __name__ == "__main__":
    main()
