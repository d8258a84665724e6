"""Tests of BERTScore and CheXbert similarity against their formulas and the authors' code."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from radreward.data.tokenizer import resolve_backbone
from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.testing.hostile_reports import REPORTS
from radreward.testing.scorers import CANDIDATES

REFERENCE_SCORES = {
    None: [0.9657105803489685, 0.602709949016571, 0.4527026116847992],
    4: [0.9683448076248169, 0.6951828598976135, 0.5809516906738281],
}
"""Results of bert-score 0.3.13 with MiniLM for the pairs of the conformance suite, by layer; None is the last."""


@pytest.mark.parametrize("layer", REFERENCE_SCORES)
def test_bertscore_matches_authors_code(layer: int | None) -> None:
    total = BERTScore(layer=layer).score(REPORTS, CANDIDATES).total
    assert total.tolist() == pytest.approx(REFERENCE_SCORES[layer], abs=1e-5)
    rescaled = BERTScore(layer=layer, baseline=0.3)
    expected = [(value - 0.3) / 0.7 for value in REFERENCE_SCORES[layer]]
    assert rescaled.score(REPORTS, CANDIDATES).total.tolist() == pytest.approx(expected, abs=1e-5)
    assert rescaled.total_range == pytest.approx((-1.3 / 0.7, 1))


def test_bertscore_and_chexbert_similarity_match_formulas() -> None:
    path = resolve_backbone("embedded")
    tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path).eval()
    bertscore, cosine = BERTScore(), CheXbertSimilarity()
    for reference, candidate in zip(REPORTS, CANDIDATES, strict=True):
        with torch.no_grad():
            r, c = (
                model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in (reference, candidate)
            )
        first = torch.cosine_similarity(r[0], c[0], dim=0).item()
        assert cosine.score([reference], [candidate]).total.item() == pytest.approx(first, abs=1e-5)
        cosines = [[torch.cosine_similarity(c_i, r_j, dim=0).item() for r_j in r] for c_i in c]
        precision = sum(max(row) for row in cosines[1:-1]) / (len(c) - 2)
        recall = sum(max(row[j] for row in cosines) for j in range(1, len(r) - 1)) / (len(r) - 2)
        expected = 2 * precision * recall / (precision + recall)
        assert bertscore.score([reference], [candidate]).total.item() == pytest.approx(expected, abs=1e-5)


def test_scores_independent_of_window_and_batch_size(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = BERTScore("tiny-bert")
    texts = [*REPORTS, *CANDIDATES] * 2, [*CANDIDATES, *REPORTS] * 2
    expected = scorer.score(*texts).total
    monkeypatch.setattr(scorer, "pairs_per_window", 5)
    monkeypatch.setattr("radreward.models.text_encoder.MAX_BATCH_TOKENS", 1)
    torch.testing.assert_close(scorer.score(*texts).total, expected)


def test_too_long_report_rejected_or_truncated() -> None:
    long = "There is a small left pleural effusion. " * 100
    rejected = load("bertscore").score([long, REPORTS[0]], [long, REPORTS[0]])
    assert rejected.status[0].startswith("over the limit: Expected reports of at most ")
    assert rejected.total.isnan().tolist() == [True, False]
    truncating_scorer = load("bertscore", on_too_long="truncate")
    assert truncating_scorer.score([long], [long]).status == ("truncated",)
    assert truncating_scorer.score([long], [long]).total.item() == pytest.approx(1)
    assert truncating_scorer.fingerprint() != load("bertscore").fingerprint()


def test_rejected_report_is_not_encoded() -> None:
    scorer, read = BERTScore("tiny-bert"), list[int]()
    scorer._encoder._model.register_forward_pre_hook(lambda model, inputs: read.append(inputs[0].numel()))
    scorer.score(["no effusion, " * 400] * 2, ["No edema."] * 2)
    assert sum(read) < 10


def test_encoder_folder_given_after_name(tmp_path: Path) -> None:
    folder = resolve_backbone("embedded")
    scorer = load(f"chexbert:{folder}")
    assert isinstance(scorer, CheXbertSimilarity)
    assert scorer.score(REPORTS, REPORTS).total.tolist() == pytest.approx([1, 1, 1])
    assert load(f"bertscore:{folder}").score(REPORTS, CANDIDATES).total.tolist() == pytest.approx(
        REFERENCE_SCORES[None], abs=1e-5
    )
    with pytest.raises(
        InputError, match="chexbert: Expected the folder of CheXbert's weights after a colon, as in chexbert:F"
    ):
        load("chexbert")
    with pytest.raises(InputError, match="Expected the folder of a backbone but there is no such folder"):
        load(f"chexbert:{tmp_path / 'none'}")


def test_invalid_settings_raise_value_error() -> None:
    with pytest.raises(ValueError, match=r"Expected `baseline` to be in \[0, 1\) but got 1"):
        BERTScore(baseline=1)
    with pytest.raises(ValueError, match="Expected `layer` to be in 0 to 2 but got 9"):
        BERTScore("tiny-bert", layer=9)
    with pytest.raises(ValueError, match="Expected `on_too_long` to be reject or truncate but got 'no'"):
        BERTScore("tiny-bert", on_too_long="no")  # type: ignore[arg-type]
