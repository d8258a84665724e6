"""A metric of a running `radreward serve` as a scorer, over HTTP."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import torch

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.artifacts import fingerprint
from radreward.llm.server_requests import is_loopback
from radreward.scorers.base import Scorer
from radreward.types import Scores

_BATCH_PAIRS = 64
_RETRIED = frozenset({429, 503})
_MAX_WAIT = 60.0
"""Maximum seconds between two attempts, also if the service asks for more."""


class RemoteScorer(Scorer):
    """A metric of a service; totals, quality, sub-scores, counts and statuses are those of the service.

    Pairs are sent in batches. A batch that is too large for the service is halved. If the service is busy (429, 503) or
    the connection fails, the batch is sent again after 0.5, 1, 2, … seconds, or after Retry-After. Redirects are not
    followed.

    Args:
        url: Address of the service, such as http://127.0.0.1:8000.
        model: Name of the metric in the service; None if the service has only one.
        allow_remote: Allow a service on another machine. Requests contain reports.
        max_retries: Maximum number of retries per request.
        timeout: Seconds to wait for an answer.

    Raises:
        ValueError: If a number is out of range.
        InputError: If the address is no address of a service, the service is on another machine and `allow_remote` is
            false, it does not answer, or has no such metric. Scoring raises it if the service refuses a request.
    """

    normalizes_text = False  # the service does

    def __init__(
        self,
        url: str,
        model: str | None = None,
        allow_remote: bool = False,
        max_retries: int = 5,
        timeout: float = 300.0,
    ) -> None:
        if max_retries < 0 or not timeout > 0:
            raise ValueError(f"Expected `max_retries` >= 0 and `timeout` > 0 but got {max_retries} and {timeout}.")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.password:
            raise InputError("url: Expected an address as http://127.0.0.1:8000, without user name and password.")
        if not allow_remote and not is_loopback(url):
            raise InputError(
                "url: is not on this machine: Expected `allow_remote` to be true, because every request contains "
                "reports, which would leave the machine."
            )
        self._parts, self.max_retries, self.timeout = parts, max_retries, timeout
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        known = {entry["name"]: entry for entry in self._request("GET", "/models")}
        if model is None and len(known) == 1:
            model = next(iter(known))
        if model not in known:
            raise InputError(f"{self.url}: Expected a model among {', '.join(known)} but got {model!r}.")
        self.model = model
        description = known[model]
        self.title = description["title"]
        self.has_quality = "quality" in description["outputs"]
        low, high = description["total_range"]
        self.total_range = (low, high)
        self.criteria = Criteria.from_dict(description["criteria"]) if description["criteria"] else None
        self._sub_names = tuple(description["sub_scores"])

    @property
    def sub_names(self) -> tuple[str, ...]:
        """See `Scorer.sub_names`."""
        return self._sub_names

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`; it covers the address and the name, but not the model of the service."""
        return fingerprint(self.url, self.model)

    def save_pretrained(self, folder: str | Path) -> None:
        """Raise, because the model is that of the service.

        Raises:
            InputError: Always.
        """
        raise InputError(f"{self.title} cannot be saved because {self.url} has its model.")

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer._score_valid`."""
        pairs = [
            {"reference": first, "candidate": second} for first, second in zip(references, candidates, strict=True)
        ]
        rows = [row for start in range(0, len(pairs), _BATCH_PAIRS) for row in self._rows(pairs[start:][:_BATCH_PAIRS])]
        tags = self.criteria.tags if self.criteria else ()

        def table(key: str, names: Sequence[str]) -> torch.Tensor | None:
            values = [[_number(row[key][name]) for name in names] for row in rows]
            return torch.tensor(values, dtype=torch.float32).reshape(len(rows), len(names)) if names else None

        def column(key: str) -> torch.Tensor:
            return torch.tensor([_number(row[key]) for row in rows], dtype=torch.float32)

        return Scores(
            total=column("total"),
            sub_scores=table("sub_scores", self._sub_names),
            error_counts=table("error_counts", tags),
            status=tuple(row["status"] for row in rows),
            quality=column("quality") if self.has_quality else None,
        )

    def _rows(self, pairs: Sequence[dict[str, str]]) -> list[dict[str, Any]]:
        """Return the scores of pairs by the metric."""
        answer = self._request("POST", "/score", {"models": [self.model], "pairs": pairs}, splits=len(pairs) > 1)
        if answer is None:  # too large
            middle = len(pairs) // 2
            return [*self._rows(pairs[:middle]), *self._rows(pairs[middle:])]
        rows = [entry["scores"][self.model] for entry in answer["pairs"]]
        if len(rows) != len(pairs):
            raise InputError(f"{self.url}: Expected scores of {len(pairs)} pairs but got {len(rows)}.")
        return rows

    def _request(self, method: str, path: str, body: Any = None, splits: bool = False) -> Any:
        """Return the JSON of an answer; None if the request is too large and can be split."""
        for attempt in range(self.max_retries + 1):
            try:
                status, wait, answer = self._send(method, path, body)
            except (OSError, HTTPException, ValueError) as error:
                status, wait, reason = 503, None, f"none ({type(error).__name__})"
            else:
                if status == 200:
                    return answer
                if status == 413 and splits:
                    return None
                text = answer.get("error", "") if isinstance(answer, dict) else ""
                reason = f"status {status}: " + "".join(filter(str.isprintable, str(text)[:300]))
            if status not in _RETRIED or attempt == self.max_retries:
                break
            time.sleep(min(0.5 * 2**attempt if wait is None else wait, _MAX_WAIT))
        raise InputError(f"{self.url}{path}: Expected an answer of `radreward serve` but got {reason}")

    def _send(self, method: str, path: str, body: Any) -> tuple[int, float | None, Any]:
        """Return status, seconds of Retry-After and JSON of an answer."""
        connection_class = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        connection = connection_class(str(self._parts.hostname), self._parts.port, timeout=self.timeout)
        content = None if body is None else json.dumps(body).encode()
        try:
            connection.request(
                method, self._parts.path.rstrip("/") + path, content, {"Content-Type": "application/json"}
            )
            response = connection.getresponse()
            retry_after = response.getheader("Retry-After", "")
            wait = float(retry_after) if retry_after.isdecimal() else None
            return response.status, wait, json.loads(response.read())
        finally:
            connection.close()


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
