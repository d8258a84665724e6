"""Outputs of scorers: the numbers of a row by which candidates are ranked.

`OUTPUTS` is the only list of outputs. Columns of files, tables, rewards, metrics, benchmarks and pages iterate over it.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, get_args

ScoreOutput = Literal["total", "quality", "errors"]
"""Name of an output: its field in `radreward.types.Scores`, its column in files, and the end of its benchmark row."""


class OutputKind(NamedTuple):
    """Properties that an output has for every scorer."""

    higher_is_better: bool | None
    """None: the direction of the scorer's total."""
    range: tuple[float | None, float | None] | None
    """Lowest and highest possible value, None if unbounded; None instead of both: the range of the scorer's total."""
    description: str


OUTPUTS: dict[ScoreOutput, OutputKind] = {
    "total": OutputKind(None, None, "the total as published"),
    "quality": OutputKind(True, (0.0, 1.0), "the correct share of the candidate"),
    "errors": OutputKind(False, (0.0, None), "the expected number of errors"),
}
"""Outputs by name, in the order of columns and rows."""


def check_score_output(output: str) -> None:
    """Check that there is an output of this name.

    Raises:
        ValueError: If there is none.
    """
    if output not in OUTPUTS:
        raise ValueError(f"Expected `output` to be {', '.join(get_args(ScoreOutput))} but got {output!r}.")


def output_name(scorer: str, output: ScoreOutput) -> str:
    """Return the name of an output of a scorer in tables; the total has the name of the scorer.

    >>> output_name("er2score", "total"), output_name("er2score", "errors")
    ('er2score', 'er2score:errors')
    """
    return scorer if output == "total" else f"{scorer}:{output}"
