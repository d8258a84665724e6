"""Conformance tests of all scorers of the registry that need no model from elsewhere, and of a user's metric."""

from collections.abc import Iterator
from functools import lru_cache, partial
from itertools import cycle

from radreward.scorers import SCORERS, load
from radreward.scorers.base import Scorer
from radreward.scorers.custom import CustomScorer
from radreward.testing import ScorerConformance

NEEDS_A_MODEL = {
    *("radgraph", "radcliq-v0", "radcliq-v1", "g-rad", "chexprompt", "fineradscore", "green-official", "radeval"),
}
"""Scorers whose models or packages are not on this machine; their own tests use small ones."""
ARGUMENTS = {"chexbert": "chexbert:embedded"}
# A benign finding weighs nothing: a learned quality moves a little both ways; docs/reliability.md has a rate.
SETTINGS: dict[str, dict[str, tuple[str, ...]]] = {
    "er2score": {"false_findings": ScorerConformance.false_findings[:-1]},
    "temporal-f1": {  # it compares changes only
        "references": (
            "Worsening left effusion. Stable nodule.",
            "The consolidation has improved. Cardiomegaly is unchanged.",
            "New right pneumothorax. No edema.",
        ),
        "candidates": (
            "The left effusion has worsened. Stable nodule.",
            "The consolidation has improved. No edema.",
            "Stable right pneumothorax. Worsening edema.",
        ),
    },
}


@lru_cache(maxsize=1)  # models of earlier classes are dropped
def two_scorers(name: str) -> Iterator[Scorer]:
    """Return two scorers in turn: a test that compares two gets two, and not every test loads the model again."""
    return cycle(load(name) for _ in range(2))


def next_scorer(name: str) -> Scorer:
    return next(two_scorers(name))


for _name in sorted(SCORERS.keys() - NEEDS_A_MODEL):
    _load = partial(next_scorer, ARGUMENTS.get(_name, _name))
    _class = f"Test_{_name.replace('-', '_')}"
    globals()[_class] = type(_class, (ScorerConformance,), {"scorer": staticmethod(_load), **SETTINGS.get(_name, {})})


class TestCustom(ScorerConformance):
    can_save = False

    @staticmethod
    def scorer() -> Scorer:
        return CustomScorer(lambda reference, candidate: len(set(reference.split()) & set(candidate.split())))
