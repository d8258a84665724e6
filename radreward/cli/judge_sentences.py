"""`radreward judge-sentences`: reports judged sentence by sentence."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.judging import (
    JudgeOptions,
    ReportPairs,
    read_report_pairs,
    response_cache,
    resumable_rows,
    write_through,
)
from radreward.cli.llm_options import LLMOptions
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.systems.sentence_eval.judgement import SentenceJudgement
    from radreward.systems.sentence_eval.judges import SentenceJudge


def run(*, input: Path, output: Path, judge: JudgeOptions, llm: LLMOptions) -> int:
    """Judge reports sentence by sentence, by the embedded judge or a language model.

    Args:
        input: JSONL, CSV or Parquet file with the columns id, reference and candidate.
        output: File to write: JSONL, CSV or Parquet by its name.
        judge: The judge.
        llm: The language model of a chat judge.
    """
    with suppress_library_warnings(), user_errors(constructing=True), claimed_file(output):
        from radreward.io.tables import AtomicTableWriter
        from radreward.scoring.resume import check_output
        from radreward.systems.sentence_eval.judgement import SentenceJudgement, count_statuses

        check_output(output, input)
        pairs = read_report_pairs(input)
        if llm.dry_run:
            judge.print_request_volume(pairs)
            return 0
        model = llm.load(response_cache(output)) if judge.uses_chat else None
        sentence_judge = judge.make_judge(model)
        fingerprint = {"judge": sentence_judge.fingerprint()}
        judgements: list[SentenceJudgement] = []
        incomplete: list[str] = []
        rows = resumable_rows(judge, input, output, pairs, fingerprint, partial(_rows, sentence_judge))
        with rows as chunks, AtomicTableWriter(output, _schema()) as writer:
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


def _rows(judge: SentenceJudge, pairs: ReportPairs) -> list[dict[str, Any]]:
    """Return one row per pair."""
    from radreward.text.sentence_splitter import split_sentences

    valid = [index for index, error in enumerate(pairs.errors) if error is None]
    sides = [[split_sentences(side[index]) for index in valid] for side in (pairs.references, pairs.candidates)]
    rows = [_row(pair_id, [], [], None, error or "") for pair_id, error in zip(pairs.ids, pairs.errors, strict=True)]
    for index, reference, candidate, judgement in zip(valid, *sides, judge.judge(*sides), strict=True):
        rows[index] = _row(pairs.ids[index], reference, candidate, judgement, judgement.status)
    return rows


def _schema() -> Schema:
    import pyarrow as pa

    sentence = {"id": pa.string(), "sentence": pa.string(), "score": pa.float64(), "match": pa.list_(pa.string())}
    sides = dict.fromkeys(("reference", "candidate"), pa.list_(pa.struct(sentence)))
    summary = {"id": pa.string(), "overall": pa.float64(), "status": pa.string(), "explanation": pa.string()}
    return pa.schema({**summary, **sides, "format_errors": pa.map_(pa.string(), pa.int64())})


def _row(
    pair_id: Any, reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement | None, status: str
) -> dict[str, Any]:
    from radreward.systems.sentence_eval.prompt import sentence_ids

    row: dict[str, Any] = {"id": None if pair_id is None else str(pair_id), "overall": None, "status": status}
    row |= {"explanation": "", "reference": [], "candidate": [], "format_errors": {}}
    if judgement is None:
        return row
    row |= {"overall": judgement.overall, "explanation": judgement.explanation}
    row["format_errors"] = judgement.format_errors
    ids = sentence_ids(len(reference)), sentence_ids(len(candidate), uppercase=True)
    sides = ((reference, judgement.reference_scores), (candidate, judgement.candidate_scores))
    for side, (name, (texts, scores)) in enumerate(zip(("reference", "candidate"), sides, strict=True)):
        row[name] = [
            {
                "id": sentence_id,
                "sentence": text,
                "score": None if score is None else score.score,
                "match": [] if score is None else [ids[1 - side][match] for match in score.matches],
            }
            for sentence_id, text, score in zip(ids[side], texts, scores, strict=True)
        ]
    return row
