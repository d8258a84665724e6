"""`radreward list`: the names that options and configuration files accept."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from rich.box import SIMPLE_HEAD
from rich.table import Table

from radreward.io.console import make_console


def run() -> int:
    """List scorers, criteria, objectives, weightings and samplers, one line each."""
    tables = dict(_listings())
    console = make_console()
    for title, rows in tables.items():
        table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, show_header=False, pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column()
        for name, summary in rows:
            table.add_row(name, summary)
        console.print(table)
    return 0


def _listings() -> Iterator[tuple[str, list[tuple[str, str]]]]:
    from radreward import objectives
    from radreward.criteria import PRESETS
    from radreward.scorers import SCORERS
    from radreward.tuning.sampler_names import SAMPLERS

    yield "Scorers: --scorers, radreward.load(...)", [(name, entry.summary) for name, entry in SCORERS.items()]
    yield "Criteria: --criteria", [(name, _summary(entry)) for name, entry in PRESETS.items()]
    families = (
        ("Objectives of reward models: --model.objective", objectives.Objective),
        ("Objectives of policies: --model.objective", objectives.RolloutObjective),
        ("Weightings of criteria: --model.objective.init_args.weighting", objectives.CriterionWeighting),
    )
    for title, base in families:
        classes = [getattr(objectives, name) for name in objectives.__all__]
        yield (
            title,
            [
                (entry.__name__, _summary(entry))
                for entry in classes
                if inspect.isclass(entry) and issubclass(entry, base) and not inspect.isabstract(entry)
            ],
        )
    yield "Samplers of studies: `sampler` in a study file", list(SAMPLERS.items())


def _summary(entry: object) -> str:
    return (inspect.getdoc(entry) or "").splitlines()[0]
