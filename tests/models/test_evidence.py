"""Evidence per token against loops, and what follows from its form."""

import itertools
from typing import Any, get_args

import pytest
import torch
from torch.nn import functional as F

from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.packing import pack, pack_paths
from radreward.errors import InputError
from radreward.models import Backbone, EvidenceRewardModel, build_reward_model
from radreward.models.evidence import WINDOW, TokenComparison
from radreward.models.reward_model import ArchitectureName
from radreward.types import Side, TokenPath

PATHS = [[[1, 2], [3]], [[1, 2], [4, 5, 0]], [[*range(1, 14), 0], [*range(20, 32), 0]]]
PACKED = pack(PATHS)
SIDES = [((0, 2), (2, 3)), ((0, 2), (3, 6)), ((6, 20), (20, 33))]
"""First and last token of each candidate's reference and own segment."""


STATEMENTS = [(3, 5, 2), (4,)]
"""Lengths of the statements of two candidates of one reference of 6 tokens."""


def _comparison(predicts_findings: bool = False) -> TokenComparison:
    torch.manual_seed(0)
    comparison = TokenComparison(8, 3, predicts_findings, comparison_size=4, heads=2)
    for parameter in comparison.parameters():
        if parameter.ndim > 1 and parameter is not comparison.log_sharpness:
            torch.nn.init.normal_(parameter)
    return comparison


