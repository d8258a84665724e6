"""Time of every function that reads text, at 1,000 and 4,000 characters of hostile texts.

The tests count executed Python lines, which cannot see work inside regular expressions; this measures processor time.
Twice the text may take at most 2.2 times as long, so that the long text may take 4.84 times as long as the short one,
plus a margin for the clock; what takes less than the margin is measured once and not compared. `parse_report` gets a
full stop per 100 characters, because it parses no sentence of more than 1,000. Garbage collection is off, and the
minimum of three runs counts.
"""

from __future__ import annotations

import gc
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from rich.console import Console
from rich.table import Table

import radreward
from benchmarks._figures import Figure
from experiments.ratescore.sentence_edits import negate_or_affirm
from experiments.ratescore.target_similarity import parse_names
from experiments.ratescore.triads import triads_from_sentences
from radreward._lazy_imports import import_object
from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.entity_io import sentence_from_tokens
from radreward.data.iob import spans_from_iob
from radreward.data.statement_tokens import statement_tokens
from radreward.data.tokenizer import SegmentTokenizer, load_tokenizer
from radreward.models.report_findings import ReportFindings
from radreward.prompts.criterion_mentions import mentioned_criteria
from radreward.prompts.tags import wrap_in_tags
from radreward.scorers import load
from radreward.scorers.llm_judge import LineEditJudge
from radreward.synthesis.llm.parser import ReportedError, parse_generated
from radreward.synthesis.llm.validation import _entities, check_reported_errors
from radreward.systems.green.official_parser import parse_like_official
from radreward.systems.green.parser import parse_green
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.radreason.parser import errors_per_step, escape_reasoning, parse_radreason, unescape_reasoning
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.ratescore.entity_context import contextualize, present_findings
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore
from radreward.systems.sentence_eval.parser import parse_sentence_answer
from radreward.systems.sentence_eval.quality import judged_quality
from radreward.systems.sentence_eval.refinement import RuleRefiner
from radreward.systems.sentence_eval.score_features import _stated_findings, feature_values
from radreward.testing.hostile_reports import HOSTILE_PIECES
from radreward.text.composed_locations import with_zone
from radreward.text.entities import rule_entities
from radreward.text.facts import Fact
from radreward.text.patient_context import PatientContext, parse_context
from radreward.text.report_parser import parse_report
from radreward.text.report_reading import read_report
from radreward.text.sentence_parser import parse_sentence, sentence_facts
from radreward.text.sentence_splitter import sentence_spans, split_sentences
from radreward.text.significance import patient_level
from radreward.text.standard_wording import may_report_finding

SHORT, LONG = 1_000, 4_000
"""Characters."""
MAX_GROWTH = 2.2**2
CLOCK_MARGIN = 0.005
"""Seconds."""
ROUNDS = 3
_ONE_TEXT = re.compile(
    r"^def ([a-z]\w*)\((?:text|sentence|report|answer|reasoning|phrase|lower|cell): str\) ->", re.MULTILINE
)


def text_readers() -> dict[str, Callable[[str], object]]:
    """Return the functions that read reports, and the parsers of answers, by name."""
    readers = {path.rpartition(".")[2]: import_object(path) for path in _readers_of_one_text()}
    return {name: _without_caches(read) for name, read in (readers | _readers_with_settings()).items()}


def _readers_of_one_text() -> Iterator[str]:
    """Yield the import paths of all public functions that take nothing but a text."""
    for path in sorted(Path(radreward.__file__).parent.rglob("*.py")):
        module = ".".join(("radreward", *path.relative_to(Path(radreward.__file__).parent).with_suffix("").parts))
        for name in _ONE_TEXT.findall(path.read_text(encoding="utf-8")):
            if name != "parse_editable_report":  # raises for most of these texts, after `parse_report`
                yield f"{module}.{name}"


def _without_caches(read: Callable[[str], object]) -> Callable[[str], object]:
    """Return a function that reads each text as if it were new."""
    caches = {
        *(sentence_spans, parse_sentence, sentence_facts, rule_entities, may_report_finding, read_report),
        *(_stated_findings, _entities, read),
    }
    clear = [function.cache_clear for function in caches if hasattr(function, "cache_clear")]

    def read_anew(text: str) -> object:
        for clear_cache in clear:
            clear_cache()
        return read(text)

    return read_anew


