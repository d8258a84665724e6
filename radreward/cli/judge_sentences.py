"""`radreward judge-sentences`: judge reports sentence by sentence, and correct them by the judge's findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.inputs import check_scorers
from radreward.cli.judging import (
    JudgeOptions,
    ReportPairs,
    has_sentences,
    load_regressor,
    read_report_pairs,
    read_sentence_pairs,
    resumable_rows,
)
from radreward.cli.llm_options import LLMOptions
from radreward.cli.refinement import Refinement
from radreward.errors import InputError
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line, print_status
from radreward.scoring.input_columns import InputColumns

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.systems.sentence_eval.judgement import SentenceJudgement
    from radreward.systems.sentence_eval.judges import SentenceJudge


def run(
    *,
    input: Path,
    output: Path,
    judge: JudgeOptions,
    llm: LLMOptions,
    columns: InputColumns,
    regressor: Path | None = None,
    refine: bool = False,
    scorers: Sequence[str] = ("er2score",),
    seed: int = 0,
) -> int:
    """Judge reports sentence by sentence, by the embedded judge or a language model, or refine them by a judge.

    Args:
        input: File with one pair per row: JSONL, JSON, CSV or TSV, also with .gz, or Parquet; a folder of Parquet
            files; - for standard input. The sentences of `convert --from sentences` are judged as they are.
        output: File to write: JSONL, CSV or Parquet by its name.
        judge: The judge.
        llm: The language model of a chat judge.
        columns: Columns of the input.
        regressor: Folder of `fit-regressor` or of its model: adds the column regressed, the overall score that it
            predicts from the scores of the sentences, and the column fitted, true if it was fitted to this reference.
        refine: Correct the candidates by the judge's findings, judge them again, and show whether other metrics rise;
            the table is written beside the output.
        scorers: Names (see `radreward list`), folders of saved models or of runs, or my_file.py:my_metric; with
            --refine, they score before and after.
        seed: Seed of all sampling; equal seeds give equal results.
    """
    with claimed_file(output):
        from radreward.io.tables import AtomicTableWriter
        from radreward.scoring.chunk_store import check_output

        if refine and regressor:
            raise InputError("--regressor: Expected judgements without --refine but got both options.")
        check_output(output, input)
        check_scorers(scorers if refine else ())
        pairs = _read_pairs(input, columns, refine)
        if llm.dry_run:
            judge.print_request_volume(llm, pairs, refine)
            return 0
        model = llm.load(output.with_name(f"{output.name}.answers.sqlite")) if judge.uses_chat else None
        sentence_judge = judge.make_judge(llm, model)
        task: Judging | Refinement = Judging(sentence_judge, regressor)
        if refine:
            task = Refinement(sentence_judge, model, llm.max_tokens, scorers, pairs, seed)
        fingerprint = {"judge": sentence_judge.fingerprint(), **task.fingerprint(), "columns": asdict(columns)}
        with (
            resumable_rows(judge, input, output, pairs, fingerprint, task.compute_rows) as chunks,
            AtomicTableWriter(output, task.schema()) as writer,
        ):
            errors = iter(pairs.errors)
            for rows in chunks:
                writer.write(rows)
                for row in rows:
                    task.add_row(row, is_valid=next(errors) is None)
        task.report(output)
    if task.failed:
        print_status(f"{task.failure}: {len(task.failed)} of {len(pairs.ids)} pairs; the first is {task.failed[0]}")
    return 1 if task.failed else 0


def _read_pairs(path: Path, columns: InputColumns, refine: bool) -> ReportPairs:
    pairs = read_sentence_pairs(path) if has_sentences(path) else read_report_pairs(path, columns)
    if refine and pairs.are_split:
        raise InputError(f"{path}: Expected reports, which --refine corrects, but got sentence scores.")
    return pairs


class Judging:
    """Rows of judgements.

    Args:
        judge: The judge.
        regressor: Folder of a scorer that predicts an overall score from the judgement.

    Raises:
        InputError: If there is no such scorer.
    """

    failure = "Incomplete"

    def __init__(self, judge: SentenceJudge, regressor: Path | None) -> None:
        self.judge = judge
        self.regressor = load_regressor(regressor, judge) if regressor else None
        self.judgements: list[SentenceJudgement] = []
        self.failed: list[str] = []
        self.num_fitted = 0

    def fingerprint(self) -> dict[str, Any]:
        """Return JSON values that the rows depend on, besides the input, its columns and the judge."""
        return {"regressor": self.regressor and self.regressor.fingerprint()}

    def schema(self) -> Schema:
        """Return the columns of the output."""
        import pyarrow as pa

        from radreward.systems.sentence_eval.judgement_io import judgement_schema

        columns = (("regressed", pa.float64()), ("fitted", pa.bool_())) if self.regressor else ()
        return judgement_schema(*columns)

    def compute_rows(self, pairs: ReportPairs) -> list[dict[str, Any]]:
        """Return one row per pair."""
        from radreward.systems.sentence_eval.judgement_io import judgement_row

        ids = [None if pair_id is None else str(pair_id) for pair_id in pairs.ids]
        sides = pairs.valid_sentences()
        rows = [judgement_row(ids[index], [], [], None, error or "") for index, error in enumerate(pairs.errors)]
        for index, reference, candidate, judgement in zip(pairs.valid, *sides, self.judge.judge(*sides), strict=True):
            rows[index] = judgement_row(ids[index], reference, candidate, judgement, judgement.status)
            if self.regressor is not None:
                rows[index]["regressed"] = self.regressor.regressed_score(judgement, reference, candidate)
                rows[index]["fitted"] = self.regressor.is_fitted_to(reference)
        return rows

    def add_row(self, row: dict[str, Any], is_valid: bool) -> None:
        """Add a row of the output to the counts of the report."""
        from radreward.systems.sentence_eval.judgement import SentenceJudgement

        if is_valid:
            self.judgements.append(SentenceJudgement((), (), None, "", row["format_errors"], row["status"]))
        self.num_fitted += bool(row.get("fitted"))
        if row["status"] != "ok":
            self.failed.append(f"{row['id']}: {row['status']}")

    def report(self, output: Path) -> None:
        """Print the number of pairs by status."""
        from radreward.systems.sentence_eval.judgement import count_statuses

        for name, count in count_statuses(self.judgements).items():
            print_line(f"{name}: {count}")
        if self.num_fitted:
            print_line(
                f"The regressor was fitted to the references of {self.num_fitted} pairs: their regressed scores show "
                "the fit, not the agreement on new reports."
            )
        print_line(f"Judgements: {output}")
