"""`radreward judge-sentences`: reports judged sentence by sentence."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.judging import (
    JudgeOptions,
    PairColumns,
    ReportPairs,
    load_regressor,
    read_report_pairs,
    response_cache,
    resumable_rows,
    write_through,
)
from radreward.cli.llm_options import LLMOptions
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from radreward.systems.sentence_eval.judgement import SentenceJudgement
    from radreward.systems.sentence_eval.judges import SentenceJudge
    from radreward.systems.sentence_eval.scorer import SentenceScorer


def run(
    *,
    input: Path,
    output: Path,
    judge: JudgeOptions,
    llm: LLMOptions,
    columns: PairColumns,
    regressor: Path | None = None,
) -> int:
    """Judge reports sentence by sentence, by the embedded judge or a language model.

    Args:
        input: JSONL, CSV or Parquet file with one pair per row.
        output: File to write: JSONL, CSV or Parquet by its name.
        judge: The judge.
        llm: The language model of a chat judge.
        columns: Columns of the input.
        regressor: Folder of `fit-regressor` or of its model: adds the column regressed, the overall score that it
            predicts from the scores of the sentences.
    """
    with suppress_library_warnings(), user_errors(constructing=True), claimed_file(output):
        import pyarrow as pa

        from radreward.io.tables import AtomicTableWriter
        from radreward.scoring.resume import check_output
        from radreward.systems.sentence_eval.judgement import SentenceJudgement, count_statuses
        from radreward.systems.sentence_eval.judgement_io import judgement_schema

        check_output(output, input)
        pairs = read_report_pairs(input, columns)
        if llm.dry_run:
            judge.print_request_volume(pairs)
            return 0
        model = llm.load(response_cache(output)) if judge.uses_chat else None
        sentence_judge = judge.make_judge(model)
        scorer = None if regressor is None else load_regressor(regressor, sentence_judge)
        fingerprint = {
            "judge": sentence_judge.fingerprint(),
            "regressor": scorer and scorer.fingerprint(),
            "columns": asdict(columns),
        }
        schema = judgement_schema() if scorer is None else judgement_schema(("regressed", pa.float64()))
        judgements: list[SentenceJudgement] = []
        incomplete: list[str] = []
        rows = resumable_rows(judge, input, output, pairs, fingerprint, partial(_rows, sentence_judge, scorer))
        with rows as chunks, AtomicTableWriter(output, schema) as writer:
            for index, row in enumerate(write_through(writer, chunks)):
                if pairs.errors[index] is None:
                    judgements.append(SentenceJudgement((), (), None, "", row["format_errors"], row["status"]))
                if row["status"] != "ok":
                    incomplete.append(f"{row['id']}: {row['status']}")
    for name, count in count_statuses(judgements).items():
        print_line(f"{name}: {count}")
    print_line(f"Judgements: {output}")
    if incomplete:
        first = f"{len(incomplete)} of {len(pairs.ids)} pairs; the first is {incomplete[0]}"
        print_status(f"Incomplete: {first}")
    return 1 if incomplete else 0


def _rows(judge: SentenceJudge, scorer: SentenceScorer | None, pairs: ReportPairs) -> list[dict[str, Any]]:
    """Return one row per pair."""
    from radreward.systems.sentence_eval.judgement_io import judgement_row
    from radreward.text.sentence_splitter import split_sentences

    ids = [None if pair_id is None else str(pair_id) for pair_id in pairs.ids]
    valid = [index for index, error in enumerate(pairs.errors) if error is None]
    sides = [[split_sentences(side[index]) for index in valid] for side in (pairs.references, pairs.candidates)]
    rows = [judgement_row(pair_id, [], [], None, error or "") for pair_id, error in zip(ids, pairs.errors, strict=True)]
    for index, reference, candidate, judgement in zip(valid, *sides, judge.judge(*sides), strict=True):
        rows[index] = judgement_row(ids[index], reference, candidate, judgement, judgement.status)
        if scorer is not None:
            rows[index]["regressed"] = scorer.regressed_score(judgement, reference, candidate)
    return rows
