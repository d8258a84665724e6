"""Generated reports in other white space and Unicode forms: no score may change."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator
from random import Random

import torch

from experiments.compare_metrics import METRICS
from radreward.scorers import load
from soak import Outcome
from soak.false_findings import GROUPS, generated_cases

TOLERANCE = 1e-5
"""Differences of scores that count as none, as batching changes the rounding."""
FORMS: dict[str, Callable[[str], str]] = {
    "double spaces": lambda text: text.replace(" ", "  "),
    "tabs": lambda text: text.replace(" ", "\t"),
    "line breaks": lambda text: text.replace(" ", "\n"),
    "no-break spaces": lambda text: text.replace(" ", "\u00a0"),
    "space around": lambda text: f"\r\n {text}\t\n",
    "NFD": lambda text: unicodedata.normalize("NFD", text),
    "full width": lambda text: "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in text),
    "soft hyphens": lambda text: text.replace("e", "e\u00ad"),
    "zero-width spaces": lambda text: text.replace(" ", " \u200b"),
    "typographic": lambda text: text.replace("-", "\u2010").replace("'", "\u2019"),
}
"""Name of each form → its text."""


def run(scale: float) -> Iterator[Outcome]:
    """Yield one outcome per scorer; each generated case gets one form on each side, in turn."""
    references, candidates, *_ = zip(*generated_cases(max(1, round(scale * GROUPS))), strict=True)
    rng, names = Random(0), list(FORMS)
    forms = [(names[number % len(names)], rng.choice(names)) for number in range(len(references))]
    changed_references = [FORMS[form](text) for (form, _), text in zip(forms, references, strict=True)]
    changed_candidates = [FORMS[form](text) for (_, form), text in zip(forms, candidates, strict=True)]
    for name in METRICS:
        scorer = load(name).fit_references(references)
        before, after = scorer.score(references, candidates), scorer.score(changed_references, changed_candidates)
        equal = torch.isclose(before.total, after.total, TOLERANCE, TOLERANCE, equal_nan=True).tolist()
        changed = sorted({form for form, is_equal in zip(forms, equal, strict=True) if not is_equal})
        note = f"changed by {' and '.join(changed[0])}" if changed else ""
        yield Outcome(f"another form of the text, {name}", len(equal), sum(equal), note)
