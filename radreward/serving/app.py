"""The web service: scores over HTTP, with an OpenAPI document, and the page."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import version
from importlib.resources import files
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import HTMLResponse, Response
from starlette.types import Receive

from radreward.io.pages.html_page import HTMLPage, build_page
from radreward.scorers import SCORERS
from radreward.scorers.base import Scorer
from radreward.scoring.pairs import Pairs
from radreward.serving.json_response import ExactJSONResponse
from radreward.serving.limits import ServiceLimits, check_pairs
from radreward.serving.messages import (
    CriteriaDescription,
    ErrorAnswer,
    HealthAnswer,
    MetricDescription,
    ScoreAnswer,
    ScoreRequest,
)
from radreward.serving.request_guard import RequestGuard
from radreward.serving.scoring import ScorerFailedError, ScoringJob
from radreward.serving.scoring_queue import QueueFullError, ScoringQueue
from radreward.text.normalization import normalize_report
from radreward.types import Side

logger = logging.getLogger(__name__)
_RETRY_SECONDS = 5
"""Seconds after which a client should try again if the queue is full."""
_SCRIPTS = ("marks", "metrics", "reports", "main")
"""Scripts of the page in their order; a script may use earlier ones and the shared ones."""
_ERRORS: dict[int | str, dict[str, Any]] = {
    421: {"description": "The service does not have the name in `Host`"},
    400: {"description": "The body is not JSON"},
    408: {"description": "The body arrived too slowly"},
    413: {"description": "The body or the number of pairs is too large"},
    415: {"description": "The content type is not application/json"},
    422: {"description": "A field or a model is unknown, missing or wrong"},
    500: {"description": "A metric failed"},
    503: {"description": "Too many requests wait; try again after `Retry-After` seconds"},
    504: {"description": "Scoring took too long"},
}


def create_app(
    scorers: Mapping[str, Scorer], limits: ServiceLimits | None = None, trusted_hosts: Sequence[str] = ()
) -> FastAPI:
    """Return the service of loaded scorers. It stores nothing and logs no report.

    `POST /score` scores pairs as `radreward score` does, `GET /models` lists the metrics, `GET /health` answers as soon
    as the service can score, `GET /openapi.json` and the page `GET /docs` describe these requests, and `GET /` is the
    page on which two reports are compared.

    Args:
        scorers: Scorers by name.
        limits: Limits; defaults to those of `ServiceLimits`.
        trusted_hosts: Names of this service besides localhost and the address at which a request arrives. Requests
            to other names are refused: a page elsewhere could have given its name the address of this machine.
    """
    limits = limits or ServiceLimits()
    queue = ScoringQueue(limits.max_requests)
    page = _service_page(_describe_metrics(scorers))
    hosts = {"localhost", "127.0.0.1", "::1", *map(str.lower, trusted_hosts)}

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        yield
        queue.close()

    errors = {status: {**entry, "model": ErrorAnswer} for status, entry in _ERRORS.items()}
    app = FastAPI(
        title="radreward",
        version=version("radreward"),
        summary="Metrics that judge radiology reports. For research only.",
        docs_url=None,  # FastAPI's pages load scripts from other hosts
        redoc_url=None,
        lifespan=lifespan,
    )
    app.add_middleware(RequestGuard, limits=limits, trusted_hosts=hosts)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)

    _add_page(app, "/", page)

    @app.get("/health")
    async def health() -> HealthAnswer:
        """Report that the models are loaded."""
        return HealthAnswer()

    @app.get("/models")
    async def models() -> list[MetricDescription]:
        """List the metrics."""
        return _describe_metrics(scorers)

    @app.post("/score", response_model=ScoreAnswer, responses=errors)
    async def score(request: ScoreRequest, connection: Request) -> Response:
        """Score candidates against their references."""
        selected = _select_scorers(request, scorers, limits)
        pairs = Pairs(*zip(*(pair.as_pair() for pair in request.pairs), strict=True))
        job = ScoringJob(selected, pairs, request.evidence)
        return ExactJSONResponse(_answer(request, await _run(queue, job, connection.receive, limits)))

    _add_page(app, "/docs", _api_page(app.openapi()))
    return app


def _service_page(metrics: Sequence[MetricDescription]) -> HTMLPage:
    """Return the page for these metrics, in this order; it sends reports to its own server only, and stores nothing."""
    data = {"metrics": [metric.model_dump() for metric in metrics]}
    return build_page("Compare two reports · radreward", data, files("radreward.serving"), _SCRIPTS, connects=True)


def _api_page(openapi: Mapping[str, Any]) -> HTMLPage:
    """Return the page of the requests and answers that an OpenAPI document describes."""
    return build_page("Requests and answers · radreward", {"openapi": openapi}, files("radreward.serving"), ["api"])


def _add_page(app: FastAPI, path: str, page: HTMLPage) -> None:
    policy = f"{page.policy}; frame-ancestors 'none'"

    @app.get(path, include_in_schema=False)
    async def answer() -> Response:
        """Return the page."""
        return HTMLResponse(page.text, headers={"Content-Security-Policy": policy})


def _select_scorers(request: ScoreRequest, scorers: Mapping[str, Scorer], limits: ServiceLimits) -> dict[str, Scorer]:
    """Return the scorers of a request; raise an `HTTPException` if it has too many pairs or an unknown model."""
    check_pairs(len(request.pairs), sum(pair.num_chars for pair in request.pairs), limits)
    names = request.models or list(scorers)
    if unknown := [name for name in names if name not in scorers]:
        raise HTTPException(422, f"Expected models among {', '.join(scorers)} but got {unknown[0]!r}.")
    return {name: scorers[name] for name in names}


async def _run(
    queue: ScoringQueue, job: ScoringJob, receive: Receive, limits: ServiceLimits
) -> list[dict[str, dict[str, Any]]]:
    """Return the scores of a job; raise an `HTTPException` if there are none, and end the job if its client leaves."""
    try:
        queue.submit(job)
    except QueueFullError as error:
        message = f"Expected at most {limits.max_requests} requests at a time. Try again in {_RETRY_SECONDS} s."
        raise HTTPException(503, message, {"Retry-After": str(_RETRY_SECONDS)}) from error
    scores = asyncio.wrap_future(job.future)
    disconnection = asyncio.ensure_future(receive())  # the body is complete, so nothing else can follow
    try:
        waiting: set[asyncio.Future[Any]] = {scores, disconnection}
        await asyncio.wait(waiting, timeout=limits.seconds, return_when=asyncio.FIRST_COMPLETED)
        if scores.done():
            return scores.result()
        if disconnection.done():
            raise ClientDisconnect
        raise HTTPException(504, f"Expected scores within {limits.seconds:g} s. Send fewer pairs.")
    except ScorerFailedError as error:
        logger.error("%s", error)
        raise HTTPException(500, str(error)) from error
    finally:
        scores.cancel()  # ends the job
        disconnection.cancel()


def _answer(request: ScoreRequest, rows: list[dict[str, dict[str, Any]]]) -> dict[str, Any]:
    answers: list[dict[str, Any]] = []
    for number, (pair, scores) in enumerate(zip(request.pairs, rows, strict=True), 1):
        answers.append({"id": number if pair.id is None else pair.id, "scores": scores})
        if request.evidence:
            answers[-1]["texts"] = {side: normalize_report(getattr(pair, side)) for side in Side}
    return {"pairs": answers}


def _describe_metrics(scorers: Mapping[str, Scorer]) -> list[MetricDescription]:
    descriptions = []
    for name, scorer in scorers.items():
        low, high = scorer.total_range
        if not scorer.higher_is_better:  # totals are negated
            low, high = (None if bound is None else -bound for bound in (high, low))
        named = SCORERS.get(name.partition(":")[0])
        descriptions.append(
            MetricDescription(
                name=name,
                title=scorer.title or name,
                summary=named.summary if named else "",
                total_range=(low, high),
                outputs=list(scorer.outputs),
                sub_scores=list(scorer.sub_names),
                criteria=_describe_criteria(scorer),
            )
        )
    return descriptions


def _describe_criteria(scorer: Scorer) -> CriteriaDescription | None:
    return CriteriaDescription.model_validate(scorer.criteria.to_dict()) if scorer.criteria else None


async def _http_error(request: Request, error: Exception) -> Response:
    """Return an error as one line; a path that does not exist names those that do."""
    if not isinstance(error, HTTPException):
        raise error
    message = error.detail
    if error.status_code in (404, 405):
        message = f"Expected POST /score, GET /models, /health, /openapi.json, /docs or / but got {request.method}."
    elif error.status_code == 400:  # FastAPI's own
        nested = isinstance(error.__cause__, RecursionError)
        message = "Expected JSON but it is nested too deeply." if nested else "Expected JSON in UTF-8."
    return ExactJSONResponse({"error": message}, error.status_code, error.headers)


async def _invalid_request(request: Request, error: Exception) -> Response:
    """Return the first problem of a body with its field, without its content."""
    if not isinstance(error, RequestValidationError):
        raise error
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return ExactJSONResponse(
            {"error": f"Expected JSON but it ends or is wrong at character {first['loc'][-1]}."}, 400
        )
    field = ".".join(map(str, first["loc"][1:])) or "body"
    return ExactJSONResponse({"error": f"{field}: {first['msg']}."}, 422)
