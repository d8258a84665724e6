"""Every function that reads text takes at most 2.2 times the work for twice the text, whatever the text."""

import gc
import re
import sys
from collections.abc import Callable
from itertools import pairwise
from types import FrameType
from typing import Any

import pytest

from benchmarks.text_growth import growth_texts, text_readers
from radreward.scorers import load
from radreward.systems.er2score.patient_findings import _significance
from radreward.systems.er2score.statements import _findings
from radreward.text.entities import rule_entities
from radreward.text.sentence_parser import parse_sentence
from radreward.text.sentence_splitter import CACHED_SENTENCES, PAIRS_READ_TOGETHER
from radreward.text.standard_wording import may_report_finding
from radreward.text.unrelated import _read_statement
from tests.source_files import FILES

READERS = text_readers()
SHORTEST = 144
"""Characters of the shortest text of a piece, which is repeated 4 to 12 times in it: long pieces have several words."""
ENCODING, ENCODING_STEP = {"entity-f1", "is_report"}, 3
"""Readers that encode statements, which takes most of their time and no Python lines: they read every third text."""
START_LINES = 50
"""Lines that do not depend on the text; a quadratic function has thousands more."""


def repetitions(piece: str) -> tuple[int, int, int]:
    """Return how often a piece is repeated in the short, the long and the longest text."""
    first = min(12, max(4, SHORTEST // len(piece)))
    return first, 4 * first, 16 * first


def executed_lines(read: Callable[[str], object], text: str) -> int:
    """Return the number of executed Python lines, which is the same on every machine."""
    count = 0

    def trace(frame: FrameType, event: str, value: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    gc.disable()  # destructors and callbacks of the garbage collector are lines, too
    sys.settrace(trace)
    try:
        read(text)
    finally:
        sys.settrace(before)
        gc.enable()
    return count


@pytest.mark.parametrize("name", sorted(READERS))
def test_work_grows_linearly_with_the_text(name: str) -> None:
    read = READERS[name]
    executed_lines(read, "No effusion.")  # fills the caches of patterns
    texts = list(growth_texts())
    for lead, piece in texts[:: ENCODING_STEP if name in ENCODING else 1]:
        # Over two doublings, because some functions choose at random what they do with a text; and once more, because a
        # longer text may be taken for a finding, which is work that the shorter one did not need.
        grows = (
            executed_lines(read, lead + piece * longer)
            > 2.2**2 * executed_lines(read, lead + piece * shorter) + START_LINES
            for shorter, longer in pairwise(repetitions(piece))
        )
        assert not all(grows), (lead, piece)


@pytest.mark.parametrize("name", ["er2score", "rouge-l", "chexpert-f1"])
def test_scorer_refuses_a_megabyte(name: str) -> None:
    scores = load(name).score(["No effusion.", "9" * 1_000_000], ["no effusion, " * 80_000, "No effusion."])
    assert scores.status == tuple(
        f"over the limit: Expected at most 20,000 characters as {side} but got {got}; split or shorten the text"
        for side, got in (("candidate", "1,039,999"), ("reference", "1,000,000"))
    )


@pytest.mark.parametrize(
    "read", [_findings, _read_statement, _significance, may_report_finding, parse_sentence, rule_entities]
)
def test_cache_of_sentences_keeps_a_few_chunks(read: Any) -> None:
    assert read.cache_info().maxsize == CACHED_SENTENCES <= 24 * PAIRS_READ_TOGETHER


def test_no_cache_keeps_more_than_twenty_thousand_texts() -> None:
    sizes = [
        int(size) for path in FILES for size in re.findall(r"@lru_cache\(([\d_]+)\)", path.read_text(encoding="utf-8"))
    ]
    assert len(sizes) > 5
    assert max(sizes) <= 20_000


def test_work_of_a_quadratic_function_is_noticed() -> None:
    def read(text: str) -> int:
        return sum(char == other for char in text for other in text)

    assert executed_lines(read, "ab" * 20) > 3 * executed_lines(read, "ab" * 10)
