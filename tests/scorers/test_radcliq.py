"""Tests of RadCliQ against published values."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.scorers.entity_f1 import EntityF1
from radreward.scorers.radcliq import COMPONENTS, PUBLISHED_WEIGHTS, RadCliQBLEU2, RadCliQScorer, RadCliQVersion
from radreward.scorers.stateless import StatelessScorer
from radreward.testing import ScorerConformance
from radreward.types import Scores


class ConstantScorer(StatelessScorer):
    """A component with a constant value."""

    config_name = "given.json"

    def __init__(self, value: float, status: str = "ok") -> None:
        super().__init__()
        self.value, self.status = value, status
        self.total_range = (0.0, 1.0)

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> list[float]:
        return [self.value] * len(references)

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        return Scores(torch.full((len(references),), self.value), None, None, (self.status,) * len(references))


PUBLISHED: list[tuple[tuple[float, ...], float, float]] = [
    ((1, 1, 1, 1), -0.24213342294409346, -1.4406902828047017),
    ((0, 0, 0, 0), 5.516160804054495, 2.4501430833271307),
    ((0.5, 0.5, 0.5, 0.5), 2.637013690555201, 0.5047264002612145),
    ((0.5, 1, 1, 1), 0.5523836938590196, -0.818082117695542),
]


@pytest.mark.parametrize(("values", "v0", "v1"), PUBLISHED)
def test_radcliq_matches_published_values(values: tuple[float, ...], v0: float, v1: float) -> None:
    expected: dict[RadCliQVersion, float] = {"v0": v0, "v1": v1}
    for version, expected_total in expected.items():
        assert PUBLISHED_WEIGHTS[version](values) == pytest.approx(expected_total, abs=1e-12)
        components = dict(zip(COMPONENTS, map(ConstantScorer, values), strict=True))
        scores = RadCliQScorer(version, components).score(["a", ""], ["b", "c"])
        assert scores.total[0].item() == pytest.approx(expected_total, abs=1e-6)
        assert scores.sub_scores is not None
        assert scores.sub_scores[0].tolist() == list(values)
        assert scores.status == ("ok", "empty reference")


def test_unscored_component_gives_no_score() -> None:
    components = {name: ConstantScorer(0.5) for name in COMPONENTS}
    for name, status, expected in (
        ("bertscore", "over the limit: of tokens", "bertscore: over the limit: of tokens"),
        ("bleu_2", "truncated", "truncated"),
    ):
        component = ConstantScorer(float("nan") if name == "bertscore" else 0.5, status)
        assert RadCliQScorer("v1", {**components, name: component}).score(["a"], ["b"]).status == (expected,)


def test_total_range_follows_components() -> None:
    components = {name: ConstantScorer(0.5) for name in COMPONENTS}
    low, high = RadCliQScorer("v1", components).total_range
    assert (low, high) == pytest.approx((-1.4406902828, 2.4501430833), abs=1e-9)
    unbounded = ConstantScorer(0.5)
    unbounded.total_range = (None, 1.0)
    low, high = RadCliQScorer("v1", {**components, "chexbert": unbounded}).total_range
    assert low == pytest.approx(-1.4406902828, abs=1e-9)
    assert high is None


def test_invalid_settings_raise(tmp_path: Path) -> None:
    components: dict[str, Scorer] = {name: ConstantScorer(0.5) for name in COMPONENTS}
    with pytest.raises(ValueError, match="Expected `version` to be v0 or v1 but got 'v2'"):
        RadCliQScorer("v2", components)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="Expected components radgraph, bertscore, chexbert, bleu_2 but got radgraph"):
        RadCliQScorer("v1", {"radgraph": ConstantScorer(0.5)})
    with pytest.raises(ValueError, match="Expected higher to be better for every component but got 'bleu_2'"):
        RadCliQScorer("v1", {**components, "bleu_2": RadCliQScorer("v1", components)})
    with pytest.raises(InputError, match="radcliq-v1: Expected the folder of CheXbert's weights after a colon"):
        load("radcliq-v1")
    (tmp_path / "radcliq.json").write_text('{"format": 1, "version": "v3"}')
    with pytest.raises(InputError, match=r"radcliq\.json: Expected `version` to be v0 or v1 but got 'v3'"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("a b c d.", "A b c d .", 1.0),
        ("a b c d", "a b d c", (4 / 4 * 1 / 3) ** 0.5),
        ("a b", "c d", 0.0),  # no common word
        ("a b c d e f", "a b c", (1 * 1) ** 0.5 * 2.718281828459045 ** (1 - 6 / 3)),
        ("a b\nc", "a b c", 1.0),  # white space is normalized before
    ],
)
def test_radcliq_bleu_2_matches_formula(reference: str, candidate: str, expected: float) -> None:
    assert RadCliQBLEU2().score([reference], [candidate]).total.item() == pytest.approx(expected, abs=1e-6)


class TestRadCliQ(ScorerConformance):
    """Conformance test with components of the package."""

    @staticmethod
    def scorer() -> Scorer:
        components = EntityF1(), BERTScore(), CheXbertSimilarity(), RadCliQBLEU2()
        return RadCliQScorer("v1", dict(zip(COMPONENTS, components, strict=True)))
