"""Which sentence stands for many."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.systems.green.summary.clusters import QUOTES_PER_CLUSTER, best_cluster_labels, cluster_errors
from radreward.systems.green.summary.summary import embed_sentences
from radreward.systems.green.summary.tsne import MIN_SENTENCES, tsne_layout

SENTENCES = ["a", "b", "c", "d", "e", "f", "g"]
VECTORS = {
    name: np.array(place, dtype=float)
    for name, place in zip(SENTENCES, [(0, 0), (0.1, 0), (0, 0.2), (5, 5), (5.1, 5), (9, 0), (9, 0)], strict=True)
}
errors = st.lists(st.sampled_from(SENTENCES), max_size=12).map(
    lambda names: [(f"r{place}", name) for place, name in enumerate(names)]
)


def silhouette(points: Sequence[np.ndarray], labels: Sequence[int]) -> float:
    """Rousseeuw's definition, point by point."""
    values = []
    for i, label in enumerate(labels):
        by_label: dict[int, list[float]] = {}
        for j, other in enumerate(labels):
            if i != j:
                by_label.setdefault(other, []).append(float(np.linalg.norm(points[i] - points[j])))
        if label not in by_label:
            values.append(0.0)
            continue
        within = float(np.mean(by_label.pop(label)))
        between = min(float(np.mean(apart)) for apart in by_label.values())
        values.append((between - within) / max(within, between))
    return float(np.mean(values))


def test_no_error_has_no_cluster() -> None:
    assert cluster_errors([], {}) == []


def test_one_error_is_one_cluster() -> None:
    [only] = cluster_errors([("r1", "a")], VECTORS)
    assert (only.size, only.fraction, [quote.report_id for quote in only.quotes]) == (1, 1.0, ["r1"])


def test_two_errors_are_one_cluster_whose_first_in_the_alphabet_is_shown() -> None:
    [only] = cluster_errors([("r1", "d"), ("r2", "a")], VECTORS)
    assert (only.size, [quote.sentence for quote in only.quotes]) == (2, ["a", "d"])


def test_equal_sentences_are_one_cluster() -> None:
    [only] = cluster_errors([(f"r{n}", "a") for n in range(7)], VECTORS)
    assert (only.size, only.fraction) == (7, 1.0)
    assert only.quotes == ((only.quotes[0]._replace(sentence="a", num_reports=7, report_id="r0")),)


def test_sentences_that_mean_the_same_are_one_cluster_without_a_warning() -> None:
    [only] = cluster_errors([("r1", "f"), ("r2", "g"), ("r3", "g")], VECTORS)
    assert (only.size, only.quotes[0].sentence, only.quotes[0].report_id) == (3, "g", "r2")


def test_fewer_different_sentences_than_clusters_could_be() -> None:
    found = cluster_errors([("r1", "a"), ("r2", "d"), ("r3", "d"), ("r4", "a"), ("r5", "d")], VECTORS)
    assert [(cluster.size, cluster.fraction) for cluster in found] == [(3, 0.6), (2, 0.4)]


def test_what_is_said_in_other_words_is_put_together() -> None:
    found = cluster_errors([(f"r{n}", name) for n, name in enumerate("abcde")], VECTORS)
    assert [{quote.sentence for quote in cluster.quotes} for cluster in found] == [set("abc"), set("de")]
    assert found[0].quotes[0].sentence == "a"  # nearest the mean of the three


def test_saying_a_thing_often_does_not_make_it_a_group_of_its_own() -> None:
    said = [(f"r{n}", name) for n, name in enumerate("aabbccddee")]
    assert [cluster.size for cluster in cluster_errors(said, VECTORS)] == [6, 4]


def test_the_real_sentence_nearest_the_centre_is_shown() -> None:
    vectors = {"left": np.array([0.0]), "middle": np.array([1.0]), "right": np.array([2.2]), "far": np.array([90.0])}
    first, *_ = cluster_errors([("1", "right"), ("2", "left"), ("3", "middle"), ("4", "far")], vectors)
    assert [quote.sentence for quote in first.quotes] == ["middle", "left", "right"]


