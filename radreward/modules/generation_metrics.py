"""Answers of a model against those that were written for the same reports: numbers, form and words."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple

import torch
from torch import Tensor

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.metrics import text_overlap as words
from radreward.models.text_encoder import TextEncoder, bertscore
from radreward.modules.count_metrics import Stated, joined
from radreward.systems.green.prompt import error_types, read_green

LIKENESS = ("bleu_4", "rouge_l", "bertscore")
logger = logging.getLogger(__name__)


class Seen(NamedTuple):
    """What a model answered to some prompts, against what was written for them."""

    stated: Stated
    """Errors that it states, and known ones."""
    valid: Tensor
    """(C,) bool: whether the answer has the form that was asked for."""
    finished: Tensor
    """(C,) bool: whether it ended by itself."""
    likeness: Tensor
    """(C, 3) of its words and those of the written answer, by `LIKENESS`; NaN where it was not measured."""
    cut: Tensor
    """(C,) bool: whether BERTScore has read the beginnings only."""
    green: Tensor
    """(C, 2) absolute differences of matched findings and of the GREEN scores of both, NaN where one has none."""


def all_of(parts: Sequence[Seen]) -> Seen:
    """All of several parts, one behind the other."""
    stated, *others = zip(*parts, strict=True)
    return Seen(joined(stated), *(torch.cat(values) for values in others))


class Likeness:
    """How alike two texts are by `LIKENESS` (GREEN, Table 3), as far as the extras that measure it are installed.

    Args:
        device: Where the encoder of BERTScore runs.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._encoder: TextEncoder | None = None
        self._tried = False
        self._lexical = all(find_spec(name) for name in ("sacrebleu", "rouge_score"))
        if not self._lexical:
            logger.warning("BLEU and ROUGE-L of answers need the extra `lexical`: they are left out.")

    def __call__(self, wanted: Sequence[str], texts: Sequence[str], states: bool) -> tuple[Tensor, Tensor]:
        """Both as in `Seen`, (C, 3) and (C,) bool.

        Args:
            wanted: C texts that were written.
            texts: C answers.
            states: Whether BERTScore is measured, which takes an encoder.
        """
        measured = torch.full((len(texts), len(LIKENESS)), torch.nan)
        cut = torch.zeros(len(texts), dtype=torch.bool)
        if self._lexical:
            measured[:, 0] = torch.tensor(words.bleu(wanted, texts))
            measured[:, 1] = torch.tensor(words.rouge(wanted, texts))
        if states and (encoder := self._loaded()):
            known = encoder.encode([*wanted, *texts])
            pairs = [(known[one], known[other]) for one, other in zip(wanted, texts, strict=True)]
            measured[:, 2] = torch.tensor([bertscore(*pair) for pair in pairs])
            cut = torch.tensor([one.cut or other.cut for one, other in pairs])
        return measured, cut

    def _loaded(self) -> TextEncoder | None:
        """The encoder, loaded when it is first wanted; None, and a warning, without the extra."""
        if self._encoder is None and not self._tried:
            self._tried = True
            try:
                self._encoder = TextEncoder(device=self.device)
            except InputError as error:
                logger.warning("BERTScore of answers is left out. %s", error)
        return self._encoder


def green_differences(text: str, wanted: str, criteria: Criteria) -> tuple[float, float]:
    """Absolute differences of matched findings and of the scores of two answers in GREEN's layout; NaN for none."""
    types = error_types(criteria).entries
    ours, theirs = (read_green(one, types) for one in (text, wanted))
    return _apart(ours.matched, theirs.matched), _apart(ours.green, theirs.green)


def _apart(ours: float | None, theirs: float | None) -> float:
    return torch.nan if ours is None or theirs is None else abs(ours - theirs)


def figures_of(seen: Seen, criteria: Criteria) -> dict[str, float | None]:
    """Figures of answers beside their agreement (GREEN, Tables 2 and 3); None where one is not defined.

    Differences of counts are of the sums of significant, of insignificant errors, where the criteria are such twice.
    Means and deviations (divided by n) are of the answers that have the number in question.

    Args:
        seen: C answers.
        criteria: N criteria.
    """
    columns = dict(zip(LIKENESS, seen.likeness.T, strict=True))
    columns |= {"matched_mae": seen.green[:, 0], "green_difference": seen.green[:, 1]}
    columns |= dict.fromkeys(("significant_mae", "insignificant_mae"), torch.empty(0))
    if error_types(criteria).paired:
        values, target, _ = seen.stated
        apart = (values - target.to(values)).reshape(len(values), 2, -1).sum(2).abs()
        columns |= {"significant_mae": apart[:, 0], "insignificant_mae": apart[:, 1]}
    figures: dict[str, float | None] = {}
    for name, values in columns.items():
        kept = values[~values.isnan()].double()
        figures[name] = float(kept.mean()) if len(kept) else None
        figures[f"{name.removesuffix('_mae')}_sd"] = float(kept.std(correction=0)) if len(kept) else None
    return {
        "valid": float(seen.valid.float().mean()),
        "finished": float(seen.finished.float().mean()),
        **figures,
        "bertscore_cut": float(seen.cut.float().mean()),
        "candidates": float(len(seen.valid)),
    }
