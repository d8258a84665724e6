"""Settings of a resumed run, compared with those with which the run was started."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml_mapping
from radreward.modules.run_folder import RunFolder

_COMPARED = ("seed_everything", "criteria", "model", "data")
_COMPARED_OF_TRAINER = (
    *("precision", "devices", "num_nodes", "accumulate_grad_batches", "gradient_clip_val", "gradient_clip_algorithm"),
    *("limit_train_batches", "limit_val_batches", "overfit_batches", "val_check_interval", "check_val_every_n_epoch"),
)
"""Settings of the trainer that change the results, except for the length of the training."""
_WITHOUT_EFFECT = ("data.num_workers", "model.backbone.local_files_only")
_FIXED = ("criteria", "model", "model.objective")
"""Settings to which the weights and the optimizer of a checkpoint belong."""

logger = logging.getLogger(__name__)


class SettingChange(NamedTuple):
    """A setting that changes the results, with its stored and its new value; the value of a class is its path."""

    name: str
    stored: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.stored} → {self.new}"

    @property
    def is_allowed(self) -> bool:
        """True if a checkpoint can be resumed with the new value."""
        return self.name not in _FIXED and not self.name.startswith("model.objective.")


def changed_settings(run: RunFolder, settings: Mapping[str, Any]) -> list[SettingChange]:
    """Return the settings of a run that differ from those in its folder; a setting of another version is ignored.

    Args:
        run: The folder.
        settings: All settings, with defaults.

    Raises:
        InputError: If the stored settings cannot be read.
    """
    if not run.config.is_file():
        return []
    stored = read_yaml_mapping(run.config)
    trainer = stored.get("trainer", {})
    compared = {name: stored[name] for name in _COMPARED if name in stored}
    compared["trainer"] = {name: trainer[name] for name in _COMPARED_OF_TRAINER if name in trainer}
    return [change for change in _changes(compared, settings) if change.name not in _WITHOUT_EFFECT]


def check_resumable(checkpoint: Path, changes: Sequence[SettingChange]) -> None:
    """Check that the weights and the optimizer of a checkpoint belong to the settings of a run.

    Raises:
        InputError: If the class of the module, the objective or the criteria changed.
    """
    if rejected := [str(change) for change in changes if not change.is_allowed]:
        raise InputError(
            f"{checkpoint}: Expected the module, objective and criteria of its run but got other ones: "
            f"{', '.join(rejected)}. Start a new run with --run-dir, and with --init-from for the weights of a saved "
            "model."
        )


def warn_of_changes(run: RunFolder, changes: Sequence[SettingChange]) -> None:
    """Log one line with all changes, if any."""
    if changes:
        has_optimizer = any("optimizer" in change.name for change in changes)
        remark = " The optimizer keeps the learning rates and the weight decay of the checkpoint." * has_optimizer
        listed = ", ".join(map(str, changes))
        logger.warning("%s: The run resumes with other settings: %s.%s", run.folder, listed, remark)


def _changes(stored: Any, new: Any, name: str = "") -> Iterator[SettingChange]:
    """Yield the changes of a setting: of its parts if both values are mappings of one class, or lists of one length."""
    if isinstance(stored, Mapping) and isinstance(new, Mapping) and stored.get("class_path") == new.get("class_path"):
        for key in (key for key in stored if key in new):
            yield from _changes(stored[key], new[key], name if key == "init_args" else f"{name}.{key}".lstrip("."))
    elif isinstance(stored, list) and isinstance(new, list) and len(stored) == len(new):
        for index, values in enumerate(zip(stored, new, strict=True)):
            yield from _changes(*values, f"{name}.{index}")
    elif stored != new:
        yield SettingChange(name, _text(stored), _text(new))


def _text(value: Any) -> str:
    """Return a value as text, a class as its path.

    >>> _text({"class_path": "my_losses.MyLoss", "init_args": {"c": 1}}), _text(None), _text([1e-3, "a"])
    ('my_losses.MyLoss', 'null', '[0.001, a]')
    """
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Mapping) and "class_path" in value:
        return str(value["class_path"])
    return value if isinstance(value, str) else json.dumps(value, default=str)
