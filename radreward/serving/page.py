"""The page of the service, on which two reports are compared."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files

from radreward.io.pages.html_page import HTMLPage, build_page
from radreward.serving.messages import MetricDescription

SCRIPTS = ("marks", "metrics", "reports", "main")
"""Scripts in the order of the page; a script may use earlier ones and the shared ones."""


def service_page(metrics: Sequence[MetricDescription]) -> HTMLPage:
    """Return the page for these metrics, in this order; it sends reports to its own server only, and stores nothing."""
    data = {"metrics": [metric.model_dump() for metric in metrics]}
    return build_page("Compare two reports · radreward", data, files("radreward.serving"), SCRIPTS, connects=True)
