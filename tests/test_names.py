"""Names and docstrings of the whole package: each public name is defined once, every docstring starts plainly."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

import radreward

PACKAGE = Path(radreward.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
SAME_ROLE = {"run"}
"""Functions that play the same part in sibling modules: a command's entry point."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
NOT_A_SUMMARY = re.compile(
    r"(What|Whether|Where|When|Which|Who|How|That|There|Of|By|As|If|So|Its|Their|Those|These|This is|It|Is|Are|Has"
    r"|Tells?|Says?)\b"
)
"""Starts of sentences that are neither an imperative nor a noun phrase."""


def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _public(nodes: list[ast.stmt]) -> Iterator[Definition]:
    for node in nodes:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node


def _definitions(path: Path) -> Iterator[tuple[str, Definition]]:
    """Yield the public classes, functions and methods of a file with their qualified names."""
    for node in _public(_tree(path).body):
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{method.name}", method) for method in _public(node.body))


@pytest.mark.parametrize("kind", [ast.ClassDef, ast.FunctionDef])
def test_public_name_is_defined_once(kind: type[ast.stmt]) -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in _public(_tree(path).body):
            if isinstance(node, kind) and node.name not in SAME_ROLE:
                places[node.name].append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_has_a_docstring(path: Path) -> None:
    assert ast.get_docstring(_tree(path))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_docstring_starts_with_an_imperative_or_a_noun_phrase(path: Path) -> None:
    first_lines = {
        name: (ast.get_docstring(node) or "missing").splitlines()[0]
        for name, node in [("module", _tree(path)), *_definitions(path)]
    }
    assert {name: line for name, line in first_lines.items() if NOT_A_SUMMARY.match(line)} == {}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_file_class_and_function_are_short(path: Path) -> None:
    too_long = {} if len(path.read_text(encoding="utf-8").splitlines()) <= 300 else {"file": "over 300 lines"}
    for name, node in _definitions(path):
        lines = (node.end_lineno or node.lineno) - node.lineno + 1
        limit = 250 if isinstance(node, ast.ClassDef) else 60
        if lines > limit:
            too_long[name] = f"{lines} lines, limit {limit}"
    assert too_long == {}


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name == "__init__.py"], ids=lambda path: str(path.parent.name)
)
def test_lazy_export_has_no_name_of_a_submodule(path: Path) -> None:
    """A submodule, once imported, would hide the lazily exported name."""
    blocks = [node for node in _tree(path).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    exported = {alias.name for node in imports for alias in node.names}
    assert not exported & {entry.stem for entry in path.parent.iterdir()}
