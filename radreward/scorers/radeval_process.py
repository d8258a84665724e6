"""A process of the interpreter in which RadEval is installed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
import weakref
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, cast

from radreward.errors import InputError
from radreward.extras import is_installed

PYTHON_VARIABLE = "RADREWARD_RADEVAL_PYTHON"
"""Environment variable with the path of the interpreter in which RadEval is installed."""
REMEDY = (
    "Install it in an environment of its own: python -m venv radeval; radeval/bin/pip install 'radeval>=2'; "
    f"export {PYTHON_VARIABLE}=radeval/bin/python"
)
_WORKER = Path(__file__).with_name("radeval_worker.py")
_MAX_WAIT_S = 5


class RadEvalProcess:
    """Scores pairs with one metric of RadEval in a process of RadEval's own interpreter.

    The process has loaded the metric when the constructor returns, and ends with this object or with this process.
    Without `allow_download`, it only reads models on this machine and can reach no other host.

    Args:
        metric: A metric of RadEval.
        allow_download: Let the metric download its models.

    Attributes:
        version: Version of RadEval.
        outputs: Names of the scores that the metric gives to each pair.

    Raises:
        InputError: If there is no interpreter, it lacks RadEval 2, or the metric cannot be loaded.
    """

    def __init__(self, metric: str, allow_download: bool = False) -> None:
        # -E and -P: neither this interpreter's packages nor the files beside the worker replace RadEval's.
        command = [find_interpreter(), "-E", "-P", "-X", "utf8", str(_WORKER), metric]
        command += ["--allow-download"] * allow_download
        stack = ExitStack()
        self.close = weakref.finalize(self, stack.close)
        self._log = stack.enter_context(TemporaryFile())  # noqa: SIM115 - the stack closes it
        self._lock = threading.Lock()
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own interpreter, and a file of this package
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                encoding="utf-8",
            )
        except OSError as error:
            raise InputError(f"{PYTHON_VARIABLE}: {command[0]} cannot be run ({error}). {REMEDY}.") from error
        stack.callback(_end, process)
        self._process = process
        self._requests, self._answers = cast(IO[str], process.stdin), cast(IO[str], process.stdout)
        first = self._read()
        if reason := first.get("error"):
            self.close()
            raise InputError(f"RadEval cannot load {metric!r} ({reason}).{_remedy(reason, allow_download)}")
        self.version: str = first["version"]
        self.outputs: list[str] = first["outputs"]

    def score(
        self, output: str, references: Sequence[str], candidates: Sequence[str]
    ) -> list[tuple[float | None, str | None]]:
        """Return a score, or None and the reason, for each pair.

        Raises:
            InputError: If the process ends.
        """
        request = {"output": output, "references": list(references), "candidates": list(candidates)}
        with self._lock:
            with suppress(BrokenPipeError):  # `_read` reports the end of the process
                self._requests.write(json.dumps(request) + "\n")
                self._requests.flush()
            return [(score, reason) for score, reason in self._read()["rows"]]

    def _read(self) -> dict[str, Any]:
        if line := self._answers.readline():
            answer: dict[str, Any] = json.loads(line)
            return answer
        code = self._process.wait()
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        raise InputError(f"RadEval's process ended with code {code} ({lines[-1] if lines else 'no message'}).")


def find_interpreter() -> str:
    """Return the interpreter in which RadEval is installed: that of `PYTHON_VARIABLE`, or else this one.

    Raises:
        InputError: If the variable names no program, or is unset and RadEval is not installed here.
    """
    named = os.environ.get(PYTHON_VARIABLE, "").strip()
    if not named:
        if is_installed("radeval"):
            return sys.executable
        raise InputError(f"radeval needs the package RadEval, which is not installed. {REMEDY}.")
    if found := shutil.which(Path(named).expanduser()):
        return found
    raise InputError(f"{PYTHON_VARIABLE}: Expected the path of a Python interpreter but got {named!r}. {REMEDY}.")


def _remedy(reason: str, allow_download: bool) -> str:
    if reason.startswith("ModuleNotFoundError: No module named 'radeval'") or "unexpected keyword argument" in reason:
        return f" {REMEDY}."
    return "" if allow_download else " Its models must be on this machine, or use --allow-download."


def _end(process: subprocess.Popen[str]) -> None:
    """End the process, whose loop ends with its input."""
    try:
        process.communicate(timeout=_MAX_WAIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
