"""Rows of text as tables: for the terminal, in Markdown and in LaTeX."""

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
    "[": "{[}",  # at the start of a row it would be an option of the line's end
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
"""Longer heads are broken at every space."""


def terminal_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    """A table of which the first column may break, and the others, figures, may not."""
    made = Table(
        title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False, show_edge=False, collapse_padding=True
    )
    made.add_column(columns[0], overflow="fold")
    for head in columns[1:]:
        made.add_column(
            head.replace(" ", "\n") if len(head) > _MAX_COLUMN_WIDTH else head, justify="right", no_wrap=True
        )
    for row in rows:
        made.add_row(*row)
    return made


def markdown_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], escape: Callable[[str], str] | None = None
) -> str:
    r"""A table in Markdown, its text escaped, by `markdown_text` if not otherwise.

    >>> print(markdown_table(["", "n"], [["a_b", "1"]]))
    |  | n |
    | --- | ---: |
    | a\_b | 1 |
    """
    head, *lines = (f"| {' | '.join(map(escape or escape_markdown, line))} |" for line in (columns, *rows))
    return "\n".join([head, f"| {' | '.join(['---', *('---:' for _ in columns[1:])])} |", *lines])


def escape_markdown(text: str) -> str:
    r"""Text that Markdown takes as it stands.

    >>> print(markdown_text("a|b"))
    a\|b
    """
    return re.sub(r"([\\`*_|<>\[\]])", r"\\\1", text)


def latex_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in LaTeX with the rules of booktabs, its text escaped."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(cells) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(columns) - 1)}}}",
            r"\toprule",
            line([_LATEX_COLUMNS.get(head, escape_latex(head)) for head in columns]),
            r"\midrule",
            *(line([escape_latex(cell) for cell in row]) for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Text that LaTeX takes as it stands.

    >>> print(latex_text("5 % [a]"))
    5 \% {[}a]
    """
    return "".join(_LATEX_CHARACTERS.get(sign, sign) for sign in text)


def format_signed(value: float, digits: int = 3) -> str:
    """A number with its sign.

    >>> signed(0.5), signed(-0.25, 2)
    ('+0.500', '−0.25')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def format_number(value: float | None, digits: int = 3) -> str:
    """A number, with a minus where it is negative only; a dash where there is none.

    >>> plain(0.5), plain(-0.25, 2), plain(None)
    ('0.500', '−0.25', '–')
    """
    return "–" if value is None else f"{value:.{digits}f}".replace("-", "−")
