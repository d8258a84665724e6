"""Tables of a terminal: a table that is wider than the terminal is printed in parts that repeat its first column."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.styled import Styled
from rich.table import Table

from radreward.io.terminal import printable

if TYPE_CHECKING:
    import pandas as pd

_HEADER_WIDTH = 14
"""Longer column names are broken at spaces, if they are also longer than the cells."""
_MAX_NUMBER_WIDTH = 32
"""Wider cells hold text, which is aligned at the left and may wrap."""
_MIN_FIRST_WIDTH = 16
"""Width up to which the first column is never wrapped, and that of the text of a part of its own."""
_GAP = 2
"""Width between two columns."""


class TerminalTable:
    """A table of texts for a console of any width; no cell is cut.

    If the columns do not fit, the table is split into parts that repeat the first column, which may then wrap. Columns
    of numbers are aligned at the right and never wrap.

    Args:
        title: Title of the table.
        frame: Texts, see `text_frame`; the first column names the rows.
        separate_last_row: Draw a line before the last row.

    Raises:
        ValueError: If the frame has no column.
    """

    def __init__(self, title: str, frame: pd.DataFrame, separate_last_row: bool = False) -> None:
        if not len(frame.columns):
            raise ValueError(f"{title}: Expected a table with at least one column but got none.")
        self.title, self.frame, self.separate_last_row = title, frame, separate_last_row
        cells = zip(*frame.itertuples(index=False, name=None), strict=True) if len(frame) else [()] * len(frame.columns)
        self._columns: list[tuple[str, ...]] = [tuple(map(printable, column)) for column in cells]
        self._headers = [
            _broken_header(str(name), _text_width(column))
            for name, column in zip(frame.columns, self._columns, strict=True)
        ]
        self._widths = [
            _text_width((header, *column)) for header, column in zip(self._headers, self._columns, strict=True)
        ]

    def __rich_console__(self, console: Any, options: Any) -> Iterator[Styled | Table]:
        """Yield the title and the table of each part."""
        first_width, parts = self._split(options.max_width)
        for number, part in enumerate(parts, 1):
            if number > 1:
                yield Styled("", "none")
            count = f"({number} of {len(parts)})" if len(parts) > 1 else ""
            yield Styled(f"{self.title if number == 1 else 'continued'} {count}".rstrip(), "table.title")
            yield self._table(first_width, part, options.max_width)

    def _split(self, max_width: int) -> tuple[int, list[list[int]]]:
        """Return the width of the first column, and the indices of the other columns in each part."""
        first, others = self._widths[0], range(1, len(self._widths))
        if first + sum(self._widths[index] + _GAP for index in others) > max_width:
            widest = max((self._widths[index] for index in others if not self._is_text(index)), default=0)
            room = max_width - sum(self._widths[index] + _GAP for index in others)
            narrow = room if room >= _MIN_FIRST_WIDTH else max(_MIN_FIRST_WIDTH, max_width // 3)  # one part if possible
            first = min(first, narrow, max(1, max_width - widest - _GAP))
        space = max_width - first
        parts: list[list[int]] = [[]]
        used = 0
        for index in others:
            width = self._widths[index] + _GAP
            if self._is_text(index):
                width = min(width, _MIN_FIRST_WIDTH + _GAP)  # it may wrap
            if parts[-1] and used + width > space:
                parts.append([])
                used = 0
            parts[-1].append(index)
            used += width
        return first, parts

    def _is_text(self, index: int) -> bool:
        return self._widths[index] > _MAX_NUMBER_WIDTH

    def _table(self, first_width: int, part: Sequence[int], max_width: int) -> Table:
        table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True)
        table.add_column(self._headers[0], overflow="fold", min_width=min(first_width, max_width))
        for index in part:
            text = self._is_text(index)
            table.add_column(
                self._headers[index],
                justify="left" if text else "right",
                no_wrap=not text,
                overflow="fold",
            )
        last = len(self.frame) - 1
        for row, cells in enumerate(zip(*(self._columns[index] for index in (0, *part)), strict=True)):
            if self.separate_last_row and row == last:
                table.add_section()
            table.add_row(*cells)
        return table


def _broken_header(name: str, cell_width: int) -> str:
    name = printable(name)
    return textwrap.fill(name, max(_HEADER_WIDTH, cell_width), break_long_words=False, break_on_hyphens=False)


def _text_width(texts: Iterable[str]) -> int:
    return max((cell_len(line) for text in texts for line in text.splitlines()), default=0)
