"""BERTScore and the cosine of first tokens, against their formulas and the authors' code."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from radreward.data.tokenizer import resolve_backbone
from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.testing.scorers import CANDIDATES, REFERENCES

AUTHORS = {
    None: [0.9657105803489685, 0.602709949016571, 0.4527026116847992],
    4: [0.9683448076248169, 0.6951828598976135, 0.5809516906738281],
}
"""What bert-score 0.3.13 gives for the pairs of the conformance suite with MiniLM, by layer; 6 is the last."""


@pytest.mark.parametrize("layer", AUTHORS)
def test_bertscore_is_that_of_its_authors(layer: int | None) -> None:
    total = BERTScore(layer=layer).score(REFERENCES, CANDIDATES).total
    assert total.tolist() == pytest.approx(AUTHORS[layer], abs=1e-5)
    rescaled = BERTScore(layer=layer, baseline=0.3)
    expected = [(value - 0.3) / 0.7 for value in AUTHORS[layer]]
    assert rescaled.score(REFERENCES, CANDIDATES).total.tolist() == pytest.approx(expected, abs=1e-5)
    assert rescaled.total_range == pytest.approx((-1.3 / 0.7, 1))


def test_bertscore_and_cosine_are_the_formulas() -> None:
    path = resolve_backbone("embedded")
    tokenizer, model = AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path).eval()
    bertscore, cosine = BERTScore(), CheXbertSimilarity()
    for reference, candidate in zip(REFERENCES, CANDIDATES, strict=True):
        with torch.no_grad():
            r, c = (
                model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0] for text in (reference, candidate)
            )
        first = torch.cosine_similarity(r[0], c[0], dim=0).item()
        assert cosine.score([reference], [candidate]).total.item() == pytest.approx(first, abs=1e-5)
        alike = [[torch.cosine_similarity(one, other, dim=0).item() for other in r] for one in c]
        precision = sum(max(row) for row in alike[1:-1]) / (len(c) - 2)
        recall = sum(max(row[j] for row in alike) for j in range(1, len(r) - 1)) / (len(r) - 2)
        expected = 2 * precision * recall / (precision + recall)
        assert bertscore.score([reference], [candidate]).total.item() == pytest.approx(expected, abs=1e-5)


def test_windows_and_batches_do_not_change_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = BERTScore("tiny-bert")
    texts = [*REFERENCES, *CANDIDATES] * 2, [*CANDIDATES, *REFERENCES] * 2
    whole = scorer.score(*texts).total
    monkeypatch.setattr("radreward.scorers.embedding.CHUNK_SIZE", 5)
    monkeypatch.setattr("radreward.models.text_encoder.MAX_BATCH_TOKENS", 1)
    torch.testing.assert_close(scorer.score(*texts).total, whole)


def test_a_report_over_the_limit_is_rejected_or_cut_and_told() -> None:
    long = "There is a small left pleural effusion. " * 100
    rejecting = load("bertscore").score([long, REFERENCES[0]], [long, REFERENCES[0]])
    assert rejecting.status[0].startswith("over the limit: Expected reports of at most ")
    assert rejecting.total.isnan().tolist() == [True, False]
    cutting = load("bertscore", too_long="truncate")
    assert cutting.score([long], [long]).status == ("truncated",)
    assert cutting.score([long], [long]).total.item() == pytest.approx(1)
    assert cutting.fingerprint() != load("bertscore").fingerprint()


def test_a_folder_follows_the_name(tmp_path: Path) -> None:
    folder = resolve_backbone("embedded")
    scorer = load(f"chexbert:{folder}")
    assert isinstance(scorer, CheXbertSimilarity)
    assert scorer.score(REFERENCES, REFERENCES).total.tolist() == pytest.approx([1, 1, 1])
    assert load(f"bertscore:{folder}").score(REFERENCES, CANDIDATES).total.tolist() == pytest.approx(
        AUTHORS[None], abs=1e-5
    )
    with pytest.raises(
        InputError, match="chexbert: Expected the folder of CheXbert's weights after a colon, as chexbert:F"
    ):
        load("chexbert")
    with pytest.raises(InputError, match="Expected the folder of a backbone but there is none"):
        load(f"chexbert:{tmp_path / 'none'}")


def test_settings_are_checked() -> None:
    with pytest.raises(ValueError, match=r"Expected `baseline` to be in \[0, 1\) but got 1"):
        BERTScore(baseline=1)
    with pytest.raises(ValueError, match="Expected `layer` to be in 0 to 2 but got 9"):
        BERTScore("tiny-bert", layer=9)
    with pytest.raises(ValueError, match="Expected `too_long` to be reject or truncate but got 'no'"):
        BERTScore("tiny-bert", on_too_long="no")  # type: ignore[arg-type]
