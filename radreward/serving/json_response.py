"""JSON that returns every text as it was sent."""

from __future__ import annotations

import json
from typing import Any

from starlette.responses import JSONResponse


class ExactJSONResponse(JSONResponse):
    r"""A JSON response in ASCII, so that it can have texts that UTF-8 cannot: a lone surrogate is sent as an escape.

    >>> ExactJSONResponse({"id": chr(0xD800)}).body
    b'{"id":"\\ud800"}'
    """

    def render(self, content: Any) -> bytes:
        """Return the content as bytes; raise a `ValueError` for a number that JSON cannot have."""
        return json.dumps(content, allow_nan=False, separators=(",", ":")).encode("ascii")
