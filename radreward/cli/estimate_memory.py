"""`radreward memory`: what a run of fit would need of a GPU's memory, told without the model and without the GPU."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table

from radreward.cli.errors import suppress_library_warnings, user_errors, validate_config_files
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.criteria import Criteria
    from radreward.data.packing import Packing
    from radreward.models import Backbone
    from radreward.models.memory_estimate import Memory

GIB = 2**30
COMPUTATION = {"32-true": None, "32": None, "bf16-mixed": "bfloat16", "16-mixed": "float16"}
"""By trainer.precision; the rest would hold the weights in another type than the backbone says."""


class Choice(NamedTuple):
    """What memory depends on most."""

    quantization: str | None
    packing: Packing
    gradient_checkpointing: bool


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    parser.add_argument("--config", required=True, type=Path, help="configuration of fit")
    parser.add_argument("--prefix", type=int, default=450, help="tokens of instruction and reference")
    parser.add_argument("--candidate", type=int, default=90, help="tokens of a candidate")
    parser.add_argument("--candidates", type=int, default=4, help="candidates of each reference")
    parser.add_argument("settings", nargs="*", metavar="dotted.key=value", help="settings of fit")


def run(options: Namespace) -> int:
    """Show GiB of each kind: as configured (*) and for every other packing, checkpointing and storage of weights."""
    if not options.config.is_file():
        raise InputError(f"{options.config}: Expected a configuration of fit but there is no such file.")
    arguments = [f"--config={options.config}", *(f"--{entry.removeprefix('--')}" for entry in options.settings)]
    validate_config_files(arguments)
    with suppress_library_warnings(), user_errors(constructing=True):
        import torch

        from radreward.cli.training import resolve_config
        from radreward.models.memory_estimate import Shape, memory

        settings = resolve_config(arguments)
        model, data = settings["model"].get("init_args", {}), settings["data"].get("init_args", {})
        if "backbone" not in model or "packing" not in data.get("collator", {}).get("init_args", {}):
            raise InputError(f"{options.config}: Expected a reward model on packed groups.")
        precision = str(settings["trainer"]["precision"] or "32-true")
        if precision not in COMPUTATION:
            raise InputError(f"trainer.precision: Expected one of {', '.join(COMPUTATION)} but got {precision!r}.")
        name = COMPUTATION[precision]
        autocast = None if name is None else getattr(torch, name)
        shape = Shape(options.prefix, options.candidate, options.candidates, data["groups_per_batch"])
        given = model["backbone"]["init_args"]
        chosen = Choice(
            given["quantization"], data["collator"]["init_args"]["packing"], given["gradient_checkpointing"]
        )
        found = {}
        for choice in track(_choices(given, chosen), "Counting", transient=True):
            backbone, criteria = _made(settings, choice)
            found[choice] = memory(
                backbone, criteria, shape, choice.packing, model["pooling"], model["hidden"], autocast
            )
    for line in (
        f"GiB of a step of {given['name']}: {shape.groups} references of {shape.prefix} tokens,",
        f"each with {shape.candidates} candidates of {shape.candidate}; * as configured. Trained: adapters, pooling",
        "and head, with gradients and moments. A GPU's own libraries take 1 GiB more.\n",
    ):
        print(line)
    Console().print(_table(found, chosen, given["dtype"]))
    return 0


def _choices(given: Mapping[str, Any], chosen: Choice) -> list[Choice]:
    """As configured, and otherwise; weights that are trained, or random, are not stored in fewer bits."""
    stored = [None] if given["lora"] is None or given["name"].startswith("tiny-") else [None, "4bit"]
    packings: tuple[Packing, ...] = ("tree", "rows")
    every = [Choice(*entry) for entry in product(stored, packings, (False, True))]
    return every if chosen in every else [*every, chosen]


def _made(settings: Mapping[str, Any], choice: Choice) -> tuple[Backbone, Criteria]:
    from jsonargparse import ArgumentParser as Parser

    from radreward.criteria import Criteria
    from radreward.models import Backbone

    parser = Parser(exit_on_error=False)
    parser.add_subclass_arguments(Backbone, "backbone")
    parser.add_subclass_arguments(Criteria, "criteria")
    backbone = settings["model"]["init_args"]["backbone"]
    changed = {"quantization": choice.quantization, "gradient_checkpointing": choice.gradient_checkpointing}
    entries = {"class_path": backbone["class_path"], "init_args": {**backbone["init_args"], **changed}}
    made = parser.instantiate(parser.parse_object({"backbone": entries, "criteria": settings["criteria"]}))
    return made.backbone, made.criteria


def _table(found: Mapping[Choice, Memory], chosen: Choice, dtype: str) -> Table:
    """A row a choice, as Markdown."""
    table = Table(box=MARKDOWN)
    for name in ("weights", "packing", "checkpointing"):
        table.add_column(name)
    for name in ("frozen", "trained", "activations", "total"):
        table.add_column(name, justify="right")
    for choice, memory in found.items():
        kinds = (
            memory.weights,
            memory.trained + memory.gradients + memory.optimizer,
            memory.activations + memory.working,
            memory.total,
        )
        switched = f"{'yes' if choice.gradient_checkpointing else 'no'}{' *' if choice == chosen else ''}"
        cells = (f"{number / GIB:.1f}" for number in kinds)
        table.add_row(choice.quantization or dtype, choice.packing, switched, *cells)
    return table
