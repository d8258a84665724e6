"""Program of RadEval's own interpreter: scores pairs with one metric of RadEval and answers in lines of JSON.

`RadEvalProcess` runs this file with the interpreter in which RadEval is installed, so it imports nothing of this
package. The first answer is `{"version", "outputs"}` or `{"error"}`. Each request is
`{"output", "references", "candidates"}` and its answer `{"rows"}`: a score, or null and the reason, for each pair.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import json
import os
import socket
import sys
from collections.abc import Callable
from typing import Any

PROBE = "No pleural effusion. The heart is enlarged."
"""Report with which a metric is loaded and its outputs are found."""
_Evaluator = Callable[..., dict[str, Any]]


def serve_metric(metric: str, allow_download: bool) -> None:
    """Answer requests from standard input until it ends; without `allow_download`, no host can be reached."""
    if not allow_download:
        os.environ["HF_HUB_OFFLINE"] = "1"
        socket.getaddrinfo = _refuse_host
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # metrics print to standard output
    try:
        evaluator: _Evaluator = importlib.import_module("radeval").RadEval(
            metrics=[metric], per_sample=True, show_progress=False
        )
        outputs = list(evaluator(refs=[PROBE], hyps=[PROBE]))
        first: dict[str, Any] = {"version": importlib.metadata.version("radeval"), "outputs": outputs}
    except Exception as error:  # every metric raises its own errors
        _answer(answers, {"error": _reason(error)})
        return
    _answer(answers, first)
    for line in sys.stdin:
        request = json.loads(line)
        arguments = request["output"], request["references"], request["candidates"]
        _answer(answers, {"rows": score_rows(evaluator, *arguments)})


def score_rows(
    evaluator: _Evaluator, output: str, references: list[str], candidates: list[str]
) -> list[tuple[float | None, str | None]]:
    """Return a score, or None and the reason, for each pair. If a batch fails, its pairs are scored one by one."""
    try:
        scores = [float(value) for value in evaluator(refs=references, hyps=candidates)[output]]
        if len(scores) != len(references):
            raise ValueError(f"Expected {len(references)} scores of {output} but got {len(scores)}")
    except Exception as error:  # every metric raises its own errors
        if len(references) == 1:
            return [(None, _reason(error))]
        pairs = zip(references, candidates, strict=True)
        return [row for pair in pairs for row in score_rows(evaluator, output, *([text] for text in pair))]
    return [(score, None) for score in scores]


def _refuse_host(host: Any, *arguments: Any, **settings: Any) -> Any:
    raise OSError(f"{host}: the network is used only with --allow-download")


def _answer(answers: Any, value: dict[str, Any]) -> None:
    answers.write(json.dumps(value) + "\n")
    answers.flush()


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


if __name__ == "__main__":
    serve_metric(sys.argv[1], allow_download=sys.argv[2:] == ["--allow-download"])
