"""Finished chunks of a long run over a file, stored beside its output until all are present."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, read_json_object, write_json
from radreward.io.atomic import atomic_folder, remove_folder
from radreward.io.in_place import check_folder
from radreward.io.progress import ProgressReporter
from radreward.io.scratch import sweep_scratch_folders
from radreward.io.tables import read_json_lines, table_suffix, write_table
from radreward.io.terminal import print_status

MANIFEST = "radreward-chunks.json"
"""File in a folder of chunks that lists their inputs; a folder without it was not made by a run."""


class ChunkStore:
    """Finished chunks in `<output>.parts`: a run that was killed resumes with the missing ones.

    Each chunk is a file of rows and a record with its rejected rows and the checksum of both. A chunk that differs from
    its checksum counts as missing.

    Args:
        output: The file that the run writes.
        inputs: JSON values by name; if one changes, stored chunks are no longer valid.
        suffix: File suffix of the chunks, which defines their format.

    Raises:
        InputError: If the folder holds chunks with other inputs, or was not made by a run.

    >>> import tempfile
    >>> store = ChunkStore(Path(tempfile.mkdtemp()) / "a.jsonl", {"input": "x"})
    >>> store.write(1, pa.schema({"id": pa.string()}), [{"id": "a"}])
    >>> 0 in store, 1 in store
    (False, True)
    """

    def __init__(self, output: Path, inputs: Mapping[str, Any], suffix: str = ".jsonl") -> None:
        self.folder, self.suffix = chunk_folder(output), suffix
        self._manifest = self.folder / MANIFEST
        check_folder(self.folder)
        if not self.folder.exists():
            with atomic_folder(self.folder, (), "nothing") as folder:
                _write_manifest(folder / MANIFEST, inputs)
        elif not self._manifest.is_file():
            raise InputError(
                f"{self.folder}: Expected no such folder, or the chunks of an interrupted run, but it holds something "
                "else. Rename it, or choose another output."
            )
        self._check_inputs(inputs)
        self._finished = self._check_chunks()

    def __contains__(self, number: object) -> bool:
        """Return True if a chunk is finished."""
        return number in self._finished

    def write(
        self,
        number: int,
        schema: pa.Schema,
        rows: Sequence[Mapping[str, Any]],
        rejects: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Store the rows and the rejected rows of a finished chunk; `number` is its index in the file, from 0."""
        write_table(self._path(number), schema, iter(rows), len(rows))
        record = {"rejects": list(rejects), "sha256": fingerprint(self._path(number), rejects)}
        write_json(self._record_path(number), record)
        self._finished.add(number)

    def read(self, number: int) -> tuple[Path, list[dict[str, Any]]]:
        """Return the file of a finished chunk, and its rejected rows.

        Raises:
            InputError: If the file was changed since it was written.
        """
        rejects = self._rejects(number)
        if rejects is None:
            raise InputError(f"{self._path(number)}: was changed. Run the same command again to compute it again.")
        return self._path(number), rejects

    def remove(self) -> None:
        """Delete the folder after the output is written; other files in it are kept."""
        sweep_scratch_folders(self.folder)  # of a run that was killed after its last chunk
        foreign = [path for path in self.folder.iterdir() if not self._is_own(path)]
        if not foreign:
            remove_folder(self.folder)
            return
        for path in sorted(self.folder.iterdir(), key=lambda path: path == self._manifest):  # the manifest is last
            if self._is_own(path):
                path.unlink()
        print_status(f"{self.folder}: was not deleted, because it holds other files, such as {foreign[0].name}.")

    def _check_inputs(self, inputs: Mapping[str, Any]) -> None:
        """Compare the inputs with those of the manifest; if it is invalid, delete the records of all chunks."""
        previous = _read_inputs(self._manifest)
        if previous is None:
            for path in self.folder.glob("*.json"):
                if path != self._manifest and self._is_own(path):
                    path.unlink()
            _write_manifest(self._manifest, inputs)
            print_status(f"{self._manifest}: is damaged, so that all rows are computed again.")
            return
        changed = [name for name, value in inputs.items() if fingerprint(previous.get(name)) != fingerprint(value)]
        if not changed:
            return
        if any(path != self._manifest for path in self.folder.iterdir()):
            raise InputError(
                f"{self.folder}: the {changed[0]} changed since the run that is to be resumed. "
                "Delete the folder to start again."
            )
        _write_manifest(self._manifest, inputs)  # the earlier run finished no chunk

    def _check_chunks(self) -> set[int]:
        """Return the numbers of the finished chunks."""
        numbers = {int(path.stem) for path in self.folder.glob("*.json") if path.stem.isdecimal()}
        finished = {number for number in numbers if self._rejects(number) is not None}
        if damaged := len(numbers) - len(finished):
            print_status(f"{self.folder}: {damaged} of {len(numbers)} chunks are damaged and are computed again.")
        return finished

    def _rejects(self, number: int) -> list[dict[str, Any]] | None:
        """Return the rejected rows of a chunk; None if its file or its record is missing or damaged."""
        try:
            record = read_json_object(self._record_path(number))
            rejects: list[dict[str, Any]] = record["rejects"]
            return rejects if fingerprint(self._path(number), rejects) == record["sha256"] else None
        except (InputError, KeyError, TypeError):
            return None

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}{self.suffix}"

    def _record_path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.json"

    def _is_own(self, path: Path) -> bool:
        return path == self._manifest or (path.stem.isdecimal() and path.suffix in (".json", self.suffix))


def _write_manifest(path: Path, inputs: Mapping[str, Any]) -> None:
    write_json(path, {"inputs": dict(inputs), "sha256": fingerprint(inputs)})


def _read_inputs(manifest: Path) -> Mapping[str, Any] | None:
    """Return the inputs in a manifest; None if it is missing or damaged."""
    try:
        stored = read_json_object(manifest)
        inputs: Mapping[str, Any] = stored["inputs"]
        return inputs if fingerprint(inputs) == stored["sha256"] else None
    except (InputError, KeyError, TypeError):
        return None


def stored_input(output: Path, name: str) -> Any:
    """Return an input of the interrupted run of an output; None if there is no such run or input."""
    return (_read_inputs(chunk_folder(output) / MANIFEST) or {}).get(name)


def chunk_folder(output: Path) -> Path:
    """Return the folder of an output's chunks."""
    return output.with_name(f"{output.name}.parts")


def check_output(output: Path, source: Path) -> None:
    """Check the name of an output.

    Raises:
        InputError: If the suffix is unknown, or the output is the input or in its folder.
    """
    table_suffix(output)
    if output.resolve() == source.resolve():
        raise InputError(f"{output}: Expected an output that is not the input.")
    if source.is_dir() and source.resolve() in output.resolve().parents:
        raise InputError(f"{output}: Expected an output outside the folder of the input, {source}.")


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
        output: The file for the rows, shown with the progress.
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
                store.write(number, pa.schema([]), compute(part))
                progress.advance(task, sizes[number])
    return ([row.values for row in read_json_lines(store.read(number)[0])] for number in range(len(slices)))
