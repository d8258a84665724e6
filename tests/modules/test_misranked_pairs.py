"""The most wrongly ranked pairs as text."""

import markdown
import torch

from radreward.criteria import Criteria, Criterion
from radreward.data.packing import pack
from radreward.modules.misranked_pairs import MAX_PAIRS, format_misranked_pairs, misranked_pairs, most_misranked
from radreward.types import RewardTargets, RewardTrainingBatch

CRITERIA = Criteria("made up", [Criterion("missed *finding*", "M."), Criterion("other", "O.", weight=2)])
HOSTILE = "<script>alert(1)</script>\n# Title\n</code></pre><img src=x>"


def batch(errors: list[list[float]], pairs: list[list[int]], name: str = "candidate") -> RewardTrainingBatch:
    """Return a batch of one group."""
    rewards = CRITERIA.target_rewards(torch.tensor(errors))
    targets = RewardTargets(
        rewards, torch.zeros(len(errors), dtype=torch.int64), torch.tensor(pairs), torch.full((len(errors), 2), 0.0)
    )
    texts = tuple((f"Reference. {HOSTILE}", f"{name} {index}. {HOSTILE}") for index in range(len(errors)))
    return RewardTrainingBatch(pack([[[1], [2]]] * len(errors), "tree"), targets, ("g",), 0, texts)


def test_misranked_pairs_are_those_of_a_loop_over_all_pairs() -> None:
    torch.manual_seed(0)
    errors = torch.randint(0, 4, (8, 2)).float()
    totals = -(errors * CRITERIA.weights).sum(1)
    pairs = [[a, b] for a in range(8) for b in range(8) if totals[a] > totals[b]]
    rewards = torch.randn(8, 2)
    expected = sorted((float(rewards[a].sum() - rewards[b].sum()), a, b) for a, b in pairs)
    found = misranked_pairs(batch(errors.tolist(), pairs), rewards, CRITERIA)
    assert len(found) == MAX_PAIRS
    for entry, (margin, accepted, rejected) in zip(found, expected, strict=False):
        assert abs(entry.margin - margin) < 1e-5
        assert entry.accepted.text.startswith(f"candidate {accepted}.")
        assert entry.rejected.errors == tuple(errors[rejected].tolist())


def test_most_misranked_joins_batches() -> None:
    parts = [
        misranked_pairs(batch([[0, 0], [1, 0]], [[0, 1]], name), torch.tensor([[-gap, 0.0], [0, 0]]), CRITERIA)
        for name, gap in (("near", 1.0), ("right", -1.0), ("far", 3.0))
    ]
    assert [entry.accepted.text.split()[0] for entry in most_misranked(parts)] == ["far", "near"]


def test_texts_of_reports_have_no_effect_as_markup() -> None:
    pairs = misranked_pairs(batch([[0, 0], [2, 0]], [[0, 1]]), torch.tensor([[-2.5, 0], [0, 0]]), CRITERIA)
    text = format_misranked_pairs(pairs, CRITERIA)
    html = markdown.markdown(text, extensions=["tables", "fenced_code"])  # as TensorBoard does before it sanitizes
    assert "by 2.50" in html
    assert "Better candidate: no error" in html
    assert "Worse candidate: missed *finding* 2" in html
    assert not {"<script", "<img", "<h1", "<em"} & {tag for tag in ("<script", "<img", "<h1", "<em") if tag in html}
    assert html.count("&lt;script&gt;alert(1)") == 3
    assert format_misranked_pairs([], CRITERIA) == "No validation pair is ranked wrongly."
