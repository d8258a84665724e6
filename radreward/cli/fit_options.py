"""Options of `fit` that are not settings of a class, and help of those of Lightning."""

from __future__ import annotations

from typing import Any

FIT_OPTIONS: dict[str, dict[str, Any]] = {
    "run_dir": {"type": str, "default": "runs/er2score", "metavar": "FOLDER", "help": "Folder of the run."},
    "ckpt_path": {
        "type": str | None,
        "default": None,
        "metavar": "FILE",
        "help": "Resume from `last`, `best` or the path of a file.",
    },
    "init_from": {
        "type": str | None,
        "default": None,
        "metavar": "NAME",
        "help": "Saved model with the initial weights: folder or name.",
    },
    "overwrite": {
        "type": bool,
        "nargs": "?",
        "const": True,
        "default": False,
        "help": "Replace an earlier run in the folder.",
    },
    "checkpoint_every": {"type": int, "default": 50, "metavar": "N", "help": "Steps between `last` checkpoints."},
    "early_stop": {
        "type": int | None,
        "default": None,
        "metavar": "N",
        "help": "Stop after this many validations without improvement.",
    },
    "criteria": {
        "type": str | None,
        "default": None,
        "help": "Preset (see `radreward list`) or YAML file of the criteria.",
    },
}
"""Arguments of `ArgumentParser.add_argument` by name."""
SETTINGS_HELP = {
    "config": "YAML file of settings; a later file overrides an earlier one.",
    "print_config": "Print all settings as YAML and exit; `=comments` adds what each means.",
    "seed_everything": "Seed of the run; true for a random one.",
    "model": "Class of the module: its name, or a YAML file. `--model.help` lists its settings, --model.KEY.",
    "data": "Class of the data: its name, or a YAML file. `--data.help` lists its settings, --data.KEY.",
    "trainer": "YAML file of these settings.",
}
"""Help of options that Lightning and jsonargparse define, by destination."""
