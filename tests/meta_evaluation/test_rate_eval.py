import csv
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch
from scipy.stats import kendalltau, pearsonr, spearmanr

from radreward.errors import InputError
from radreward.meta_evaluation.rate_eval import (
    RatedText,
    rating_metrics,
    read_paragraphs,
    read_rated_sentences,
    read_triads,
    triad_metrics,
)
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.synthesis.triads import Triad
from radreward.types import Scores


class Overlap(Scorer):
    """Share of the reference's words that the candidate has."""

    def __init__(self, higher: bool = True) -> None:
        self.higher_is_better = higher

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        shares = [
            len(set(a.split()) & set(b.split())) / len(a.split()) for a, b in zip(references, candidates, strict=True)
        ]
        total = torch.tensor(shares) if self.higher_is_better else -torch.tensor(shares)
        return Scores(total, None, None, (STATUS_OK,) * len(references))

    def fingerprint(self) -> str:
        raise NotImplementedError

    def save_pretrained(self, folder: str | Path) -> None:
        raise NotImplementedError


def write(path: Path, rows: Sequence[dict[str, object]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


PAIRS = [("a b c d", "a b c d", 5), ("a b c d", "a b", 4), ("a b c d", "a", 3.5), ("a b c d", "x", 0)]


@pytest.mark.parametrize("higher", [True, False])
def test_paragraphs(tmp_path: Path, higher: bool) -> None:
    rows = [{"gt_report": a, "similar_report": b, "Score": score} for a, b, score in PAIRS]
    rated = read_paragraphs(write(tmp_path / "rate_test.csv", rows))
    assert rated[1] == RatedText("a b c d", "a b", 4.0)
    figures = rating_metrics(Overlap(higher), rated)
    x, y = [1, 0.5, 0.25, 0], [5, 4, 3.5, 0]
    assert figures["pearson"] == pytest.approx(pearsonr(x, y).statistic)
    assert figures["kendall"] == pytest.approx(kendalltau(x, y).statistic) == 1
    assert figures["spearman"] == pytest.approx(spearmanr(x, y).statistic)
    assert (figures["pairs"], figures["scored"]) == (4, 4)


def test_sentences_are_rated_by_one_minus_the_normalised_count(tmp_path: Path) -> None:
    rows = [{"gt_report": "a b", "similar_report": "a", "Score": 0.25}]
    assert read_rated_sentences(write(tmp_path / "a.csv", rows))[0].rating == 0.75
    counted = [{"gt_report": "a b", "similar_report": "a", "errors": 1, "could": 3}]
    columns = ("gt_report", "similar_report", "errors")
    assert read_rated_sentences(write(tmp_path / "b.csv", counted), columns, "could")[0].rating == pytest.approx(2 / 3)


def test_triads(tmp_path: Path) -> None:
    path = tmp_path / "triads.jsonl"
    rows = [
        {"original": "a b", "rewrite": "a b", "opposite": "a", "operator": "x"},
        {"original": "a b", "rewrite": "a", "opposite": "a", "operator": "y"},
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    triads = read_triads(path)
    assert triads[0] == Triad("x", "a b", "a b", "a")
    figures = triad_metrics(Overlap(), triads)
    assert figures["x"]["accuracy"] == 1
    assert figures["y"]["accuracy"] == 0  # no more than equal is not above
    assert figures["all"] == {"triads": 2, "unscored": 0, "accuracy": 0.5}


def test_what_has_no_score_is_told() -> None:
    figures = triad_metrics(Overlap(), [Triad("x", "a", " ", "b"), Triad("x", "a", "a", "b")])
    assert figures["x"] == {"triads": 2, "unscored": 1, "accuracy": 0.5}
    rated = rating_metrics(Overlap(), [RatedText("a", "", 1.0), RatedText("a", "a", 1.0)])
    assert rated == {"pairs": 2, "scored": 1, "pearson": None, "kendall": None, "spearman": None}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"Score": 7}, "row 1: field 'Score': expected a number from 0 to 5 but got '7'"),
        ({"Score": ""}, "row 1: field 'Score': expected a number from 0 to 5 but got ''"),
        ({"similar_report": " "}, "row 1: field 'similar_report': expected a text that is not empty"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, change: dict[str, object], message: str) -> None:
    row: dict[str, object] = {"gt_report": "a", "similar_report": "b", "Score": 1}
    with pytest.raises(InputError, match=message):
        read_paragraphs(write(tmp_path / "a.csv", [row | change]))


def test_missing_ratings_and_rows_are_named(tmp_path: Path) -> None:
    other = write(tmp_path / "a.csv", [{"gt_report": "a", "similar_report": "b"}])
    for read, columns in (
        (read_paragraphs, "gt_report, similar_report, Score"),
        (read_rated_sentences, "gt_report, similar_report, Score"),
        (read_triads, "original, rewrite, opposite"),
    ):
        with pytest.raises(InputError, match=rf"a\.csv: Expected the columns {columns} but got gt_report, similar_rep"):
            read(other)
    with pytest.raises(InputError, match="Expected the columns gt_report, similar_report, Score, could but got"):
        read_rated_sentences(other, max_errors_column="could")
    (tmp_path / "b.csv").write_text("gt_report,similar_report,Score\n")
    with pytest.raises(InputError, match=r"b\.csv: Expected at least one row"):
        read_paragraphs(tmp_path / "b.csv")
    counted = [{"gt_report": "a", "similar_report": "b", "Score": 0, "could": 0}]
    with pytest.raises(InputError, match="field 'could': expected at least one possible error but got 0"):
        read_rated_sentences(write(tmp_path / "c.csv", counted), max_errors_column="could")
