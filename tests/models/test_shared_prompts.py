import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.models.node_attention import attention
from radreward.models.shared_prompts import SharedPrompts

LAYERS, HEADS, SIZE, PROMPT, OWN = 2, 4, 8, 5, 3


@st.composite
def continuations(draw: st.DrawFn) -> list[int]:
    """Return the prompt of each completion."""
    counts = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    return [prompt for prompt, count in enumerate(counts) for _ in range(count)]


@given(
    prompts=continuations(),
    heads_per_key=st.sampled_from([1, 2, 4]),
    softcap=st.sampled_from([None, 2.0]),
    scaling=st.sampled_from([None, 0.3]),
    data=st.data(),
)
def test_attention_equals_that_of_copied_prompts_also_after_completions_ended(
    prompts: list[int], heads_per_key: int, softcap: float | None, scaling: float | None, data: st.DataObject
) -> None:
    generator = torch.Generator().manual_seed(len(prompts))
    num_prompts, rows, key_heads = prompts[-1] + 1, len(prompts), HEADS // heads_per_key
    layers = torch.randn(LAYERS, 2, num_prompts, key_heads, PROMPT, SIZE, generator=generator)
    query = torch.randn(rows, HEADS, 1, SIZE, generator=generator)
    own_keys, own_values = torch.randn(2, rows, key_heads, OWN, SIZE, generator=generator)
    hidden = torch.rand(rows, 1, 1, PROMPT + OWN, generator=generator) < 0.3
    hidden[..., -1] = False  # a token sees itself
    mask = torch.zeros(hidden.shape).masked_fill(hidden, torch.finfo(torch.float32).min)
    growing = data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows).filter(any))

    shared = SharedPrompts.create(tuple((keys, values) for keys, values in layers), tuple(prompts))
    for kept, state in ((torch.ones(rows, dtype=torch.bool), shared), (torch.tensor(growing), shared.select(growing))):
        for layer in range(LAYERS):
            keys, values = (
                torch.cat([layers[layer, part][prompts], own], 2) for part, own in enumerate((own_keys, own_values))
            )
            expected = attention(query[kept], keys[kept], values[kept], mask[kept], scaling=scaling, softcap=softcap)
            actual = state.attend(layer, query[kept], own_keys[kept], own_values[kept], mask[kept], scaling, softcap)
            torch.testing.assert_close(actual, expected, atol=1e-5, rtol=1e-4)


def test_keys_of_a_prompt_without_completions_are_dropped() -> None:
    keys = torch.arange(3.0).view(3, 1, 1, 1)
    shared = SharedPrompts.create(((keys, keys),), (0, 0, 1, 2))

    kept = shared.select([False, True, False, True])

    assert kept.prompts == (0, 1)
    assert kept.layers[0][0].flatten().tolist() == [0, 2]
    assert kept.slots.tolist() == [[0], [1]]


@pytest.mark.parametrize("growing", [[True, True, False], [True, False, True]])
def test_keys_are_not_copied_while_each_prompt_has_completions(growing: list[bool]) -> None:
    keys = torch.zeros(2, 1, 1, 1)
    shared = SharedPrompts.create(((keys, keys),), (0, 0, 1) if growing[-1] else (0, 1, 1))

    assert shared.select(growing).layers[0][0] is keys
