"""Options of `fit` that are not settings of a class."""

from __future__ import annotations

from typing import Any

FIT_OPTIONS: dict[str, dict[str, Any]] = {
    "run_dir": {"type": str, "default": "runs/er2score", "help": "Folder of the run."},
    "ckpt_path": {
        "type": str | None,
        "default": None,
        "help": "Resume from `last`, `best` or the path of a file.",
    },
    "init_from": {
        "type": str | None,
        "default": None,
        "help": "Saved model with the initial weights: folder or name.",
    },
    "overwrite": {
        "type": bool,
        "nargs": "?",
        "const": True,
        "default": False,
        "help": "Replace an earlier run in the folder.",
    },
    "checkpoint_every": {"type": int, "default": 50, "help": "Steps between `last` checkpoints."},
    "early_stop": {
        "type": int | None,
        "default": None,
        "help": "Stop after this many validations without improvement.",
    },
    "criteria": {
        "type": str | None,
        "default": None,
        "help": "Preset (see `radreward list`) or YAML file of the criteria.",
    },
}
"""Arguments of `ArgumentParser.add_argument` by name."""
