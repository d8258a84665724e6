"""Reading of YAML files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from radreward.errors import InputError


def read_yaml(path: str | Path) -> Any:
    """Return the content of a YAML file: mappings, lists and scalars only.

    Raises:
        InputError: If the file cannot be read or is not YAML. The message names the line and the column if they are
            known.
    """
    try:
        return yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a YAML file but it cannot be read ({error.strerror}).") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError(f"{path}{where}: Expected YAML but {' '.join(str(error.problem).split())}.") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # no text, impossible dates, endless digits, nesting
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: Expected YAML in UTF-8 but it cannot be read ({reason}).") from error


def read_yaml_mapping(path: str | Path) -> dict[str, Any]:
    """Return the content of a YAML file that is a mapping.

    Raises:
        InputError: If the file cannot be read, is not YAML, or is not a mapping.
    """
    content = read_yaml(path)
    if not isinstance(content, dict):
        got = "an empty file" if content is None else type(content).__name__
        raise InputError(f"{path}: Expected settings as `key: value` but got {got}.")
    return content