def _loop(
    comparison: TokenComparison,
    own: torch.Tensor,
    other: torch.Tensor,
    out: torch.nn.Linear,
    factors: torch.Tensor | None = None,
) -> torch.Tensor:
    """Return the (S, K) evidence of (S, H) states of one side, token by token.

    `factors` are those of the other side's tokens in the alignment.
    """
    factors = torch.ones(len(other)) if factors is None else factors
    compared = []
    for state in own:
        parts = []
        for head in range(2):
            part = slice(2 * head, 2 * head + 2)
            key = comparison.key(state)[part]
            cosine = torch.stack([F.cosine_similarity(key, comparison.key(t)[part], dim=0) for t in other])
            weights = factors * (cosine * comparison.log_sharpness[head, 0, 0].exp()).exp()
            weights = weights / weights.sum()
            parts.append(sum(w * comparison.value(t)[part] for w, t in zip(weights, other, strict=True)))
        x, y = comparison.value(state), torch.cat(parts)
        compared.append(F.gelu(comparison.compare(torch.cat([x, y, (x - y).abs(), x * y]))))
    logits = []
    for index, x in enumerate(compared):
        joined = comparison.neighbours.bias.clone()  # type: ignore[union-attr]
        for offset in range(WINDOW):
            place = index + offset - WINDOW // 2
            if 0 <= place < len(compared):
                joined = joined + comparison.neighbours.weight[:, 0, offset] * compared[place]
        logits.append(out(x + F.gelu(comparison.mix(joined))))
    stacked, values = torch.stack(logits), torch.zeros(len(logits), 3)
    for index in range(len(logits)):
        first = max(0, index - WINDOW // 2)
        largest, peak = stacked[first : index + WINDOW // 2 + 1].max(0)
        for kind in range(3):
            values[first + peak[kind], kind] += F.softplus(largest[kind]) / WINDOW
    return values


def test_evidence_equals_a_loop() -> None:
    comparison, hidden = _comparison(), torch.randn(len(PACKED.input_ids), 8)
    evidence = comparison(hidden, PACKED)
    for row, (reference, candidate) in enumerate(SIDES):
        texts = hidden[slice(*reference)], hidden[slice(*candidate)]
        expected = (
            _loop(comparison, texts[1], texts[0], comparison.candidate_evidence),
            _loop(comparison, texts[0], texts[1], comparison.reference_evidence),
        )
        for side, values in zip(evidence, expected, strict=True):
            torch.testing.assert_close(side.values[row, : len(values)], values)
            assert not side.values[row, len(values) :].any()
            assert int(side.mask[row].sum()) == len(values)


@pytest.mark.parametrize("predicts_findings", [False, True])
def test_evidence_of_separate_statements_equals_a_loop(predicts_findings: bool) -> None:
    comparison = _comparison(predicts_findings)
    own = [
        tuple(tuple(range(9 * row + start, 9 * row + start + n)) for start, n in enumerate(lengths))
        for row, lengths in enumerate(STATEMENTS)
    ]
    packed = pack_paths([TokenPath(((0,) * 6,), nodes) for nodes in own])
    hidden = torch.randn(len(packed.input_ids), 8)
    evidence = comparison(hidden, packed)
    reference, *rest = torch.split(hidden, list(packed.node_lengths))
    for row, statements in enumerate((rest[:3], rest[3:])):
        parts = [_loop(comparison, states, reference, comparison.candidate_evidence) for states in statements]
        factors = torch.ones(sum(map(len, statements)))
        if predicts_findings:
            sums = [part.sum(0) for part in parts]
            ratios = torch.stack([(part[1] + 0.005) / (part[2] / 4 + 0.005) for part in sums]).clamp_max(1)
            factors = (ratios**4).repeat_interleave(torch.tensor([*map(len, statements)]))
        expected = torch.cat(parts)
        torch.testing.assert_close(evidence.candidate.values[row, : len(expected)], expected)
        omissions = _loop(comparison, reference, torch.cat(statements), comparison.reference_evidence, factors)
        torch.testing.assert_close(evidence.reference.values[row], omissions)


def test_unrelated_statement_explains_and_matches_nothing() -> None:
    comparison = _comparison(predicts_findings=True)
    own = ((1, 2, 3), (4, 5, 6, 7), (8, 9))
    hidden = torch.randn(15, 8)
    without, within, flagged = (
        comparison(states, pack_paths([path]))
        for states, path in (
            (torch.cat([hidden[:9], hidden[13:]]), TokenPath(((0,) * 6,), (own[0], own[2]))),
            (hidden, TokenPath(((0,) * 6,), own)),
            (hidden, TokenPath(((0,) * 6,), own, (False, True, False))),
        )
    )
    assert (within.reference.values - without.reference.values).abs().max() > 1e-3
    torch.testing.assert_close(flagged.reference.values, without.reference.values)
    statement, matched, wrong = flagged.candidate.values[0, 3:7].T
    assert not matched.any()
    torch.testing.assert_close(statement, within.candidate.values[0, 3:7, 0])
    torch.testing.assert_close(wrong, within.candidate.values[0, 3:7, 1:].sum(-1))
    others = [0, 1, 2, 7, 8]
    torch.testing.assert_close(flagged.candidate.values[:, others], within.candidate.values[:, others])


def test_candidate_of_unrelated_statements_only_is_finite() -> None:
    packed = pack_paths([TokenPath(((0,) * 6,), ((1, 2), (3,)), (True, True))])
    evidence = _comparison(predicts_findings=True)(torch.randn(9, 8), packed)
    assert all(side.values.isfinite().all() for side in evidence)


def test_counterpart_is_the_equal_token() -> None:
    comparison = _comparison()
    hidden = 5 * torch.randn(6, 8)
    packed = pack([[[1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]]])
    evidence = comparison(torch.cat([hidden, hidden.flip(0)]), packed)
    assert evidence.candidate.counterparts.tolist() == evidence.reference.counterparts.tolist() == [[5, 4, 3, 2, 1, 0]]


def test_row_of_evidence_has_no_padding() -> None:
    evidence = _comparison()(torch.randn(len(PACKED.input_ids), 8), PACKED)
    for row, (reference, candidate) in enumerate(SIDES):
        own = evidence.row(row)
        for side, (first, end) in ((Side.REFERENCE, reference), (Side.CANDIDATE, candidate)):
            assert own[side].values.shape == (end - first, 3)
            assert own[side].mask.all()
        torch.testing.assert_close(own[Side.CANDIDATE].values.sum(0), evidence.candidate.values[row].sum(0))


def test_evidence_is_never_negative_and_rewards_are_minus_its_weighted_sum() -> None:
    torch.manual_seed(0)
    criteria = RadCliQSignificanceCriteria()
    model = EvidenceRewardModel(Backbone("tiny-bert", lora=None), criteria, predicts_findings=True)
    rewards, finding_weights, evidence = model(PACKED)
    assert (rewards < 0).all()
    assert (finding_weights > 0).all()
    sums = evidence.candidate.values.sum(1) + evidence.reference.values.sum(1)
    torch.testing.assert_close(rewards, -sums[:, :12] * criteria.weights)
    torch.testing.assert_close(finding_weights[:, 0], sums[:, 12])
    for row, expected in enumerate(finding_weights[:, 1].tolist()):  # what is wrong counts where errors show
        tokens = [*evidence.candidate.values[row].tolist(), *evidence.reference.values[row].tolist()]
        supports = [max(values[13], sum(values[:12])) for values in tokens]
        supported = [values[13] * s / (s + 0.1) for values, s in zip(tokens, supports, strict=True)]
        assert expected == pytest.approx(sum(supported), rel=1e-4)


def test_outputs_have_only_what_a_model_has() -> None:
    criteria, backbone = RadCliQSignificanceCriteria(), Backbone("tiny-bert", lora=None)
    for architecture, predicts_findings in itertools.product(get_args(ArchitectureName), (False, True)):
        model = build_reward_model(backbone, criteria, architecture, predicts_findings=predicts_findings)
        output = model(PACKED)
        assert model.settings["architecture"] == architecture
        assert model.predicts_findings == (output.finding_weights is not None) == predicts_findings
        assert (output.evidence is not None) == (architecture == "evidence")
        if output.evidence is not None:
            assert output.evidence.candidate.values.shape[-1] == 12 + 2 * predicts_findings


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"head_hidden_size": 8}, "`head_hidden_size` 8"), ({"pooling": "last"}, "`pooling` 'last'")],
)
def test_evidence_with_a_setting_of_pooled_models_raises(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"Expected `architecture` to be pooled with {message} but got 'evidence'"):
        build_reward_model(Backbone("tiny-bert"), RadCliQSignificanceCriteria(), "evidence", **settings)


def test_comparison_is_small_for_the_embedded_backbone() -> None:
    assert 2 * sum(parameter.numel() for parameter in TokenComparison(384, 14).parameters()) < 500_000
