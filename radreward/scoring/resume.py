"""What a long run over a file has finished, kept beside its output until all of it is there."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.progress import ProgressReporter
from radreward.io.tables import table_suffix


class ChunkStore:
    """Texts of finished chunks in `<output>.parts`: a run that was killed goes on with those that are missing.

    Args:
        output: What the run will write.
        made_of: All that the texts depend on, as JSON holds it: by these a run that was begun is known.

    Raises:
        InputError: If the folder was begun for something else.

    >>> import tempfile
    >>> output = Path(tempfile.mkdtemp()) / "a.jsonl"
    >>> Parts(output, {"input": "x"}).put(1, "[]")
    >>> parts = Parts(output, {"input": "x"})
    >>> 0 in parts, 1 in parts, parts.lines(1)
    (False, True, [[]])
    """

    def __init__(self, output: Path, fingerprint: Mapping[str, Any]) -> None:
        self.folder = chunk_folder(output)
        path = self.folder / "manifest.json"
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            _write_atomic(path, json.dumps(fingerprint))
            return
        before = json.loads(path.read_text(encoding="utf-8"))
        if changed := [key for key in fingerprint if before.get(key) != fingerprint[key]]:
            raise InputError(
                f"{self.folder}: the {changed[0]} changed since the run that began here; "
                "delete the folder to start anew."
            )

    def __contains__(self, number: int) -> bool:
        """Whether a chunk is finished."""
        return self._path(number).is_file()

    def write(self, number: int, text: str) -> None:
        """Keep what became of a chunk: lines of JSON."""
        _write_atomic(self._path(number), text)

    def read(self, number: int) -> list[Any]:
        """What was kept of a chunk."""
        with self._path(number).open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def remove(self) -> None:
        """Delete the folder: the output is there."""
        shutil.rmtree(self.folder)

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08d}.jsonl"


def chunk_folder(output: Path) -> Path:
    """Where the parts of an output are kept while it is not whole."""
    return output.with_name(f"{output.name}.parts")


def check_output(output: Path, source: Path) -> None:
    """Whether a run can write its output: told before anything is computed.

    Raises:
        InputError: If the name says no format, or it is a folder or the input.
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
    """The rows of an output, chunk by chunk: all are made, or kept of a run that was killed, before the first is given.

    Args:
        parts: Where they are kept.
        output: What they are for.
        rows: How many there are.
        chunk: How many are made together.
        word: What is done with them, as "judged".
        make: Makes those of a slice, as JSON holds them.
    """
    begins = dict(enumerate(range(0, num_rows, chunk_size)))
    sizes = {number: min(chunk_size, num_rows - begin) for number, begin in begins.items()}
    with ProgressReporter(
        num_rows, output, sum(size for number, size in sizes.items() if number in store), description=description
    ) as told:
        for number, begin in begins.items():
            if number not in store:
                made = compute(slice(begin, begin + sizes[number]))
                store.write(number, "".join(json.dumps(row) + "\n" for row in made))
                told.advance(sizes[number])
    return map(store.read, begins)


def _write_atomic(path: Path, text: str) -> None:
    scratch = path.with_suffix(".new")
    scratch.write_text(text, encoding="utf-8")
    scratch.replace(path)
