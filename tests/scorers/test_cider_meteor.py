"""CIDEr-D and METEOR against their formulas."""

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
from radreward.scoring.score_file import score_file

VOCABULARY = ["edema", "heart", "lung", "clear", "left", "right", "rib", "tube"]
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=12)


def naive_cider(reference: str, candidate: str, references: list[str]) -> float:
    """Dense vectors over all n-grams of all texts."""
    value = 0.0
    for order in (1, 2, 3, 4):
        lists = [[tuple(w[i : i + order]) for i in range(len(w) - order + 1)] for w in map(str.split, references)]
        ours, theirs = (
            [tuple(w[i : i + order]) for i in range(len(w) - order + 1)] for w in (reference.split(), candidate.split())
        )
        grams = sorted({*ours, *theirs, *(gram for one in lists for gram in one)})
        if not grams:
            continue
        idf = np.array([np.log(len(references) / max(1, sum(gram in one for one in lists))) for gram in grams])
        r, c = (np.array([one.count(gram) for gram in grams]) * idf for one in (ours, theirs))
        if np.linalg.norm(r) * np.linalg.norm(c) > 0:
            value += float(np.minimum(c, r) @ r / (np.linalg.norm(r) * np.linalg.norm(c)))
    gap = len(reference.split()) - len(candidate.split())
    return 10 / 4 * value * math.exp(-(gap**2) / 72)


@given(st.lists(WORDS, min_size=1, max_size=5), WORDS)
def test_cider_is_the_formula(references: list[list[str]], candidate: list[str]) -> None:
    texts, other = [" ".join(words) for words in references], " ".join(candidate)
    total = CIDEr().score(texts, [other] * len(texts)).total
    assert total.tolist() == pytest.approx([naive_cider(text, other, texts) for text in texts], abs=1e-5)
    assert CIDEr().fit_references(texts).score(texts[:1], [other]).total[0].item() == pytest.approx(
        total[0].item(), abs=1e-5
    )


def test_cider_scores_a_file_by_all_of_its_references(tmp_path: Path) -> None:
    references = ["No effusion.", "Left effusion.", "Clear lungs.", "Big heart."]
    rows = [{"id": n, "reference": text, "candidate": "Left effusion."} for n, text in enumerate(references)]
    rows.append({"id": 9, "reference": "Nobody knows.", "candidate": ""})
    source = tmp_path / "pairs.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = CIDEr().score(references, ["Left effusion."] * 4).total.tolist()
    for chunk in (1, 512):
        output = tmp_path / f"scores{chunk}.jsonl"
        score_file(CIDEr(), source, output, chunk_size=chunk, progress=False)
        found = [json.loads(line)["total"] for line in output.read_text().splitlines()]
        assert found[:4] == pytest.approx(expected)
        assert found[4] is None
    with pytest.raises(InputError, match="CIDEr-D: needs all references of a run, which workers do not have"):
        score_file(CIDEr(), source, tmp_path / "a.jsonl", progress=False, backend=lambda chunks, folder: iter(()))
    fitted = CIDEr().fit_references(references)
    score_file(fitted, source, tmp_path / "b.jsonl", progress=False)
    assert fitted.fit_references(["other"]) is fitted
    assert fitted.fingerprint() == CIDEr().fit_references(references[::-1]).fingerprint() != CIDEr().fingerprint()
    with pytest.raises(ValueError, match="Expected `documents` to be >= 1 with `frequencies` but got 0"):
        CIDEr(0, {})


@given(st.permutations(VOCABULARY), st.permutations(VOCABULARY), st.integers(1, 8), st.integers(1, 8))
@settings(max_examples=40)
def test_meteor_is_the_formula(one: list[str], other: list[str], first: int, second: int) -> None:
    reference, candidate = one[:first], [word + "s" * (word == "tube") for word in other[:second]]
    places = [reference.index(re.sub("s$", "", word)) for word in candidate if re.sub("s$", "", word) in reference]
    at = [n for n, word in enumerate(candidate) if re.sub("s$", "", word) in reference]
    expected = 0.0
    if places:
        chunks = 1 + sum(
            not (b == a + 1 and j == i + 1) for a, b, i, j in zip(places[:-1], places[1:], at[:-1], at[1:], strict=True)
        )
        p, r = len(places) / len(candidate), len(places) / len(reference)
        expected = p * r / (0.9 * p + 0.1 * r) * (1 - 0.5 * (chunks / len(places)) ** 3)
    total = METEOR().score([" ".join(reference) + "."], [" ".join(candidate).upper()]).total
    assert total.item() == pytest.approx(expected, abs=1e-6)


def test_a_broken_file_of_settings_is_told(tmp_path: Path) -> None:
    load("bleu-2").save_pretrained(tmp_path / "saved")
    path = tmp_path / "saved" / "bleu.json"
    for text, message in (
        ("{", r"bleu\.json: Expected the settings of a scorer"),
        ('{"format": 2, "settings": {}}', r"bleu\.json: Expected `format` 1 and `settings`"),
        ('{"format": 1, "settings": []}', r"bleu\.json: Expected `settings` to be a mapping but got list"),
        ('{"format": 1, "settings": {"order": 9}}', r"bleu\.json: Expected `order` to be 1, 2, 3 or 4 but got 9"),
        ('{"format": 1, "settings": {"grams": 9}}', r"bleu\.json: .*grams"),
    ):
        path.write_text(text)
        with pytest.raises(InputError, match=message):
            load(tmp_path / "saved")
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"Expected a folder that is new, empty or holds bleu\.json"):
        load("bleu-2").save_pretrained(tmp_path)
    with pytest.raises(InputError, match="precision: Expected fp32 for BLEU but got int8"):
        load("bleu-2", precision="int8")
