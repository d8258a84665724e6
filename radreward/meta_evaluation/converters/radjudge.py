"""RadJudge (CRIMSON, 2026): tests that expect candidates in a given order."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.validated_rows import RowError, raise_row_errors, text_field
from radreward.meta_evaluation.preferences import Preference, PreferredCandidate
from radreward.text.patient_context import NO_CONTEXT, PatientContext, parse_context

_VARIABLE = "RANKING_TESTS"
_RELATIONS: dict[str, PreferredCandidate] = {">": "a", "<": "b", "=": "equal"}


def read_radjudge(source: Path) -> Iterator[Preference]:
    """Yield one preference per relation, such as C1 > C2 or C1 = C2. The `group` is the id of the test.

    The file is parsed as a Python literal and never executed.

    Args:
        source: The Python file that assigns the tests to `RANKING_TESTS`.

    Raises:
        InputError: If the file has no such literal, or a test is invalid. The message names test and field.
    """
    preferences: list[Preference] = []
    errors = []
    for number, test in enumerate(_read_tests(source), 1):
        try:
            preferences += _parse_test(test)
        except RowError as error:
            errors.append(f"test {number}: {error}")
    if errors:
        raise_row_errors(source, errors)
    yield from preferences


def _read_tests(source: Path) -> list[Any]:
    try:
        module = ast.parse(source.read_text(encoding="utf-8"))
        values = [
            ast.literal_eval(node.value)
            for node in module.body
            if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None and _names(node) == [_VARIABLE]
        ]
    except (OSError, ValueError, TypeError, SyntaxError, RecursionError, MemoryError) as error:
        raise InputError(f"{source}: Expected Python with a literal {_VARIABLE} ({error}).") from error
    if len(values) != 1 or not isinstance(values[0], list):
        raise InputError(f"{source}: Expected one list {_VARIABLE} = [...] but got {len(values)} values.")
    tests: list[Any] = []
    for category in values[0]:
        own = category.get("tests") if isinstance(category, Mapping) else None
        if not isinstance(own, list):
            got = type(own).__name__
            raise InputError(f"{source}: Expected a list `tests` in each category of {_VARIABLE} but got {got}.")
        tests += own
    if not tests:
        raise InputError(f"{source}: Expected tests in {_VARIABLE} but got none.")
    return tests


def _names(node: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _parse_test(test: Any) -> Iterator[Preference]:
    if not isinstance(test, Mapping) or not isinstance(test.get("candidates"), Mapping):
        raise RowError(f"Expected `id`, `ground_truth`, `expected_ranking` and a mapping `candidates` but got {test!r}")
    name, reference = text_field(test, "id", allow_integer=True), text_field(test, "ground_truth")
    texts = {
        key: text_field(value if isinstance(value, Mapping) else {"text": value}, "text")
        for key, value in test["candidates"].items()
    }
    contexts = {key: _context(value) for key, value in test["candidates"].items()}
    rankings = test.get("expected_ranking")
    for ranking in rankings if isinstance(rankings, list) and rankings else [rankings]:
        for first, relation, second in _relations(ranking, texts):
            yield Preference(
                id=f"{name}/{first}{relation}{second}",
                reference=reference,
                candidate_a=texts[first],
                candidate_b=texts[second],
                preferred=_RELATIONS[relation],
                group=name,
                context_a=contexts[first],
                context_b=contexts[second],
            )


def _context(candidate: Any) -> PatientContext:
    context = candidate.get("context") if isinstance(candidate, Mapping) else None
    return parse_context(context) if isinstance(context, Mapping) else NO_CONTEXT


def _relations(ranking: Any, texts: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """Yield the relations of neighbors in a ranking such as "C1 > C2 = C3"."""
    parts = re.split(r"\s*([<>=])\s*", ranking.strip()) if isinstance(ranking, str) else []
    names, relations = parts[::2], parts[1::2]
    if not relations or any(name not in texts for name in names):
        raise RowError(
            f"field 'expected_ranking': Expected relations of {', '.join(map(str, texts))} but got {ranking!r}"
        )
    yield from zip(names, relations, names[1:], strict=False)
