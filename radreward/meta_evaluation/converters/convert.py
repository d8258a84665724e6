"""Convert files in a published layout to rated pairs, preferences or sentence scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from radreward.errors import InputError
from radreward.io.input_files import is_standard_input
from radreward.io.tables import table_suffix
from radreward.io.validated_rows import raise_row_errors
from radreward.meta_evaluation.converters.green_preferences import read_green_preferences
from radreward.meta_evaluation.converters.label_studio import read_label_studio
from radreward.meta_evaluation.converters.own_groups import read_own_groups
from radreward.meta_evaluation.converters.rad100 import read_rad100
from radreward.meta_evaluation.converters.radeval_expert import read_radeval_expert
from radreward.meta_evaluation.converters.radjudge import read_radjudge
from radreward.meta_evaluation.converters.radpref import read_radpref
from radreward.meta_evaluation.converters.rate_eval import read_paragraph_task, read_sentence_task, read_triad_task
from radreward.meta_evaluation.converters.ratings import read_ratings
from radreward.meta_evaluation.converters.rexval import read_rexval
from radreward.meta_evaluation.converters.sentence_eval import read_sentence_evaluation, read_sentence_scores
from radreward.meta_evaluation.preferences import Preference, write_preferences
from radreward.meta_evaluation.rated_pairs import RatedPair
from radreward.meta_evaluation.rated_pairs_io import criteria_mismatches, write_rated_pairs
from radreward.prompts.parsing import MAX_COUNT
from radreward.systems.sentence_eval.judgement_io import JudgedPair, write_judged_pairs

CONVERTERS: dict[str, Callable[[Path], Iterable[Any]]] = {
    "rexval": read_rexval,
    "rate-eval-sentences": read_sentence_task,
    "rate-eval-paragraphs": read_paragraph_task,
    "rate-eval-triads": read_triad_task,
    "rad100": read_rad100,
    "radpref": read_radpref,
    "radjudge": read_radjudge,
    "radeval-expert": read_radeval_expert,
    "sentence-eval": read_sentence_evaluation,
    "sentences": read_sentence_scores,
    "green-preferences": read_green_preferences,
    "groups": read_own_groups,
}
"""Name of each layout → its reader."""
JOINING_CONVERTERS: dict[str, Callable[[Sequence[Path]], Iterable[Any]]] = {
    "rate": read_ratings,
    "label-studio": read_label_studio,
}
"""Name of each layout of one or more files, such as one per rater → its reader."""


def convert(layout: str, source: Path | Sequence[Path], output: Path) -> str:
    """Convert a source, or the files of several raters, to rated pairs, preferences or sentence scores.

    Returns:
        A summary such as "8 rated pairs of 2 cases".

    Raises:
        InputError: If a source cannot be read, the layout has one source but several are given, counts are too large,
            criteria differ between rows, or the output cannot be written. The message names file, row and field.
    """
    table_suffix(output)
    sources = [source] if isinstance(source, Path) else source
    for path in sources:
        if not (path.exists() or is_standard_input(path) or str(path).startswith("hf:")):
            raise InputError(f"{path}: Expected an existing file or folder but there is none at this path.")
    if layout in JOINING_CONVERTERS:
        rows = list(JOINING_CONVERTERS[layout](sources))
    elif len(sources) > 1:
        raise InputError(f"{sources[1]}: Expected one file or folder of the layout {layout} but got {len(sources)}.")
    else:
        rows = list(CONVERTERS[layout](sources[0]))
    if judged := [row for row in rows if isinstance(row, JudgedPair)]:
        write_judged_pairs(output, judged)
        n_cases, n_raters = len({row.id for row in judged}), len({row.rater for row in judged})
        return f"sentence scores of {n_cases} cases by {n_raters} raters"
    n_cases = len({row.group for row in rows})
    if preferences := [row for row in rows if isinstance(row, Preference)]:
        write_preferences(output, preferences)
        return f"{len(rows)} preferences of {n_cases} cases"
    pairs = [row for row in rows if isinstance(row, RatedPair)]
    if errors := _refused_counts(pairs):
        raise_row_errors(", ".join(map(str, sources)), errors)
    write_rated_pairs(output, pairs)
    return f"{len(rows)} rated pairs of {n_cases} cases"


def _refused_counts(pairs: Sequence[RatedPair]) -> list[str]:
    """Return one message per count that `read_rated_pairs` refuses. Sums may be too large even if no summand is."""
    errors = [
        f"pair {pair.id!r}: Expected at most {MAX_COUNT:,} errors of {tag!r} by rater {rater!r} but got {count:,g}"
        for pair in pairs
        for rater, counts in pair.errors.items()
        for tag, count in counts.items()
        if count > MAX_COUNT
    ]
    return errors or criteria_mismatches([(f"pair {pair.id!r}", pair) for pair in pairs])
