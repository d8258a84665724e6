"""A package imports only from packages that stand before it, so that data flows one way."""

import ast
from pathlib import Path

import pytest

import radreward

ORDER = [
    *("lazy", "errors", "types", "criteria", "prompts", "data", "synthesis", "models", "objectives"),
    *("affinity", "metrics", "modules", "scorers", "rl", "evaluation", "tuning", "cli"),
]
PACKAGE = Path(radreward.__file__).parent
ONLY_TENSORS = {"objectives", "metrics"}
LOWEST = {"errors", "types", "criteria"}
OUTSIDE = {"__init__", "__main__", "testing"}  # entry points and what is shipped for people's own tests


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module] if node.module != "radreward" else [f"radreward.{a.name}" for a in node.names]
        found |= {name.split(".")[1] for name in names if name.startswith("radreward.")}
    return found


def _layer(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


FILES = sorted(path for path in PACKAGE.rglob("*.py") if _layer(path) not in OUTSIDE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_come_from_layers_above(path: Path) -> None:
    layer = _layer(path)
    assert layer in ORDER, f"{layer} has no place in the order of layers"
    allowed = set(ORDER[: ORDER.index(layer) + 1])
    if layer in ONLY_TENSORS:
        allowed = LOWEST | {layer}
    assert _imports(path) <= allowed


def test_an_import_from_below_is_seen(tmp_path: Path) -> None:
    source = tmp_path / "types.py"
    source.write_text(
        "import os\nfrom radreward.cli import main\nfrom radreward import scorers\nimport radreward.data\n"
    )
    assert _imports(source) == {"cli", "scorers", "data"}
