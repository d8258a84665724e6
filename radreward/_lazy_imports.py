"""Imports on first use, so that each command loads only what it needs."""

from __future__ import annotations

import ast
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from radreward.extras import extra_of, missing_package


def lazy_exports(package: str) -> Callable[[str], Any]:
    """Return a module `__getattr__` that exports the names imported under the package's `if TYPE_CHECKING:`.

    Each name is written once, type checkers see it, and `dir` lists it. `package` is the `__name__` of the module.

    Raises:
        InputError: On first use of a name that needs an extra which is not installed. The message names the extra.

    >>> lazy_exports("radreward.models")("LoRA").__module__
    'radreward.models.lora'
    """
    module = import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    blocks = [node for node in tree.body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom) and node.module]
    sources = {alias.asname or alias.name: str(node.module) for node in imports for alias in node.names}

    module.__dict__["__dir__"] = lambda: sorted({*module.__dict__, *sources})  # for completion in shells

    def load(name: str) -> Any:
        if name not in sources:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = _import_attribute(sources[name], name, f"{package}.{name}")
        setattr(module, name, value)
        return value

    return load


def import_object(path: str) -> Any:
    """Return the object with this import path, such as a class of a system that the core must not import.

    Raises:
        InputError: If it needs an extra that is not installed. The message names the extra.

    >>> import_object("radreward.models.lora.LoRA").__name__
    'LoRA'
    """
    module, _, name = path.rpartition(".")
    return _import_attribute(module, name, path)


def _import_attribute(module: str, name: str, path: str) -> Any:
    try:
        return getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and extra_of(error.name):
            raise missing_package(path, error.name) from error
        raise
