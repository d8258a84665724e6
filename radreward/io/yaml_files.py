"""Reading of YAML files."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from radreward.errors import InputError

_MAX_VALUES = 100_000
"""Values of a file after its aliases are replaced by what they stand for."""


def read_yaml(path: str | Path) -> Any:
    """Return the content of a YAML file: mappings, lists and scalars only.

    Raises:
        InputError: If the file cannot be read or is not YAML. The message names the line and the column if they are
            known.
    """
    try:
        return _load(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a YAML file but it cannot be read ({error.strerror}).") from error
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise InputError(f"{path}{where}: Expected YAML but {' '.join(str(error.problem).split())}.") from error
    except RecursionError as error:
        raise InputError(f"{path}: Expected YAML but it is nested too deeply.") from error
    except (yaml.YAMLError, ValueError) as error:  # no text, impossible dates, endless digits, aliases
        reason = " ".join(str(error).split())
        raise InputError(f"{path}: Expected YAML in UTF-8 but it cannot be read ({reason}).") from error


def _load(text: str) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if (size := _expanded_size(node, {})) > _MAX_VALUES:
            raise ValueError(f"its aliases expand to {size:.3g} values; the maximum is {_MAX_VALUES:,}")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _expanded_size(node: yaml.Node, sizes: dict[yaml.Node, float]) -> float:
    """Return the number of values of a node after aliases are replaced, infinite for an alias of a node in itself."""
    if node not in sizes:
        sizes[node] = float("inf")  # until it is known: an alias in the node itself
        children: Iterable[yaml.Node] = ()
        if isinstance(node, yaml.SequenceNode):
            children = node.value
        elif isinstance(node, yaml.MappingNode):
            children = (child for pair in node.value for child in pair)
        sizes[node] = 1 + sum(_expanded_size(child, sizes) for child in children)
    return sizes[node]


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
