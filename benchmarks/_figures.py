"""Measured figures beside their goals, and the table of them that `make bench` prints last."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

import torch
from rich.table import Table


class Figure(NamedTuple):
    """A measured figure; it has one of the two goals or none."""

    work: str
    value: float | None
    """None if it was not measured, which `parity` explains."""
    unit: str = "×"
    parity: str = ""
    """How far results are from those of the peer."""
    at_least: float | None = None
    at_most: float | None = None

    @property
    def goal(self) -> str:
        """Goal with its direction, empty without one.

        >>> Figure("score", 2.5, "s", at_most=3.5).goal
        '≤ 3.5 s'
        """
        if self.at_least is not None:
            return f"≥ {self.at_least:,g} {self.unit}"
        return "" if self.at_most is None else f"≤ {self.at_most:,g} {self.unit}"

    @property
    def verdict(self) -> str:
        """`met` or `MISSED`, empty without a goal or a value.

        >>> Figure("score", 2.5, "s", at_most=3.5).verdict, Figure("step", 9, at_least=10).verdict
        ('met', 'MISSED')
        """
        if self.value is None or not self.goal:
            return ""
        too_low = self.at_least is not None and self.value < self.at_least
        too_high = self.at_most is not None and self.value > self.at_most
        return "MISSED" if too_low or too_high else "met"


def figures_table(figures: Sequence[Figure]) -> Table:
    """Return all figures with their goals, and the machine and its load in the title."""
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    title = f"{os.cpu_count()} cores, load {load} in the last 1, 5 and 15 minutes; torch {torch.__version__}"
    table = Table("work", "goal", "figure", "", "parity", title=title)
    for figure in figures:
        digits = 2 if figure.value is not None and abs(figure.value) < 100 else 0
        value = "not run" if figure.value is None else f"{figure.value:,.{digits}f} {figure.unit}"
        table.add_row(figure.work, figure.goal, value, figure.verdict, figure.parity)
    return table
