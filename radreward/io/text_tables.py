"""Tables of text, their form in Markdown and LaTeX, and the numbers in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from radreward.io.terminal import printable

if TYPE_CHECKING:
    import pandas as pd

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


def text_frame(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> pd.DataFrame:
    """Return a table of texts, the input of the functions below and of `TerminalTable`."""
    import pandas as pd  # imported here, because it takes half a second

    return pd.DataFrame([list(map(str, row)) for row in rows], columns=list(columns))


def with_fewer_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table of texts with rows and columns swapped if it has more columns than rows, without the first.

    The first column names the rows. For tables in which every cell has the same meaning.

    >>> with_fewer_columns(text_frame(["", "a", "b"], [["row", 1, 2]])).to_numpy().tolist()
    [['a', '1'], ['b', '2']]
    """
    if len(frame.columns) - 1 <= len(frame):
        return frame
    corner, *names = frame.columns
    titles, *cells = zip(*frame.itertuples(index=False, name=None), strict=True)
    return text_frame([corner, *titles], [[name, *row] for name, row in zip(names, cells, strict=True)])


def markdown_table(frame: pd.DataFrame, escape: Callable[[str], str] | None = None) -> str:
    r"""Return a Markdown table; texts are escaped by `escape`, which defaults to `escape_markdown`.

    >>> print(markdown_table(text_frame(["", "n"], [["a_b", 1]])))
    |  | n |
    | --- | ---: |
    | a\_b | 1 |
    """
    cells = (list(frame.columns), *frame.itertuples(index=False, name=None))
    header, *lines = (f"| {' | '.join(map(escape or escape_markdown, line))} |" for line in cells)
    return "\n".join([header, f"| {' | '.join(['---', *('---:' for _ in frame.columns[1:])])} |", *lines])


def escape_markdown(text: str) -> str:
    r"""Return a text in one line, without control characters; what Markdown or HTML would interpret is escaped.

    >>> print(escape_markdown("a|b\n<i>`c` &amp;"))
    a\|b \<i\>\`c\` \&amp;
    """
    return re.sub(r"([\\`*_|<>\[\]&])", r"\\\1", " ".join(printable(text).split()))


def markdown_code(text: str) -> str:
    """Return a text in one line as a code span, with more backticks around it than the text has in a row.

    >>> print(markdown_code("runs/a"), markdown_code("a`b"))
    `runs/a` `` a`b ``
    """
    text = " ".join(printable(text).split())
    ticks = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (ticks + 1)
    return f"{fence} {text} {fence}" if ticks else f"`{text}`"


def latex_table(frame: pd.DataFrame) -> str:
    """Return a LaTeX table with the rules of booktabs; texts are escaped."""

    def line(cells: Iterable[str]) -> str:
        return " & ".join(cells) + r" \\"

    return "\n".join(
        [
            rf"\begin{{tabular}}{{l{'r' * (len(frame.columns) - 1)}}}",
            r"\toprule",
            line(_LATEX_COLUMNS.get(name, escape_latex(name)) for name in frame.columns),
            r"\midrule",
            *(line(map(escape_latex, row)) for row in frame.itertuples(index=False, name=None)),
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def escape_latex(text: str) -> str:
    r"""Return a text in one line, without control characters; what LaTeX would interpret is escaped.

    >>> print(escape_latex("5 % [a]"))
    5 \% {[}a]
    """
    return "".join(_LATEX_CHARACTERS.get(sign, sign) for sign in " ".join(printable(text).split()))


def format_signed(value: float, digits: int = 3) -> str:
    """Return a number with its sign.

    >>> format_signed(0.5), format_signed(-0.25, 2)
    ('+0.500', '−0.25')
    """
    return f"{value:+.{digits}f}".replace("-", "−")


def format_number(value: float | None, digits: int = 3) -> str:
    """Return a number, or a dash for None; a negative number that is rounded to zero has no sign.

    >>> format_number(0.5), format_number(-0.25, 2), format_number(-0.001, 1), format_number(None)
    ('0.500', '−0.25', '0.0', '–')
    """
    return "–" if value is None else f"{value:z.{digits}f}".replace("-", "−")


def format_p_value(value: float | None) -> str:
    """Return a p-value, or a dash for None; 10,000 permutations cannot resolve a p-value below 1/10,000.

    >>> format_p_value(0.25), format_p_value(0.00031), format_p_value(1e-9), format_p_value(None)
    ('0.250', '0.0003', '< 0.0001', '–')
    """
    if value is None:
        return "–"
    return "< 0.0001" if value <= 1e-4 else f"{value:.{4 if value < 0.001 else 3}f}"
