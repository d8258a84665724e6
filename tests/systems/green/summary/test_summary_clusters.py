"""Clusters, representative sentences, t-SNE layout and embeddings of error descriptions."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.systems.green.summary.clusters import QUOTES_PER_CLUSTER, Quote, best_cluster_labels, cluster_errors
from radreward.systems.green.summary.summary import embed_sentences
from radreward.systems.green.summary.tsne import MIN_SENTENCES, tsne_layout

SENTENCES = ["a", "b", "c", "d", "e", "f", "g"]
EMBEDDINGS = {
    name: np.array(position, dtype=float)
    for name, position in zip(SENTENCES, [(0, 0), (0.1, 0), (0, 0.2), (5, 5), (5.1, 5), (9, 0), (9, 0)], strict=True)
}
descriptions_lists = st.lists(st.sampled_from(SENTENCES), max_size=12).map(
    lambda names: [(f"r{index}", name) for index, name in enumerate(names)]
)


def mean_silhouette(points: Sequence[np.ndarray], labels: Sequence[int]) -> float:
    """Return the mean silhouette by Rousseeuw's definition, point by point."""
    values = []
    for i, label in enumerate(labels):
        distances: dict[int, list[float]] = {}
        for j, other in enumerate(labels):
            if i != j:
                distances.setdefault(other, []).append(float(np.linalg.norm(points[i] - points[j])))
        if label not in distances:
            values.append(0.0)
            continue
        within = float(np.mean(distances.pop(label)))
        between = min(float(np.mean(entry)) for entry in distances.values())
        values.append((between - within) / max(within, between))
    return float(np.mean(values))


def test_cluster_errors_without_errors_returns_no_cluster() -> None:
    assert cluster_errors([], {}) == []


def test_cluster_errors_single_error_is_one_cluster() -> None:
    [cluster] = cluster_errors([("r1", "a")], EMBEDDINGS)
    assert (cluster.size, cluster.fraction, [quote.report_id for quote in cluster.quotes]) == (1, 1.0, ["r1"])


def test_cluster_errors_two_errors_are_quoted_alphabetically() -> None:
    [cluster] = cluster_errors([("r1", "d"), ("r2", "a")], EMBEDDINGS)
    assert (cluster.size, [quote.sentence for quote in cluster.quotes]) == (2, ["a", "d"])


def test_cluster_errors_equal_sentences_are_one_cluster() -> None:
    [cluster] = cluster_errors([(f"r{n}", "a") for n in range(7)], EMBEDDINGS)
    assert (cluster.size, cluster.fraction) == (7, 1.0)
    assert cluster.quotes == (Quote("a", 7, "r0"),)


def test_cluster_errors_equal_embeddings_are_one_cluster() -> None:
    [cluster] = cluster_errors([("r1", "f"), ("r2", "g"), ("r3", "g")], EMBEDDINGS)
    assert (cluster.size, cluster.quotes[0].sentence, cluster.quotes[0].report_id) == (3, "g", "r2")


def test_cluster_errors_fewer_sentences_than_max_clusters() -> None:
    clusters = cluster_errors([("r1", "a"), ("r2", "d"), ("r3", "d"), ("r4", "a"), ("r5", "d")], EMBEDDINGS)
    assert [(cluster.size, cluster.fraction) for cluster in clusters] == [(3, 0.6), (2, 0.4)]


def test_cluster_errors_groups_similar_sentences() -> None:
    clusters = cluster_errors([(f"r{n}", name) for n, name in enumerate("abcde")], EMBEDDINGS)
    assert [{quote.sentence for quote in cluster.quotes} for cluster in clusters] == [set("abc"), set("de")]
    assert clusters[0].quotes[0].sentence == "a"


def test_cluster_errors_frequent_sentence_is_no_separate_cluster() -> None:
    descriptions = [(f"r{n}", name) for n, name in enumerate("aabbccddee")]
    assert [cluster.size for cluster in cluster_errors(descriptions, EMBEDDINGS)] == [6, 4]


def test_cluster_errors_quotes_the_sentence_closest_to_the_center() -> None:
    embeddings = {name: np.array([x]) for name, x in (("left", 0.0), ("middle", 1.0), ("right", 2.2), ("far", 90.0))}
    first, *_ = cluster_errors([("1", "right"), ("2", "left"), ("3", "middle"), ("4", "far")], embeddings)
    assert [quote.sentence for quote in first.quotes] == ["middle", "left", "right"]


