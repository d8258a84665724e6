"""Syntax trees of the package's files, parsed once for all tests that read them."""

import ast
from functools import cache
from pathlib import Path

import radreward

PACKAGE = Path(radreward.__file__).parent
FILES = sorted(PACKAGE.rglob("*.py"))
TESTS = sorted(Path(__file__).parent.rglob("test_*.py"))


@cache
def syntax_tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
