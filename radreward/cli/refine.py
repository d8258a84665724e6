"""`radreward verify`: reports corrected by what a judge says of them, and judged again."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.judge_sentences import (
    CHAT,
    ReportPairs,
    add_judge,
    make_chat_model,
    make_judge,
    print_dry_run,
    read_report_pairs,
    resumable_rows,
    write_through,
)
from radreward.errors import InputError

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.scorers import Scorer
    from radreward.systems.sentence_eval.judges import SentenceJudge
    from radreward.systems.sentence_eval.refinement import ReportRefiner

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    add_judge(parser)
    parser.add_argument(
        "--scorers", nargs="+", default=["embedded"], help="names or folders of metrics that score before and after"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument(
        "--output", required=True, type=Path, help="file for the reports; the table is written beside it"
    )


def run(options: Namespace) -> int:
    """Verify the pairs of a file; 1 where some could not be judged or corrected."""
    with suppress_library_warnings(), user_errors(constructing=True):
        from radreward.io.tables import AtomicTableWriter
        from radreward.scorers import load, resolve
        from radreward.scoring.resume import check_output
        from radreward.systems.sentence_eval.refinement import ChatRefiner, RuleRefiner
        from radreward.systems.sentence_eval.refinement_study import (
            score_change_table,
            score_changes,
            write_score_changes,
        )

        check_output(options.output, options.input)
        if twice := [name for name, count in Counter(options.scorers).items() if count > 1]:
            raise InputError(f"--scorers: Expected different metrics but {twice[0]} is there twice.")
        for name in options.scorers:
            resolve(name)
        pairs = read_report_pairs(options.input)
        if options.dry_run:
            print("Of the first judgement; corrections ask once a pair, the second judgement as much as the first:")
            return print_dry_run(options, pairs)
        model = make_chat_model(options) if options.judge == CHAT else None
        judge = make_judge(options, model)
        reviser: ReportRefiner = ChatRefiner(model, options.max_tokens) if model else RuleRefiner()
        known = [text for text, found in zip(pairs.references, pairs.problems, strict=True) if found is None]
        scorers = {name: load(name).fit_references(known) for name in options.scorers}
        made_of = {"judge": judge.fingerprint(), "scorers": {n: one.fingerprint() for n, one in scorers.items()}}
        scores: list[dict[str, tuple[float, float]]] = []
        failed: list[str] = []
        made = resumable_rows(options, pairs, made_of, partial(_verified, pairs, judge, reviser, scorers))
        with made as chunks, AtomicTableWriter(options.output, _schema(options.scorers)) as writer:
            for row in write_through(writer, chunks):
                scores.append(_scores(row, options.scorers))
                if not row["refined"]:
                    failed.append(f"{row['id']}: {row['status']}")
        rows = score_changes(scores, scorers, options.seed)
        tables = write_score_changes(rows, options.output.with_suffix(""))
    console = Console()
    if not console.is_terminal or console.width > WIDTH:
        console = Console(width=WIDTH)
    console.print(score_change_table(rows))
    for path in (options.output, *tables):
        console.print(str(path), soft_wrap=True, highlight=False)
    if failed:
        print(f"Left out: {len(failed)} of {len(pairs.ids)} pairs; first {failed[0]}", file=sys.stderr)
    return 1 if failed else 0


def _schema(scorers: Sequence[str]) -> Schema:
    import pyarrow as pa

    text = dict.fromkeys(("id", "reference", "candidate", "refined", "status", "explanation"), pa.string())
    change = pa.struct({"action": pa.string(), "sentence": pa.string(), "score": pa.float64()})
    return pa.schema({**text, "corrections": pa.list_(change), **dict.fromkeys(_columns(scorers), pa.float64())})


def _columns(scorers: Iterable[str]) -> list[str]:
    """Of each score that before and that after."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW

    return [f"{when}_{name}" for name in (JUDGE_ROW, *scorers) for when in ("before", "after")]


def _verified(
    pairs: ReportPairs, judge: SentenceJudge, reviser: ReportRefiner, scorers: Mapping[str, Scorer], part: slice
) -> list[dict[str, Any]]:
    """Rows of some pairs."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW, run_refinement_study

    ids, references, candidates, problems = (
        pairs.ids[part],
        pairs.references[part],
        pairs.candidates[part],
        pairs.problems[part],
    )
    rows: list[dict[str, Any]] = []
    found = run_refinement_study(references, candidates, judge, reviser, scorers)
    for identity, reference, candidate, why, entry in zip(ids, references, candidates, problems, found, strict=True):
        row: dict[str, Any] = {"id": None if identity is None else str(identity)}
        for name, value in (("reference", reference), ("candidate", candidate)):
            row[name] = value if value is None or isinstance(value, str) else str(value)
        row |= {"refined": entry.refined_text, "status": why or entry.status}
        row["explanation"] = entry.judgement_before.explanation if entry.judgement_before else ""
        row["corrections"] = [correction._asdict() for correction in entry.corrections]
        values = [value for name in (JUDGE_ROW, *scorers) for value in entry.scores.get(name, (None, None))]
        rows.append({**row, **dict(zip(_columns(scorers), values, strict=True))})
    return rows


def _scores(row: Mapping[str, Any], scorers: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Before and after, of the scores that are both there."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW

    both = {name: (row[f"before_{name}"], row[f"after_{name}"]) for name in (JUDGE_ROW, *scorers)}
    return {name: pair for name, pair in both.items() if None not in pair}
