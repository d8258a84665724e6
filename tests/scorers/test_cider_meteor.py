"""Tests of CIDEr-D and METEOR against their formulas, and of saved settings."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.cider import CIDEr
from radreward.scorers.meteor import METEOR
from radreward.scoring.file_scoring import score_file

VOCABULARY = ["edema", "heart", "lung", "clear", "left", "right", "rib", "tube"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12)


def naive_cider(reference: str, candidate: str, references: list[str]) -> float:
    """Return CIDEr-D from dense vectors over all n-grams of all texts."""
    value = 0.0
    for order in (1, 2, 3, 4):
        lists = [[tuple(w[i : i + order]) for i in range(len(w) - order + 1)] for w in map(str.split, references)]
        reference_ngrams, candidate_ngrams = (
            [tuple(w[i : i + order]) for i in range(len(w) - order + 1)] for w in (reference.split(), candidate.split())
        )
        grams = sorted({*reference_ngrams, *candidate_ngrams, *(gram for ngrams in lists for gram in ngrams)})
        if not grams:
            continue
        idf = np.array([np.log(len(references) / max(1, sum(gram in ngrams for ngrams in lists))) for gram in grams])
        r, c = (
            np.array([ngrams.count(gram) for gram in grams]) * idf for ngrams in (reference_ngrams, candidate_ngrams)
        )
        if np.linalg.norm(r) * np.linalg.norm(c) > 0:
            value += float(np.minimum(c, r) @ r / (np.linalg.norm(r) * np.linalg.norm(c)))
    gap = len(reference.split()) - len(candidate.split())
    return 10 / 4 * value * math.exp(-(gap**2) / 72)


@given(st.lists(WORDS, min_size=1, max_size=5), WORDS)
def test_cider_matches_formula(references: list[list[str]], candidate: list[str]) -> None:
    texts, text_c = [" ".join(words) for words in references], " ".join(candidate)
    total = CIDEr().score(texts, [text_c] * len(texts)).total
    assert total.tolist() == pytest.approx([naive_cider(text, text_c, texts) for text in texts], abs=1e-5)
    assert CIDEr().fit_references(texts).score(texts[:1], [text_c]).total[0].item() == pytest.approx(
        total[0].item(), abs=1e-5
    )


def test_cider_file_scored_with_all_references(tmp_path: Path) -> None:
    references = ["No effusion.", "Left effusion.", "Clear lungs.", "Big heart."]
    rows = [{"id": n, "reference": text, "candidate": "Left effusion."} for n, text in enumerate(references)]
    rows.append({"id": 9, "reference": "Nobody knows.", "candidate": ""})
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = CIDEr().score(references, ["Left effusion."] * 4).total.tolist()
    for chunk in (1, 512):
        output = tmp_path / f"scores{chunk}.jsonl"
        score_file(CIDEr(), source, output, chunk_size=chunk, progress=False)
        totals = [json.loads(line)["total"] for line in output.read_text().splitlines()]
        assert totals[:4] == pytest.approx(expected)
        assert totals[4] is None
    with pytest.raises(InputError, match="CIDEr-D: Expected all references of the run but workers lack them"):
        score_file(CIDEr(), source, tmp_path / "a.jsonl", progress=False, backend=lambda chunks: iter(()))
    fitted = CIDEr().fit_references(references)
    score_file(fitted, source, tmp_path / "b.jsonl", progress=False)
    assert fitted.fit_references(["other"]) is fitted
    assert fitted.fingerprint() == CIDEr().fit_references(references[::-1]).fingerprint() != CIDEr().fingerprint()
    with pytest.raises(ValueError, match="Expected `n_documents` to be >= 1 with `frequencies` but got 0"):
        CIDEr(0, {})


@given(st.permutations(VOCABULARY), st.permutations(VOCABULARY), st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=40)
def test_meteor_matches_formula(words_r: list[str], words_c: list[str], length_r: int, length_c: int) -> None:
    reference, candidate = words_r[:length_r], [word + "s" * (word == "tube") for word in words_c[:length_c]]
    positions = [reference.index(re.sub("s$", "", word)) for word in candidate if re.sub("s$", "", word) in reference]
    at = [n for n, word in enumerate(candidate) if re.sub("s$", "", word) in reference]
    expected = 0.0
    if positions:
        chunks = 1 + sum(
            not (b == a + 1 and j == i + 1)
            for a, b, i, j in zip(positions[:-1], positions[1:], at[:-1], at[1:], strict=True)
        )
        p, r = len(positions) / len(candidate), len(positions) / len(reference)
        expected = p * r / (0.9 * p + 0.1 * r) * (1 - 0.5 * (chunks / len(positions)) ** 3)
    total = METEOR().score([" ".join(reference) + "."], [" ".join(candidate).upper()]).total
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_invalid_config_file_raises_with_path(tmp_path: Path) -> None:
    load("bleu-2").save_pretrained(tmp_path / "saved")
    path = tmp_path / "saved" / "bleu.json"
    for text, message in (
        ("{", r"bleu\.json: Expected JSON but it cannot be parsed"),
        ('{"format": 2, "settings": {}}', r"bleu\.json: Expected `format` to be 1 but got 2"),
        ('{"format": 1, "settings": []}', r"bleu\.json: Expected `settings` to be an object but got"),
        ('{"format": 1, "settings": {"order": 9}}', r"bleu\.json: .*Expected `order` to be 1, 2, 3 or 4 but got 9"),
        ('{"format": 1, "settings": {"grams": 9}}', r"bleu\.json: .*grams"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            load(tmp_path / "saved")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"Expected a folder that is new, empty or holds bleu\.json"):
        load("bleu-2").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="precision: Expected fp32 for BLEU but got bf16"):
        load("bleu-2", precision="bf16")
