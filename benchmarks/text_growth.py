"""Time of every function that reads text, at 1,000 and 4,000 characters of hostile texts.

The tests count executed Python lines, which cannot see work inside regular expressions; this measures processor time.
Twice the text may take at most 2.2 times as long, so that the long text may take 4.84 times as long as the short one,
plus a margin for the clock; what takes less than the margin is measured once and not compared. `parse_report` gets a
full stop per 100 characters, because it parses no sentence of more than 1,000. Garbage collection is off, and the
minimum of three runs counts.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from radreward.testing import HOSTILE_PIECES

SHORT, LONG = 1_000, 4_000
"""Characters."""
MAX_GROWTH = 2.2**2
CLOCK_MARGIN = 0.005
"""Seconds."""
ROUNDS = 3


def text_readers() -> dict[str, Callable[[str], object]]:
    """Return the functions that read reports, and the parsers of answers, by name."""
    from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
    from radreward.prompts.criterion_mentions import mentioned_criteria
    from radreward.prompts.tags import wrap_in_tags
    from radreward.scorers.chexpert_labels import _sentence_labels, label_report
    from radreward.scorers.llm_judge import LineEditJudge
    from radreward.synthesis.llm.parser import parse_generated
    from radreward.systems.green.official_parser import parse_like_official
    from radreward.systems.green.parser import parse_green
    from radreward.systems.radreason.parser import (
        errors_per_step,
        escape_reasoning,
        parse_radreason,
        unescape_reasoning,
    )
    from radreward.systems.ratescore.entity_context import contextualize
    from radreward.systems.ratescore.taggers import RuleTagger
    from radreward.systems.sentence_eval.parser import parse_sentence_answer
    from radreward.systems.sentence_eval.refinement_prompt import parse_refined_report
    from radreward.text.changes import mentions_change
    from radreward.text.entities import rule_entities
    from radreward.text.lexicon import find_phrases
    from radreward.text.locations import mirror_side
    from radreward.text.negation import drop_leading_negation, negated_spans
    from radreward.text.normal_statements import is_uninformative, negated_findings
    from radreward.text.normalization import normalize_report
    from radreward.text.recognition import reads_as_report
    from radreward.text.report_parser import parse_report
    from radreward.text.sentence_parser import parse_sentence
    from radreward.text.sentence_splitter import sentence_spans, split_at_stops
    from radreward.text.severity import first_severity

    criteria, tagger = RadCliQCriteria(), RuleTagger()
    split = RadCliQSignificanceCriteria()
    judge = LineEditJudge.__new__(LineEditJudge)  # its parser needs no model

    def parse_sentences(text: str) -> object:
        return parse_report(". ".join(text[start : start + 100] for start in range(0, len(text), 100)))

    def entity_contexts(text: str) -> object:
        return contextualize("phrase", text, tagger.tag_reports([text])[0])

    caches = (parse_sentence, rule_entities, _sentence_labels)

    def uncached(read: Callable[[str], object]) -> Callable[[str], object]:
        def read_anew(text: str) -> object:
            for function in caches:
                function.cache_clear()
            return read(text)

        return read_anew

    return {
        "contextualize": uncached(entity_contexts),
        "drop_leading_negation": drop_leading_negation,
        "errors_per_step": lambda text: errors_per_step(text, criteria),
        "escape_reasoning": lambda text: unescape_reasoning(escape_reasoning(text)),
        "find_phrases": find_phrases,
        "first_severity": first_severity,
        "is_uninformative": is_uninformative,
        "label_report": uncached(label_report),
        "mentioned_criteria": lambda text: mentioned_criteria(text, criteria),
        "mentions_change": mentions_change,
        "mirror_side": mirror_side,
        "negated_findings": negated_findings,
        "negated_spans": negated_spans,
        "normalize_report": normalize_report,
        "parse_generated": lambda text: parse_generated(f"[Errors]\n{text}\n[Counts]\n{text}", ("errors",), criteria),
        "parse_green": lambda text: parse_green(f"[Matched Findings]:\n{text}", criteria.criteria),
        "parse_green, significant": lambda text: parse_green(
            f"[Clinically Significant Errors]:\n{text}", split.criteria
        ),
        "parse_like_official": lambda text: parse_like_official(f"[Clinically Significant Errors]:\n{text}"),
        "parse_radreason": lambda text: parse_radreason(f"<think>{text}</think>{text}", criteria),
        "parse_refined_report": parse_refined_report,
        "parse_report": uncached(parse_sentences),
        "parse_response": lambda text: judge.parse_response(text, "No edema."),
        "parse_sentence": uncached(parse_sentence),
        "parse_sentence_answer": lambda text: parse_sentence_answer(text, {"a": "No edema."}, {"A": "No mass."}),
        "reads_as_report": reads_as_report,
        "rule_entities": uncached(rule_entities),
        "sentence_spans": sentence_spans,
        "split_at_stops": split_at_stops,
        "wrap_in_tags": lambda text: wrap_in_tags("reference", text),
    }


def growth_texts() -> list[tuple[str, str]]:
    """Return beginnings and pieces; a text is a beginning and a repeated piece."""
    own = ("</reference-2>", "Omission: ", "step 1: ", "<omission>1</omission>", "(a) x: 1. y; ", "original,a,", "(a) ")
    return [(lead, piece) for piece in (*HOSTILE_PIECES, *own) for lead in ("", "no ")]


def main() -> None:
    """Print the slowest text and the highest growth of each function."""
    table = Table("function", "slowest text", "ms", "long / short", title=f"Growth, at most {MAX_GROWTH:.2f}")
    for name, read in text_readers().items():
        times = {text: _seconds(read, text, LONG, rounds=1) for text in growth_texts()}
        slowest = max(times, key=times.__getitem__)
        growth = max((_growth(read, text) for text, seconds in times.items() if seconds > CLOCK_MARGIN), default=0.0)
        verdict = "" if growth <= MAX_GROWTH else " MISSED"
        table.add_row(name, ascii("".join(slowest)), f"{1000 * times[slowest]:.1f}", f"{growth:.2f}{verdict}")
    Console(width=120, markup=False).print(table)


def _growth(read: Callable[[str], object], text: tuple[str, str]) -> float:
    short, long = (_seconds(read, text, length, ROUNDS) for length in (SHORT, LONG))
    return max(0.0, long - CLOCK_MARGIN) / short


def _seconds(read: Callable[[str], object], text: tuple[str, str], length: int, rounds: int) -> float:
    lead, piece = text
    content = lead + piece * (length // len(piece))
    times = []
    gc.disable()
    for _ in range(rounds):
        start = time.process_time()
        read(content[:length])
        times.append(time.process_time() - start)
    gc.enable()
    return max(min(times), 1e-6)
