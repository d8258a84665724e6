"""Tables of scorers that experiments print."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pandas as pd

from radreward.errors import InputError
from radreward.io.text_tables import markdown_table


def print_table(make: Callable[[], pd.DataFrame]) -> int:
    """Print the table that a function makes; print the message and return 2 if the input or a scorer cannot be used."""
    try:
        print(markdown_table(make()))
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    return 0
