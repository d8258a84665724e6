"""Checks that model and data provide what an objective needs, before training starts."""

from __future__ import annotations

from radreward.data.base_datamodule import BaseDataModule
from radreward.data.paired_datamodule import PairedReportDataModule
from radreward.errors import InputError
from radreward.models.reward_model import ArchitectureName
from radreward.objectives import Objective, SumObjective
from radreward.types import OptionalPart

DATA_FIELDS: dict[str, str] = {
    OptionalPart.FINDING_WEIGHTS: "the weights `matched` and `wrong`",
    OptionalPart.LOCATED_ERRORS: "`located_errors`",
}
"""Fields of a file of groups that provide the targets of each part."""


def check_provided_by_model(objective: Objective, architecture: ArchitectureName) -> None:
    """Check that a model with an architecture can predict what an objective needs.

    Raises:
        ValueError: If the check fails. The message names the objective, what it needs and the setting that provides it.
    """
    for part in sorted(objective.needs):
        name = _needing(objective, part)
        if part not in DATA_FIELDS:
            raise ValueError(f"{name}: Expected `needs` to be among {', '.join(DATA_FIELDS)} but got {part!r}.")
        if part == OptionalPart.LOCATED_ERRORS and architecture != "evidence":
            raise ValueError(
                f"{name} needs evidence per token: Expected `architecture` to be evidence but got {architecture!r}."
            )


def check_provided_by_data(objective: Objective, data: BaseDataModule) -> None:
    """Check that training data that were read have the targets that an objective needs.

    Raises:
        InputError: If no candidate has a needed part. The message names the objective, what it needs and what provides
            it.
    """
    if not isinstance(data, PairedReportDataModule):
        return
    for part in sorted(objective.needs - data.provided):
        name, files = _needing(objective, part), ", ".join(data.files)
        raise InputError(
            f"{files}: Expected candidates with {DATA_FIELDS[part]}, which {name} needs, but none has them. Use data "
            f"from `radreward synthesize`, or leave {name} out of `model.objective`."
        )


def _needing(objective: Objective, part: str) -> str:
    """Return the class names of the objectives that need a part, those within a sum."""
    parts = [entry for entry in objective.modules() if isinstance(entry, Objective)]
    names = [type(entry).__name__ for entry in parts if part in entry.needs and not isinstance(entry, SumObjective)]
    return " and ".join(dict.fromkeys(names))
