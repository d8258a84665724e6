import pytest
import torch

from radreward.models.rollout_engine import sample_tokens


@pytest.mark.parametrize("top_p", [1.0, 0.999999, 0.8])
def test_sample_tokens_frequencies_equal_probabilities(top_p: float) -> None:
    logits = torch.tensor([0.0, 2.0, -1.0, 1.0, -torch.inf])
    shares = torch.linspace(0, 1, 20_001)[:-1]
    tokens, logps = sample_tokens(logits.expand(len(shares), -1), shares, 0.7, top_p)
    expected = (logits / 0.7).softmax(-1)
    ordered, indices = expected.sort(descending=True)
    for index in range(5):  # keep the nucleus
        if ordered[:index].sum() >= top_p:
            expected[indices[index]] = 0.0
    expected = expected / expected.sum()
    assert torch.allclose(torch.bincount(tokens, minlength=5) / len(shares), expected, atol=1e-3)
    assert torch.equal(logps, (logits / 0.7).log_softmax(-1)[tokens])


@pytest.mark.parametrize("top_p", [1.0, 0.9])
def test_sample_tokens_never_samples_excluded_tokens(top_p: float) -> None:
    logits = torch.randn(64, 500, generator=torch.Generator().manual_seed(0))
    logits[:, 250:] = -torch.inf
    share = torch.full((64,), 1 - 2**-24)
    tokens, logps = sample_tokens(logits, share, 1.0, top_p)
    assert bool((tokens < 250).all())
    assert bool(logps.isfinite().all())
