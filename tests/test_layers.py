"""Data flows one way: the core knows no system, systems do not know each other, and no import makes a cycle."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_files import FILES as PATHS
from tests.source_files import PACKAGE, syntax_tree

LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "score_outputs"),
    ("extras",),
    ("score_display",),
    ("_lazy_imports", "types", "distributed", "devices"),
    ("io", "text"),
    ("criteria",),
    ("prompts",),
    ("data",),
    ("llm", "models", "objectives", "metrics"),
    ("statistics",),
    ("scorers.status", "scorers.pair_errors"),
    ("scorers.base", "scorers.stateless", "scorers.explanation", "scorers.generative"),
    ("modules",),
    ("synthesis",),
    ("systems",),
    ("scorers",),
    ("scoring",),
    ("meta_evaluation",),
    ("sensitivity", "tuning", "integrations", "testing", "serving"),
    ("cli",),
)
"""From the bottom to the top: a module imports from lower layers and from its own package."""
ONLY: dict[str, set[str]] = {
    "text": {"errors", "types", "_lazy_imports"},
    "io": {"errors", "types", "_lazy_imports"},
    "objectives": {"errors", "types", "criteria", "distributed", "_lazy_imports"},
    "metrics": {"errors", "types", "criteria", "distributed", "_lazy_imports"},
}
"""Packages that may import less than their layer allows."""
ENTRY_POINTS = {"radreward", "radreward.__main__"}


def _module_name(path: Path) -> str:
    return ".".join(("radreward", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")


FILES = {_module_name(path): path for path in PATHS}
MODULES = sorted(set(FILES) - ENTRY_POINTS)


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield every imported module of the package, imports inside functions included, type checking ones too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "radreward")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "radreward":
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                yield submodule if submodule in FILES else node.module


def _layer(module: str) -> int:
    """Return the layer of a module; the longest matching entry of `LAYERS` counts."""
    parts = module.split(".")[1:]
    for length in range(len(parts), 0, -1):
        prefix = ".".join(parts[:length])
        for number, layer in enumerate(LAYERS):
            if prefix in layer:
                return number
    raise LookupError(f"Expected {module} to belong to a layer of this test.")


def _package(module: str) -> str:
    """Return the package of a module; each system is a package of its own."""
    parts = module.split(".")[1:]
    return ".".join(parts[:2] if parts[0] == "systems" else parts[:1])


def _violations(module: str, tree: ast.Module) -> list[str]:
    found = []
    for target in set(_imports(tree)) - ENTRY_POINTS:
        if _package(target) == _package(module) and _layer(target) <= _layer(module):
            continue
        allowed = ONLY.get(_package(module))
        if _layer(target) >= _layer(module) or (allowed is not None and _package(target) not in allowed):
            found.append(target)
    return sorted(found)


def test_modules_import_lower_layers_only() -> None:
    found = {module: _violations(module, syntax_tree(FILES[module])) for module in MODULES}
    assert {module: targets for module, targets in found.items() if targets} == {}


def test_package_imports_nothing_from_experiments() -> None:
    imports = (node for path in PATHS for node in ast.walk(syntax_tree(path)) if isinstance(node, ast.ImportFrom))
    assert [node.module for node in imports if (node.module or "").startswith("experiments")] == []


@pytest.mark.parametrize(
    ("module", "source"),
    [
        ("radreward.models.lora", "from radreward.systems.green import prompt"),
        ("radreward.models.lora", "def f():\n    import radreward.synthesis"),
        ("radreward.systems.green.prompt", "from radreward.systems.ratescore.encoder import EntityEncoder"),
        ("radreward.systems.green.scorer", "from radreward.scorers import load"),
        ("radreward.text.lexicon", "from radreward.io.tables import read_rows"),
        ("radreward.objectives.base", "from radreward.data import packing"),
    ],
)
def test_forbidden_import_is_reported(module: str, source: str) -> None:
    assert len(_violations(module, ast.parse(source))) == 1


def test_allowed_imports_are_not_reported() -> None:
    source = "from radreward.scorers.base import Scorer\nfrom radreward.systems.green import prompt\nimport torch"
    assert _violations("radreward.systems.green.scorer", ast.parse(source)) == []


def _graph() -> dict[str, set[str]]:
    """Return the imports of every module; a package's `__init__` that imports lazily, for type checkers, counts not."""
    graph = {}
    for module, path in FILES.items():
        nodes = [node for node in syntax_tree(path).body if path.name != "__init__.py" or not isinstance(node, ast.If)]
        graph[module] = {target for node in nodes for target in _imports(node)} & set(FILES) - {module}
    return graph


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return one cycle of a graph, or an empty list."""
    done: set[str] = set()

    def visit(node: str, path: list[str]) -> list[str]:
        if node in path:
            return path[path.index(node) :]
        if node in done:
            return []
        for target in sorted(graph.get(node, ())):
            if cycle := visit(target, [*path, node]):
                return cycle
        done.add(node)
        return []

    return next((cycle for node in sorted(graph) if (cycle := visit(node, []))), [])


def test_imports_have_no_cycle() -> None:
    assert _cycle(_graph()) == []


def test_cycle_is_found() -> None:
    assert _cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c"]
