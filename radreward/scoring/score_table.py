"""Output of a scored file: scored chunks are stored, and joined when all are present."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.artifacts import file_fingerprint
from radreward.io.tables import AtomicTableWriter, CSVFormulas, table_suffix
from radreward.scoring.chunk_store import ChunkStore
from radreward.scoring.input_scan import FileChunk, InputScan
from radreward.scoring.score_columns import ScorerGroup
from radreward.types import Scores

CHUNK_SIZE = "chunk size"
"""Name of the number of rows per chunk among the inputs of a run, see `ChunkStore`."""
_REJECTS_SCHEMA = pa.schema({"file": pa.string(), "row": pa.int64(), "field": pa.string(), "reason": pa.string()})


class ScoreTable:
    """The file of scores, in the format of its suffix, and `<output>.rejects.jsonl` with the rows without scores.

    Raises:
        InputError: If a column would be written twice, or the chunks of an interrupted run have other inputs.
    """

    def __init__(self, output: Path, scan: InputScan, scorers: ScorerGroup) -> None:
        self.output, self.scan, self.scorers = output, scan, scorers
        self.rejects_path = output.with_name(f"{output.name}.rejects.jsonl")
        fields = [*scan.columns, *scorers.columns]
        if duplicates := [name for name, count in Counter(field.name for field in fields).items() if count > 1]:
            raise InputError(
                f"{scan.source}: Expected no column {duplicates[0]!r}; the scorer writes it. Rename the column."
            )
        self.schema = pa.schema(fields)
        inputs = {
            "input": file_fingerprint(scan.source),
            "columns": asdict(scan.names),
            CHUNK_SIZE: scan.chunk_size,
            "scorer": scorers.fingerprint(),
        }
        self.store = ChunkStore(output, inputs, table_suffix(output))

    @property
    def num_stored_rows(self) -> int:
        """Number of rows of the stored chunks."""
        return sum(size for number, size in enumerate(self.scan.chunk_sizes) if number in self.store)

    def write(self, chunk: FileChunk, scores: Sequence[Scores]) -> None:
        """Store a chunk with the scores of its pairs by each scorer."""
        scored = self.scorers.rows(scores, nested_evidence=self.store.suffix == ".jsonl")
        rows, rejects = [], []
        for row in chunk.rows:
            error = row.error
            if error is None:
                values, error = next(scored)
            else:
                values = self.scorers.unscored(error.reason)
            rows.append({**self._writable(row.copied), **values})
            if error is not None:
                field = self.scan.column_of(error.field)
                reject = {"file": str(self.scan.source), "row": row.number, "field": field, "reason": error.reason}
                rejects.append(reject)
        self.store.write(chunk.number, self.schema, rows, rejects)

    def join(self, csv_formulas: CSVFormulas) -> int:
        """Write both files, delete the stored chunks, and return the number of rejected rows."""
        rejected = 0
        with ExitStack() as stack:
            writer = stack.enter_context(AtomicTableWriter(self.output, self.schema, csv_formulas))
            for number in range(len(self.scan.chunk_sizes)):
                path, rejects = self.store.read(number)
                writer.append_file(path)
                if rejects and not rejected:
                    rejects_writer = stack.enter_context(AtomicTableWriter(self.rejects_path, _REJECTS_SCHEMA))
                if rejects:
                    rejects_writer.write(rejects)
                rejected += len(rejects)
        if not rejected:
            self.rejects_path.unlink(missing_ok=True)  # of an earlier run
        self.store.remove()
        return rejected

    def _writable(self, copied: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the copied values; unless the output is Parquet, values such as dates become text."""
        if self.store.suffix == ".parquet":
            return copied
        return {
            name: value if isinstance(value, str | int | float | None) else json.loads(json.dumps(value, default=str))
            for name, value in copied.items()
        }
