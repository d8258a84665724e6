"""`radreward refine`: candidates corrected by a judge's findings, then judged and scored again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.inputs import check_scorers
from radreward.cli.judging import (
    JudgeOptions,
    PairColumns,
    ReportPairs,
    read_report_pairs,
    response_cache,
    resumable_rows,
    write_through,
)
from radreward.cli.llm_options import LLMOptions
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.scorers import Scorer
    from radreward.systems.sentence_eval.judges import SentenceJudge
    from radreward.systems.sentence_eval.refinement import ReportRefiner


def run(
    *,
    input: Path,
    output: Path,
    judge: JudgeOptions,
    llm: LLMOptions,
    columns: PairColumns,
    scorers: Sequence[str] = ("er2score",),
    seed: int = 0,
) -> int:
    """Correct candidates by a judge's findings and show whether other metrics rise.

    Args:
        input: JSONL, CSV or Parquet file with one pair per row.
        output: File for the corrected reports; the table is written beside it.
        judge: The judge.
        llm: The language model of a chat judge.
        columns: Columns of the input.
        scorers: Names or folders of metrics that score before and after.
        seed: Seed of the bootstrap.
    """
    with suppress_library_warnings(), user_errors(constructing=True), claimed_file(output):
        from radreward.io.tables import AtomicTableWriter
        from radreward.scorers import load
        from radreward.scoring.resume import check_output
        from radreward.systems.sentence_eval.refinement import ChatRefiner, RuleRefiner
        from radreward.systems.sentence_eval.refinement_study import (
            score_change_table,
            score_changes,
            write_score_changes,
        )

        check_output(output, input)
        check_scorers(scorers)
        pairs = read_report_pairs(input, columns)
        if llm.dry_run:
            print_line("First judgement; corrections send one request per pair, the second judgement as many again:")
            judge.print_request_volume(pairs)
            return 0
        model = llm.load(response_cache(output)) if judge.uses_chat else None
        sentence_judge = judge.make_judge(model)
        refiner: ReportRefiner = ChatRefiner(model, judge.max_tokens) if model else RuleRefiner()
        loaded = {name: load(name).fit_references(pairs.valid_references()) for name in scorers}
        versions = {name: scorer.fingerprint() for name, scorer in loaded.items()}
        fingerprint = {"judge": sentence_judge.fingerprint(), "scorers": versions, "columns": asdict(columns)}
        scores: list[dict[str, tuple[float, float]]] = []
        failed: list[str] = []
        rows = resumable_rows(judge, input, output, pairs, fingerprint, partial(_rows, sentence_judge, refiner, loaded))
        with rows as chunks, AtomicTableWriter(output, _schema(scorers)) as writer:
            for row in write_through(writer, chunks):
                scores.append(_complete_scores(row, scorers))
                if not row["refined"]:
                    failed.append(f"{row['id']}: {row['status']}")
        changes = score_changes(scores, loaded, seed)
        tables = write_score_changes(changes, output.with_suffix(""))
    make_console().print(score_change_table(changes))
    print_paths((path.suffix[1:], path) for path in (output, *tables))
    if failed:
        print_status(f"Skipped: {len(failed)} of {len(pairs.ids)} pairs; the first is {failed[0]}")
    return 1 if failed else 0


def _schema(scorers: Sequence[str]) -> Schema:
    import pyarrow as pa

    text = dict.fromkeys(("id", "reference", "candidate", "refined", "status", "explanation"), pa.string())
    change = pa.struct({"action": pa.string(), "sentence": pa.string(), "score": pa.float64()})
    return pa.schema({**text, "corrections": pa.list_(change), **dict.fromkeys(_columns(scorers), pa.float64())})


def _columns(scorers: Iterable[str]) -> list[str]:
    """Return the columns of the scores before and after, of the judge and of each scorer."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW

    return [f"{when}_{name}" for name in (JUDGE_ROW, *scorers) for when in ("before", "after")]


def _rows(
    judge: SentenceJudge, refiner: ReportRefiner, scorers: Mapping[str, Scorer], pairs: ReportPairs
) -> list[dict[str, Any]]:
    """Return one row per pair."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW, run_refinement_study

    results = run_refinement_study(pairs.references, pairs.candidates, judge, refiner, scorers)
    rows: list[dict[str, Any]] = []
    for pair_id, reference, candidate, error, result in zip(*pairs, results, strict=True):
        row: dict[str, Any] = {"id": None if pair_id is None else str(pair_id)}
        for name, value in (("reference", reference), ("candidate", candidate)):
            row[name] = value if value is None or isinstance(value, str) else str(value)
        row |= {"refined": result.refined_text, "status": error or result.status}
        row["explanation"] = result.judgement_before.explanation if result.judgement_before else ""
        row["corrections"] = [
            {"action": entry.action, "sentence": entry.sentence, "score": entry.judged_score}
            for entry in result.corrections
        ]
        scores = [score for name in (JUDGE_ROW, *scorers) for score in result.scores.get(name, (None, None))]
        rows.append({**row, **dict(zip(_columns(scorers), scores, strict=True))})
    return rows


def _complete_scores(row: Mapping[str, Any], scorers: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Return the scores before and after, of those that have both."""
    from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW

    pairs = {name: (row[f"before_{name}"], row[f"after_{name}"]) for name in (JUDGE_ROW, *scorers)}
    return {name: pair for name, pair in pairs.items() if None not in pair}
