"""Metrics of the package RadEval, run in an environment of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from radreward.errors import InputError
from radreward.scorers import radeval_process, radeval_worker
from radreward.scorers.radeval_process import RadEvalProcess
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.types import Scores

METRICS = (
    *("bleu", "rouge", "bertscore", "radeval_bertscore", "f1chexbert", "f1radbert_ct", "radgraph", "ratescore"),
    *("radgraph_radcliq", "radcliq", "srrbert", "temporal", "green", "crimson"),
)
"""Metrics of RadEval that compute on this machine."""
_REMOTE = ("mammo_green", "radfact_ct")
_LOWER_IS_BETTER = ("radcliq",)


class RadEvalScorer(StatelessScorer):
    """A metric of the package RadEval 2 (Xu et al., 2025), in a process of RadEval's own interpreter.

    The environment variable RADREWARD_RADEVAL_PYTHON names this interpreter, so that RadEval and this package do not
    have to agree on versions. The scores are those that RadEval gives to each pair with `per_sample=True`: of `rouge`
    with three scores, `rouge.rougeL` is one. A pair for which RadEval raises has no score, and the status gives its
    message. RadCliQ is lower for better candidates, all others are higher. RadEval decides about the device.
    `mammo_green` and `radfact_ct` send the reports to a server and are refused. `green` runs code of its model's
    repository, and `temporal` needs a connection each time that it is loaded. `bleu` and `rouge` were run, with RadEval
    2.2.1; the models of the other metrics were not available.

    Args:
        metric: One of `METRICS`; after a full stop, the name of a score if the metric has several.
        allow_download: Let RadEval use the network, to download models.

    Raises:
        InputError: If there is no such metric or score, RadEval is not installed, or it cannot load the metric.
    """

    config_name = "radeval.json"
    source_modules = (radeval_process, radeval_worker)
    setting_names = ("metric",)
    chunk_size = 32  # a metric may be slow

    def __init__(self, metric: str, allow_download: bool = False) -> None:
        super().__init__()
        name, _, output = metric.partition(".")
        if name in _REMOTE:
            raise InputError(f"radeval: Expected a metric of this machine but {name!r} sends reports to a server.")
        if name not in METRICS:
            raise InputError(f"radeval: Expected a metric of {', '.join(METRICS)} but got {name!r}.")
        self.metric, self.title = metric, f"RadEval {metric}"
        self.higher_is_better = name not in _LOWER_IS_BETTER
        self._process = RadEvalProcess(name, allow_download)
        self._output = self._find_output(name, output)

    def _find_output(self, name: str, output: str) -> str:
        outputs = self._process.outputs
        if output in outputs:
            return output
        if not output and len(outputs) == 1:
            return outputs[0]
        names = ", ".join(f"radeval:{name}.{found}" for found in outputs)
        raise InputError(f"radeval:{self.metric}: Expected one of the scores {names}.")

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        rows = self._process.score(self._output, references, candidates) if references else []
        total = torch.tensor([math.nan if score is None else score for score, _ in rows], dtype=torch.float32)
        status = tuple(STATUS_OK if reason is None else f"RadEval raised {reason}" for _, reason in rows)
        return Scores(total, None, None, status)

    def code_version(self) -> str:
        """Return hashes of the source files and the version of RadEval."""
        return f"{super().code_version()} radeval {self._process.version}"
