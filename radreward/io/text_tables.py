"""Tables of text for the terminal, Markdown and LaTeX, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rich.box import SIMPLE_HEAD
from rich.table import Table

_LATEX_COLUMNS = {
    "τ-b": r"$\tau_b$",
    "ρ": r"$\rho$",
    "r": "$r$",
    "Δ pairs": r"$\Delta$ pairs",
    "95 %": r"95\,\%",
    "p": "$p$",
}
_LATEX_CHARACTERS = {
    **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # at the start of a row, `[` is an option of the line break before it
    "±": r"$\pm$",
    "–": "--",
    "−": "$-$",
    "τ": r"$\tau$",
    "ρ": r"$\rho$",
    "κ": r"$\kappa$",
    "Δ": r"$\Delta$",
    "²": "$^2$",
}
_MAX_COLUMN_WIDTH = 14
"""Longer column names are broken at every space."""


def terminal_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """Return a rich table whose first column may wrap; the other columns, numbers, never do."""
    table = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
    )
    table.add_column(columns[0], overflow="fold")
    for name in columns[1:]:
        header = name.replace(" ", "\n") if len(name) > _MAX_COLUMN_WIDTH else name
        table.add_column(header, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def markdown_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], escape: Callable[[str], str] | None = None
) -> str:
    r"""Return a Markdown table; texts are escaped by `escape`, which defaults to `escape_markdown`.

    >>> print(markdown_table(["", "n"], [["a_b", "1"]]))
    |  | n |
    | --- | ---: |
    | a\_b | 1 |
    """
    header, *lines = (f"| {' | '.join(map(escape or escape_markdown, line))} |" for line in (columns, *rows))
    return "\n".join([header, f"| {' | '.join(['---', *('---:' for _ in columns[1:])])} |", *lines])


def escape_markdown(text: str) -> str:
    r"""Escape the characters that Markdown interprets.

    >>> print(escape_markdown("a|b"))
    a\|b
    """
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", text)


def latex_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a LaTeX table with the rules of booktabs; texts are escaped."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
            r"\toprule",
            line([_LATEX_COLUMNS.get(name, escape_latex(name)) for name in columns]),
            r"\midrule",
            *(line([escape_latex(cell) for cell in row]) for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Escape the characters that LaTeX interprets.

    >>> print(escape_latex("5 % [a]"))
    5 \% {[}a]
    """
    return "".join(_LATEX_CHARACTERS.get(sign, sign) for sign in text)


def format_signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign.

    >>> format_signed(0.5), format_signed(-0.25, 2)
    ('+0.500', '−0.25')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number with a sign only if it is negative, or a dash for None.

    >>> format_number(0.5), format_number(-0.25, 2), format_number(None)
    ('0.500', '−0.25', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