@given(errors, st.integers(0, 3))
@settings(max_examples=30)
def test_every_error_is_in_one_cluster_and_the_largest_comes_first(said: list[tuple[str, str]], seed: int) -> None:
    found = cluster_errors(said, VECTORS, seed)
    assert sum(cluster.size for cluster in found) == len(said)
    assert [cluster.size for cluster in found] == sorted((cluster.size for cluster in found), reverse=True)
    assert sum(cluster.fraction for cluster in found) == pytest.approx(1.0 if said else 0.0)
    assert len(found) <= max(1, min(10, len(said) - 1, len({sentence for _, sentence in said})))
    for cluster in found:
        assert 1 <= len(cluster.quotes) <= QUOTES_PER_CLUSTER
        for quote in cluster.quotes:
            assert quote.num_reports == sum(sentence == quote.sentence for _, sentence in said)
            assert quote.report_id == next(id_ for id_, sentence in said if sentence == quote.sentence)
    assert found == cluster_errors(said, VECTORS, seed)
    backwards = cluster_errors(said[::-1], VECTORS, seed)
    assert [(cluster.size, cluster.quotes[0].sentence) for cluster in backwards] == [
        (cluster.size, cluster.quotes[0].sentence) for cluster in found
    ]


def test_k_is_the_one_of_the_highest_silhouette() -> None:
    rng = np.random.default_rng(5)
    centres = np.array([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0]])
    points = np.concatenate([centre + 0.3 * rng.normal(size=(6, 2)) for centre in centres])
    labels = best_cluster_labels(points, np.ones(len(points)))
    assert [len(set(labels[begin : begin + 6].tolist())) for begin in (0, 6, 12)] == [1, 1, 1]
    best = silhouette(list(points), labels.tolist())
    for one, other in combinations(range(3), 2):  # two of the three as one
        merged = [min(one, other) if label in (one, other) else label for label in labels.tolist()]
        assert silhouette(list(points), merged) < best
    split = labels.copy()
    split[0] = 3
    assert silhouette(list(points), split.tolist()) < best


@pytest.mark.parametrize("count", range(MIN_SENTENCES))
def test_too_few_errors_are_not_laid_out_and_it_is_told(count: int) -> None:
    found = tsne_layout(SENTENCES[:count] * 2, VECTORS)
    assert found.positions == {}
    assert found.failure is not None
    assert f"there are {count or 'none'}" in found.failure


@pytest.mark.parametrize("count", [MIN_SENTENCES, 7])
def test_few_errors_are_laid_out_in_the_unit_square_the_same_every_time(count: int) -> None:
    found = tsne_layout(SENTENCES[:count] * 2, VECTORS, seed=1)
    assert found.failure is None
    assert sorted(found.positions) == SENTENCES[:count]
    assert found.perplexity == pytest.approx((count - 1) / 3)
    every = np.array(list(found.positions.values()))
    assert every.min() >= 0
    assert every.max() <= 1
    assert np.ptp(every, axis=0).max() == pytest.approx(1, abs=1e-3)
    assert found == tsne_layout(SENTENCES[:count][::-1], VECTORS, seed=1)


def test_errors_that_mean_the_same_are_not_laid_out() -> None:
    found = tsne_layout(SENTENCES, dict.fromkeys(SENTENCES, np.ones(3)))
    assert found.failure == "all errors in words mean the same to the encoder"


def test_of_many_sentences_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.systems.green.summary.tsne.MAX_POINTS", 5)
    found = tsne_layout(SENTENCES, VECTORS)
    assert (len(found.positions), found.num_sentences) == (5, 7)
    assert found == tsne_layout(SENTENCES, VECTORS)


def test_like_errors_are_near_and_long_ones_told() -> None:
    near, like, far = "The nodule is left out", "A nodule is not mentioned", "Heart size is overstated"
    vectors, cut = embed_sentences([near, like, far, "long " * 300, near])
    assert len(vectors) == 4
    assert cut == 1
    assert vectors[near] @ vectors[like] > vectors[near] @ vectors[far]
    assert float(np.linalg.norm(vectors[near])) == pytest.approx(1, abs=1e-5)
