"""JSON for a script element of HTML."""

from __future__ import annotations

import json
from typing import Any


def json_for_script(data: Any) -> str:
    r"""Return JSON that can neither close its element nor open a tag or a comment.

    Raises:
        ValueError: If a number is NaN or infinite.

    >>> json_for_script(["</script>", "<!--", "a\u2028b"])
    '["\\u003c/script\\u003e","\\u003c!--","a\\u2028b"]'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))  # ASCII, so line separators are escaped too
    return text.replace("<", r"\u003c").replace(">", r"\u003e").replace("&", r"\u0026")
