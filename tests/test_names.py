"""Names and docstrings of the whole package: each public name is defined once, every docstring starts plainly."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.source_files import FILES, PACKAGE, TESTS, syntax_tree

SAME_ROLE = {"run"}
"""Functions that play the same part in sibling modules: a command's entry point."""
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
NOT_A_SUMMARY = re.compile(
    r"(What|Whether|Where|When|Which|Who|How|That|There|Of|By|As|If|So|Its|Their|Those|These|This is|It|Is|Are|Has"
    r"|Tells?|Says?)\b"
)
"""Starts of sentences that are neither an imperative nor a noun phrase."""


def _relative(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def _public(nodes: list[ast.stmt]) -> Iterator[Definition]:
    for node in nodes:
        if isinstance(node, Definition) and not node.name.startswith("_"):
            yield node


def _definitions(path: Path) -> Iterator[tuple[str, Definition]]:
    """Yield the public classes, functions and methods of a file with their qualified names."""
    for node in _public(syntax_tree(path).body):
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            yield from ((f"{node.name}.{method.name}", method) for method in _public(node.body))


@pytest.mark.parametrize("kind", [ast.ClassDef, ast.FunctionDef])
def test_public_name_is_defined_once(kind: type[ast.stmt]) -> None:
    places = defaultdict(list)
    for path in FILES:
        for node in _public(syntax_tree(path).body):
            if isinstance(node, kind) and node.name not in SAME_ROLE:
                places[node.name].append(_relative(path))
    assert {name: paths for name, paths in places.items() if len(paths) > 1} == {}


def test_tests_are_named_without_verbs_of_speech() -> None:
    names = [node.name for path in TESTS for node in syntax_tree(path).body if isinstance(node, ast.FunctionDef)]
    assert len(names) > 1000
    assert [name for name in names if re.search(r"_(says?|tells?|told|mends?)(_|$)", name)] == []


def test_modules_have_docstrings() -> None:
    assert [_relative(path) for path in FILES if not ast.get_docstring(syntax_tree(path))] == []


def test_docstrings_start_with_an_imperative_or_a_noun_phrase() -> None:
    first_lines = {
        (_relative(path), name): (ast.get_docstring(node) or "missing").splitlines()[0]
        for path in FILES
        for name, node in [("module", syntax_tree(path)), *_definitions(path)]
    }
    assert {place: line for place, line in first_lines.items() if NOT_A_SUMMARY.match(line)} == {}


def test_files_classes_and_functions_are_short() -> None:
    too_long = {}
    for path in FILES:
        if len(path.read_text(encoding="utf-8").splitlines()) > 400:
            too_long[_relative(path), "file"] = "over 400 lines"
        for name, node in _definitions(path):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            limit = 250
            if not isinstance(node, ast.ClassDef):  # the docstring of a command documents its options
                lines, limit = lines - len((ast.get_docstring(node, clean=False) or "").splitlines()), 50
            if lines > limit:
                too_long[_relative(path), name] = f"{lines} lines, limit {limit}"
    assert too_long == {}


def test_lazy_exports_have_no_name_of_a_submodule() -> None:
    """A submodule, once imported, would hide the lazily exported name."""
    hidden = {}
    for path in (path for path in FILES if path.name == "__init__.py"):
        blocks = [node for node in syntax_tree(path).body if isinstance(node, ast.If)]
        imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
        exported = {alias.name for node in imports for alias in node.names}
        hidden[_relative(path)] = exported & {entry.stem for entry in path.parent.iterdir()}
    assert {package: names for package, names in hidden.items() if names} == {}