def _readers_with_settings() -> dict[str, Callable[[str], object]]:
    """Return functions that read a text with other arguments, methods, and functions of sentences."""
    criteria, split, tagger = RadCliQCriteria(), RadCliQSignificanceCriteria(), RuleTagger()
    tokenizer = SegmentTokenizer(load_tokenizer("embedded"))
    judge = LineEditJudge.__new__(LineEditJudge)  # its parser needs no model
    counts = dict.fromkeys(criteria.tags, 0) | {"omission": 1}

    def in_sentences(text: str) -> str:
        return ". ".join(text[start : start + 100] for start in range(0, len(text), 100))

    def judged(text: str) -> tuple[SentenceJudgement, list[str]]:
        sentences = split_sentences(in_sentences(text))
        scores = (SentenceScore(0.0, (0,)),) * len(sentences)
        return SentenceJudgement(scores, scores, None, "", {}, "ok"), sentences

    def judge_unread(text: str) -> object:
        judgement, sentences = judged(text)
        findings = ReportFindings((), tuple(sentences))
        return judged_quality(judgement, (sentences, sentences), (findings, findings))

    def refine(text: str) -> object:
        judgement, sentences = judged(text)
        return RuleRefiner().refine([sentences], [sentences], [judgement])

    def lexical(name: str) -> Callable[[str], object]:
        scorer = load(name)
        return lambda text: scorer.score([text], [text])

    return {
        **{name: lexical(name) for name in ("bleu-4", "chrf", "cider", "entity-f1", "rouge-2")},
        "answer_statistics, green": lambda text: GreenTemplate().answer_statistics(text, split),
        "answer_statistics, radreason": lambda text: RadReasonTemplate().answer_statistics(text, criteria),
        "check_reported_errors": lambda text: check_reported_errors(
            criteria, text, "Clear.", counts, [ReportedError("omission", text, None, "")]
        ),
        "with_zone": lambda text: with_zone("nodule", "left", f"#### {text.lower()}"),
        "contextualize": lambda text: contextualize("phrase", text, tagger.tag_reports([text])[0]),
        "errors_per_step": lambda text: errors_per_step(text, criteria),
        "escape_reasoning": lambda text: unescape_reasoning(escape_reasoning(text)),
        "feature_values": lambda text: feature_values("findings", *(entry := judged(text)), entry[1]),
        "mentioned_criteria": lambda text: mentioned_criteria(text, criteria),
        "negate_or_affirm": lambda text: negate_or_affirm(text, parse_sentence(text), Random(0)),
        "parse_context": lambda text: parse_context({"age": text, "indication": text}),
        "parse_generated": lambda text: parse_generated(f"[Errors]\n{text}\n[Counts]\n{text}", ("errors",), criteria),
        "parse_green": lambda text: parse_green(f"[Matched Findings]:\n{text}", criteria.criteria),
        "parse_green, significant": lambda text: parse_green(
            f"[Clinically Significant Errors]:\n{text}", split.criteria
        ),
        "parse_like_official": lambda text: parse_like_official(f"[Clinically Significant Errors]:\n{text}"),
        "parse_names": lambda text: parse_names([text]),
        "parse_radreason": lambda text: parse_radreason(f"<think>{text}</think>{text}", criteria),
        "parse_report": lambda text: parse_report(in_sentences(text)),
        "parse_response": lambda text: judge.parse_response(text, "No edema."),
        "parse_sentence_answer": lambda text: parse_sentence_answer(text, {"a": "No edema."}, {"A": "No mass."}),
        "present_findings": lambda text: present_findings(text, tagger.tag_reports([text])[0]),
        "refine": refine,
        "sentence_from_tokens": lambda text: sentence_from_tokens(
            text.split(), ((index, index + 1, "Disease") for index in range(len(text.split())))
        ),
        "judged_quality": judge_unread,
        "patient_level": lambda text: patient_level(Fact("edema"), PatientContext(40, text)),
        "spans_from_iob": lambda text: spans_from_iob(["I-Disease" if char.isalpha() else "O" for char in text]),
        "statement_tokens": lambda text: statement_tokens(text, len(tokenizer.offsets(text)), True, tokenizer),
        "triads_from_sentences": lambda text: list(triads_from_sentences(split_sentences(in_sentences(text)))),
        "wrap_in_tags": lambda text: wrap_in_tags("reference", text),
    }


def growth_texts() -> list[tuple[str, str]]:
    """Return beginnings and pieces; a text is a beginning and a repeated piece."""
    own = ("</reference-2>", "Omission: ", "step 1: ", "<omission>1</omission>", "(a) x: 1. y; ", "original,a,", "(a) ")
    return [(lead, piece) for piece in (*HOSTILE_PIECES, *own, "Left scar. ") for lead in ("", "no ")]


def main() -> list[Figure]:
    """Print the slowest text and the highest growth of each function."""
    highest = 0.0
    table = Table("function", "slowest text", "ms", "long / short", title=f"Growth, at most {MAX_GROWTH:.2f}")
    for name, read in text_readers().items():
        times = {text: _seconds(read, text, LONG, rounds=1) for text in growth_texts()}
        slowest = max(times, key=times.__getitem__)
        growth = max((_growth(read, text) for text, seconds in times.items() if seconds > CLOCK_MARGIN), default=0.0)
        highest = max(highest, growth)
        table.add_row(name, ascii("".join(slowest)), f"{1000 * times[slowest]:.1f}", f"{growth:.2f}")
    Console(width=120, markup=False).print(table)
    return [Figure("highest growth of work for four times the text", highest, at_most=MAX_GROWTH)]


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
