"""Scorers as a web service with a page to try them."""

from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports

if TYPE_CHECKING:
    from radreward.serving.app import create_app
    from radreward.serving.limits import ServiceLimits
    from radreward.serving.server import serve_app

__all__ = [
    "ServiceLimits",
    "create_app",
    "serve_app",
]

__getattr__ = lazy_exports(__name__)
