"""Agreement of raters with each other as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from radreward.io.numbers import finite_or_none
from radreward.io.text_tables import format_number, format_signed, text_frame
from radreward.meta_evaluation.benchmark_tables import TextTable
from radreward.meta_evaluation.rated_pairs import TOTAL_TARGETS, Target
from radreward.meta_evaluation.statistics.inter_rater import PAIRWISE, inter_rater_agreement

RATER_FOOTNOTE = (
    "κ: Cohen's κ, unweighted. τ-b: Kendall's rank correlation. Difference: mean of the first rater minus the second. "
    "–: undefined, for example if a rater gave equal values only."
)


def rater_table(targets: Sequence[Target]) -> TextTable | None:
    """Return the agreement of every two raters on ratings and error counts; None for one rater.

    Args:
        targets: Targets of rated pairs; those of single criteria are left out.
    """
    rows = [
        [
            f"{agreement.rater_a} – {agreement.rater_b}",
            target.title,
            agreement.n,
            format_number(finite_or_none(agreement.kappa)),
            format_number(finite_or_none(agreement.tau_b)),
            "–" if math.isnan(agreement.difference) else format_signed(agreement.difference, 2),
        ]
        for target in targets
        if target.name in TOTAL_TARGETS
        for agreement in inter_rater_agreement(target.by_rater, target.raters)
        if agreement.kind == PAIRWISE
    ]
    if not rows:
        return None
    return TextTable("Agreement of raters", text_frame(["raters", "value", "cases", "κ", "τ-b", "difference"], rows))
