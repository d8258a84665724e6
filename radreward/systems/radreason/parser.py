"""Parser of RadReason's answers: one block of reasoning, then one number in the tag of each criterion."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple, get_args

from radreward.criteria import Criteria
from radreward.prompts.generative_template import one_line
from radreward.prompts.parsing import MAX_CHARACTERS, ParsedAnswer, parse_count, parse_failure

ReasoningTag = Literal["think", "reasoning"]
"""Tag of the reasoning: "think", as reasoning models write it, or "reasoning", as published."""
REASONING_TAGS: tuple[str, ...] = get_args(ReasoningTag)
_TAG = re.compile(r"<(/?)([a-z][a-z0-9_]*)>", re.IGNORECASE | re.ASCII)
_TAG_START = re.compile(r"<(?=/?[A-Za-z])")
_ESCAPED = re.compile(r"&(?=(?:amp;)*lt;)")
_UNESCAPED = re.compile(r"&amp;(?=(?:amp;)*lt;)")
_STEP = re.compile(r"[\W_]{0,8}(?:step\s{0,3}\d{1,3}[\W_]{1,8})?", re.IGNORECASE)
_NO_ERROR = frozenset({"", "no", "none", "n/a", "nothing", "no error", "no errors"})


def escape_reasoning(reasoning: str) -> str:
    """Return reasoning in which no text looks like a tag. `unescape_reasoning` is the inverse.

    >>> escape_reasoning("pH < 7 <think>")
    'pH < 7 &lt;think>'
    """
    return _TAG_START.sub("&lt;", _ESCAPED.sub("&amp;", reasoning.strip()))


def unescape_reasoning(reasoning: str) -> str:
    """Return the reasoning that `escape_reasoning` escaped.

    >>> unescape_reasoning("pH < 7 &lt;think>")
    'pH < 7 <think>'
    """
    return _UNESCAPED.sub("&", reasoning.replace("&lt;", "<")).strip()


class _ReasoningBlock(NamedTuple):
    reasoning: str | None
    end: int | None
    """Offset at which the numbers start; None if they cannot be separated from the reasoning."""
    error: str | None


def parse_radreason(text: str, criteria: Criteria, reasoning_tag: ReasoningTag = "think") -> ParsedAnswer:
    r"""Parse an answer without raising, in time linear in its length.

    Numbers before the end of the reasoning are ignored, because the reasoning may quote a report. A criterion has a
    value if its tag is opened and closed exactly once, with a number >= 0 inside (at most 1 for a binary criterion).
    An answer without exactly one block of reasoning before the numbers has a format error too.

    >>> from radreward.criteria import Criterion
    >>> criteria = Criteria("one", [Criterion("omission", "Missing.")])
    >>> parse_radreason("<think>No <omission>9</omission>.</think><omission>0</omission>", criteria).values
    (0.0,)
    >>> parse_radreason("<think>Hm.</think><omission>1</omission><omission>2</omission>", criteria).format_error
    'omission: twice'
    """
    if len(text) > MAX_CHARACTERS:
        return parse_failure(len(criteria), f"too long: {len(text)} characters")
    if not text.strip():
        return parse_failure(len(criteria), "empty")
    known = {reasoning_tag, *criteria.tags}
    tags = [match for match in _TAG.finditer(text) if match[2].lower() in known]
    block = _find_reasoning(text, [match for match in tags if match[2].lower() == reasoning_tag], reasoning_tag)
    if block.end is None:
        return parse_failure(len(criteria), block.error or "")._replace(reasoning=block.reasoning)
    number_tags = [match for match in tags if match.start() >= block.end]
    positions: dict[str, list[int]] = {}
    for position, match in enumerate(number_tags):
        positions.setdefault(match[2].lower(), []).append(position)
    values, errors = [], []
    for tag, criterion in zip(criteria.tags, criteria.criteria, strict=True):
        value: float | None = None
        content, error = _tag_content(text, number_tags, positions.get(tag, []))
        if content is not None:
            value, error = parse_count(content, criterion)
        values.append(value)
        errors.append(error)
    named = (f"{tag}: {error}" for tag, error in zip(criteria.tags, errors, strict=True) if error)
    return ParsedAnswer(tuple(values), tuple(errors), block.reasoning, block.error or next(named, None))


def _find_reasoning(text: str, tags: list[re.Match[str]], name: str) -> _ReasoningBlock:
    opening = [match for match in tags if not match[1]]
    closing = [match for match in tags if match[1]]
    if not tags:
        return _ReasoningBlock(None, 0, f"{name}: missing")
    if not closing:
        return _ReasoningBlock(unescape_reasoning(text[opening[0].end() :]), None, f"{name}: not closed")
    if not opening or opening[0].start() > closing[0].start():  # the opening tag may be part of the prompt
        return _ReasoningBlock(unescape_reasoning(text[: closing[0].start()]), closing[-1].end(), f"{name}: not opened")
    reasoning = unescape_reasoning(text[opening[0].end() : closing[0].start()])
    return _ReasoningBlock(reasoning, closing[-1].end(), None if len(tags) == 2 else f"{name}: twice")


def _tag_content(text: str, tags: list[re.Match[str]], positions: list[int]) -> tuple[str | None, str | None]:
    """Return the text inside the tag of a criterion, or the reason why it is missing."""
    slashes = [tags[position][1] for position in positions]
    if not positions:
        return None, "missing"
    if len(positions) > 2:
        return None, "twice"
    if slashes != ["", "/"]:
        return None, "not closed" if slashes[0] == "" else "not opened"
    if positions[1] != positions[0] + 1:
        return None, "another tag in it"
    return text[tags[positions[0]].end() : tags[positions[1]].start()], None


def errors_per_step(reasoning: str | None, criteria: Criteria) -> tuple[tuple[str, ...], ...]:
    r"""Return the (N,) error descriptions of the criteria: the text after a name and a colon, split at semicolons.

    The name starts a line, optionally after "Step 3:". Other reasoning gives no descriptions. Takes time linear in the
    length of the text.

    >>> from radreward.criteria import Criterion
    >>> criteria = Criteria("two", [Criterion("omission", "Left out."), Criterion("wrong place", "Elsewhere.")])
    >>> errors_per_step("Compared.\nStep 1: omission: none\nStep 2: Wrong place: Left, not right; low", criteria)
    ((), ('Left, not right', 'low'))
    """
    index = {name: i for i, entry in enumerate(criteria.criteria) for name in (entry.name.lower(), entry.tag)}
    errors: list[list[str]] = [[] for _ in criteria.criteria]
    for line in (reasoning or "").splitlines():
        step = _STEP.match(line)
        name, colon, description = line[step.end() if step else 0 :].partition(":")
        criterion = index.get(name.strip(" \t*_").lower())
        if colon and criterion is not None:
            parts = (one_line(part).strip("*_ ").removesuffix(".") for part in description.split(";"))
            errors[criterion] += [part for part in parts if part.lower() not in _NO_ERROR]
    return tuple(map(tuple, errors))
