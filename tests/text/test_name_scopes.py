"""Scopes of cues and modifiers, compared with loops over the text around each name."""

from hypothesis import given
from hypothesis import strategies as st

from radreward.text.mention_scopes import CLAUSE, mention_scopes
from radreward.text.negation import (
    _NAME_CUES,
    _NAME_CUES_AFTER,
    _NO_DENIALS,
    CLAUSE_STOP,
    DENIAL_STOP,
    _no_cues,
    negated_names,
    reached_names,
)
from radreward.text.read_names import Mention
from radreward.text.sentence_parser import _UNCERTAINTY

PIECES = (
    *(
        "#####",
        "##",
        "no",
        "not",
        "not excluded",
        "no longer",
        "no change",
        "without",
        "with",
        "free of",
        "nor",
        "no evidence of",
    ),
    *("is not seen", "is absent", "ruled out", "may represent", "possible", "suspicious for", "likely", "not"),
    *(
        "but",
        "however",
        "there is",
        "there are",
        "there",
        "which",
        ",",
        "the heart is",
        "and it remains",
        " - ",
        ", ",
        "; ",
        ". ",
        ":",
        "and",
        "or",
        "left",
        "-",
    ),
)
SENTENCES = st.lists(st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " "])), max_size=25).map(
    lambda pieces: "".join(piece + space for piece, space in pieces)
)


def names_of(text: str) -> list[tuple[int, int]]:
    """Return the runs of masks as names, where a name could be: not inside a word."""
    spans, start = [], 0
    while (start := text.find("#", start)) >= 0:
        end = start
        while end < len(text) and text[end] == "#":
            end += 1
        spans.append((start, end))
        start = end
    return [
        (start, end)
        for start, end in spans
        if not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum() or "-" in text[start - 1 : end + 1])
    ]


@given(SENTENCES)
def test_negated_and_reached_names_are_those_of_a_loop_over_names(text: str) -> None:
    names = names_of(text)
    without_phrases = _no_cues().sub(lambda match: "~" * len(match[0]), text)
    hedged = reached_names(text, [cue.end() for cue in _UNCERTAINTY.finditer(text)], names)
    for (start, end), is_negated, is_hedged in zip(names, negated_names(text, names), hedged, strict=True):
        before = text[:start]
        cues = [cue for cue in _NAME_CUES.finditer(without_phrases[:start]) if not _NO_DENIALS.match(text, cue.start())]
        stops = [stop.span() for stop in DENIAL_STOP.finditer(text)]
        ended = bool(cues) and any(cues[-1].end() <= first and last <= start for first, last in stops)
        reached = bool(cues) and not ended
        assert is_negated == (reached or bool(_NAME_CUES_AFTER.search(text[end:].split(",")[0])))
        uncertain = _UNCERTAINTY.finditer(before)
        assert is_hedged == any(not CLAUSE_STOP.search(text[cue.end() : start]) for cue in uncertain)


@given(SENTENCES)
def test_scopes_are_those_of_a_loop_over_clauses(text: str) -> None:
    mentions = [Mention("edema", *span) for span in names_of(text)]
    clauses = [match.end() for match in CLAUSE.finditer(text)]
    for index, (mention, scope) in enumerate(zip(mentions, mention_scopes(mentions, text), strict=True)):
        floor = mentions[index - 1].end if index else 0
        is_last = index + 1 == len(mentions)
        ceiling = len(text) if is_last else mentions[index + 1].start
        starts = [start for start in clauses if floor <= start <= mention.start] if index else []
        ends = [start for start in clauses if mention.end <= start <= ceiling]
        assert scope == (max([floor, *starts]), ends[-1] if ends and not is_last else ceiling)
