"""Finished chunks of a long run over a file, stored beside its output until all are present."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.artifacts import read_json_object, write_json
from radreward.io.progress import ProgressReporter
from radreward.io.tables import AtomicTableWriter, table_suffix


class ChunkStore:
    """Files of finished chunks in `<output>.parts`: a run that was killed resumes with the missing ones.

    Args:
        output: The file that the run writes.
        fingerprint: All that the chunks depend on, as JSON values by name.
        suffix: Format of the chunks' files.

    Raises:
        InputError: If the folder holds chunks with another fingerprint.

    >>> import tempfile
    >>> store = ChunkStore(Path(tempfile.mkdtemp()) / "a.jsonl", {"input": "x"})
    >>> store.path(1).touch()
    >>> 0 in store, 1 in store
    (False, True)
    """

    def __init__(self, output: Path, fingerprint: Mapping[str, Any], suffix: str = ".jsonl") -> None:
        self.folder, self.suffix = chunk_folder(output), suffix
        manifest = self.folder / "manifest.json"
        if not manifest.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            scratch = manifest.with_suffix(".new")
            write_json(scratch, fingerprint)
            scratch.replace(manifest)
            return
        previous = read_json_object(manifest)
        if changed := [name for name, value in fingerprint.items() if previous.get(name) != value]:
            raise InputError(
                f"{self.folder}: the {changed[0]} changed since the run that is to be resumed. "
                "Delete the folder to start again."
            )

    def __contains__(self, number: int) -> bool:
        """Return True if a chunk is finished."""
        return self.path(number).is_file()

    def path(self, number: int) -> Path:
        """Return the file of a chunk."""
        return self.folder / f"{number:08d}{self.suffix}"

    def remove(self) -> None:
        """Delete the folder, once the output is written."""
        shutil.rmtree(self.folder)


def chunk_folder(output: Path) -> Path:
    """Return the folder of an output's chunks."""
    return output.with_name(f"{output.name}.parts")


def check_output(output: Path, source: Path) -> None:
    """Check, before anything is computed, that a run can write its output.

    Raises:
        InputError: If the suffix is unknown, or the output is a folder or the input.
    """
    table_suffix(output)
    if output.is_dir():
        raise InputError(f"{output}: Expected a file to write but it is a folder.")
    if output.resolve() == source.resolve():
        raise InputError(f"{output}: Expected an output that is not the input.")


def compute_missing(
    store: ChunkStore,
    output: Path,
    num_rows: int,
    chunk_size: int,
    description: str,
    compute: Callable[[slice], list[dict[str, Any]]],
) -> Iterator[list[dict[str, Any]]]:
    """Compute the chunks that the store lacks, then return the rows of all chunks in order.

    Args:
        store: Finished chunks, in JSON lines.
        output: The file that the rows are for, shown with the progress.
        num_rows: Number of rows.
        chunk_size: Rows that are computed together.
        description: Label of the progress, as "Judging".
        compute: Returns the rows of a slice, as JSON values.
    """
    slices = [slice(start, min(start + chunk_size, num_rows)) for start in range(0, num_rows, chunk_size)]
    sizes = [part.stop - part.start for part in slices]
    completed = sum(size for number, size in enumerate(sizes) if number in store)
    with ProgressReporter() as progress:
        task = progress.add_task(description, num_rows, completed, note=f"into {output}")
        for number, part in enumerate(slices):
            if number not in store:
                with AtomicTableWriter(store.path(number), pa.schema([])) as writer:
                    writer.write(compute(part))
                progress.advance(task, sizes[number])
    return (_read_json_lines(store.path(number)) for number in range(len(slices)))


def _read_json_lines(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]
