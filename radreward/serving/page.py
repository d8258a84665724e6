"""The pages of the service: one on which two reports are compared, and one that describes the requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from radreward.io.pages.html_page import HTMLPage, build_page
from radreward.serving.messages import MetricDescription

SCRIPTS = ("marks", "metrics", "reports", "main")
"""Scripts in the order of the page; a script may use earlier ones and the shared ones."""


def service_page(metrics: Sequence[MetricDescription]) -> HTMLPage:
    """Return the page for these metrics, in this order; it sends reports to its own server only, and stores nothing."""
    data = {"metrics": [metric.model_dump() for metric in metrics]}
    return build_page("Compare two reports · radreward", data, files("radreward.serving"), SCRIPTS, connects=True)


def api_page(openapi: Mapping[str, Any]) -> HTMLPage:
    """Return the page of the requests and answers that an OpenAPI document describes."""
    return build_page("Requests and answers · radreward", {"openapi": openapi}, files("radreward.serving"), ["api"])