@given(descriptions_lists, st.integers(0, 3))
@settings(max_examples=30)
def test_cluster_errors_assigns_every_error_once(descriptions: list[tuple[str, str]], seed: int) -> None:
    clusters = cluster_errors(descriptions, EMBEDDINGS, seed)
    assert sum(cluster.size for cluster in clusters) == len(descriptions)
    assert [cluster.size for cluster in clusters] == sorted((cluster.size for cluster in clusters), reverse=True)
    assert sum(cluster.fraction for cluster in clusters) == pytest.approx(1.0 if descriptions else 0.0)
    assert len(clusters) <= max(1, min(10, len(descriptions) - 1, len({text for _, text in descriptions})))
    for cluster in clusters:
        assert 1 <= len(cluster.quotes) <= QUOTES_PER_CLUSTER
        for quote in cluster.quotes:
            assert quote.frequency == sum(text == quote.sentence for _, text in descriptions)
            assert quote.report_id == next(report for report, text in descriptions if text == quote.sentence)
    assert clusters == cluster_errors(descriptions, EMBEDDINGS, seed)
    reversed_clusters = cluster_errors(descriptions[::-1], EMBEDDINGS, seed)
    assert [(cluster.size, cluster.quotes[0].sentence) for cluster in reversed_clusters] == [
        (cluster.size, cluster.quotes[0].sentence) for cluster in clusters
    ]


def test_best_cluster_labels_maximize_the_silhouette() -> None:
    rng = np.random.default_rng(5)
    centers = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    points = np.concatenate([center + 0.3 * rng.normal(size=(6, 2)) for center in centers])
    labels = best_cluster_labels(points, np.ones(len(points)))
    assert [len(set(labels[start : start + 6].tolist())) for start in (0, 6, 12)] == [1, 1, 1]
    best = mean_silhouette(list(points), labels.tolist())
    for first, second in combinations(range(3), 2):
        merged = [min(first, second) if label in (first, second) else label for label in labels.tolist()]
        assert mean_silhouette(list(points), merged) < best
    split = labels.copy()
    split[0] = 3
    assert mean_silhouette(list(points), split.tolist()) < best


@pytest.mark.parametrize("count", range(MIN_SENTENCES))
def test_tsne_layout_too_few_sentences_states_the_reason(count: int) -> None:
    layout = tsne_layout(SENTENCES[:count] * 2, EMBEDDINGS)
    assert layout.positions == {}
    assert layout.failure is not None
    assert f"there are {count}" in layout.failure


@pytest.mark.parametrize("count", [MIN_SENTENCES, 7])
def test_tsne_layout_is_reproducible_in_the_unit_square(count: int) -> None:
    layout = tsne_layout(SENTENCES[:count] * 2, EMBEDDINGS, seed=1)
    assert layout.failure is None
    assert sorted(layout.positions) == SENTENCES[:count]
    assert layout.perplexity == pytest.approx((count - 1) / 3)
    positions = np.array(list(layout.positions.values()))
    assert positions.min() >= 0
    assert positions.max() <= 1
    assert np.ptp(positions, axis=0).max() == pytest.approx(1, abs=1e-3)
    assert layout == tsne_layout(SENTENCES[:count][::-1], EMBEDDINGS, seed=1)


def test_tsne_layout_equal_embeddings_states_the_reason() -> None:
    layout = tsne_layout(SENTENCES, dict.fromkeys(SENTENCES, np.ones(3)))
    assert layout.failure == "all error descriptions have the same embedding"


def test_tsne_layout_of_many_sentences_uses_a_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.systems.green.summary.tsne.MAX_POINTS", 5)
    layout = tsne_layout(SENTENCES, EMBEDDINGS)
    assert (len(layout.positions), layout.num_sentences) == (5, 7)
    assert layout == tsne_layout(SENTENCES, EMBEDDINGS)


def test_embed_sentences_similar_meanings_are_close() -> None:
    sentence, similar, other = "The nodule is left out", "A nodule is not mentioned", "Heart size is overstated"
    embeddings, num_truncated = embed_sentences([sentence, similar, other, "long " * 600, sentence])
    assert len(embeddings) == 4
    assert num_truncated == 1
    assert embeddings[sentence] @ embeddings[similar] > embeddings[sentence] @ embeddings[other]
    assert float(np.linalg.norm(embeddings[sentence])) == pytest.approx(1, abs=1e-5)
