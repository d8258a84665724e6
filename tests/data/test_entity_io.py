import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.data.entity_io import (
    TaggedSentence,
    read_tagged_sentences,
    sentence_from_tokens,
    write_tagged_sentences,
)
from radreward.data.iob import spans_from_iob
from radreward.errors import InputError
from radreward.types import ENTITY_TYPES, Entity

TOKENS = ["No", "left", "effusion", "."]
SENTENCE = TaggedSentence(
    "No left effusion .", (Entity("left", "Anatomy", 3, 7), Entity("effusion", "Non-Abnormality", 8, 16))
)


def write(path: Path, *rows: Any) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_read_all_formats_give_equal_sentences(tmp_path: Path) -> None:
    offsets = [{"start": e.start, "end": e.end, "type": e.type} for e in SENTENCE.entities]
    (tmp_path / "idx2label.json").write_text('{"0": "O", "1": "B-ANATOMY", "2": "B-NON-ABNORMALITY"}')
    (tmp_path / "all").mkdir()
    files = [
        write(tmp_path / "a.jsonl", {"text": SENTENCE.text, "entities": offsets[::-1]}),
        write(tmp_path / "b.json", {"tokens": TOKENS, "ner_tags": ["O", "B-ANATOMY", "B-NON-ABNORMALITY", "O"]}),
        write(tmp_path / "all" / "train_IOB.json", {"tokens": TOKENS, "ner_tags": [0, 1, 2, 0]}),
        write(
            tmp_path / "train_span.json",
            {"sentences": [TOKENS], "ner": [[[1, 1, "ANATOMY"], [2, 2, "NON-ABNORMALITY"]]]},
        ),
    ]
    for path in files:
        assert list(read_tagged_sentences(path)) == [SENTENCE], path


def test_read_span_files_count_tokens_over_the_line(tmp_path: Path) -> None:
    row = {"sentences": [["Clear", "."], ["No", "edema"]], "ner": [[], [[3, 3, "NON-DISEASE"]]]}
    tagged = list(read_tagged_sentences(write(tmp_path / "a.json", row)))
    assert [sentence.entities for sentence in tagged] == [(), (Entity("edema", "Non-Disease", 3, 8),)]


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["B-Disease"], [(0, 1, "Disease")]),
        (["O", "B-Disease", "I-Disease"], [(1, 3, "Disease")]),  # the span ends with the sentence
        (["B-Disease", "O", "B-Anatomy", "I-Anatomy"], [(0, 1, "Disease"), (2, 4, "Anatomy")]),
        (["B-Disease", "I-Anatomy", "O"], [(0, 2, "Disease")]),  # the type of the B tag applies
        (["O", "I-Disease", "I-Disease", "O"], [(1, 3, "Disease")]),
        (["B-Disease", "B-Disease"], [(0, 1, "Disease"), (1, 2, "Disease")]),
        ([], []),
    ],
)
def test_spans_from_iob_expected_spans(tags: list[str], expected: list[tuple[int, int, str]]) -> None:
    assert spans_from_iob(tags) == expected


def test_spans_from_iob_can_ignore_stray_inside_tags() -> None:
    assert spans_from_iob(["I-Disease", "I-Disease", "B-Anatomy", "O", "I-Anatomy"], stray_starts_entity=False) == [
        (2, 3, "Anatomy")
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"text": "x"}, "field 'entities': Expected a list but got None"),
        ({"text": "", "entities": []}, "field 'text': Expected a text that is not empty"),
        ({"text": "x", "entities": [{"start": 0, "end": 2, "type": "Disease"}]}, "start and end within the text"),
        ({"text": "x", "entities": [{"start": 0, "end": 1, "type": "Gene"}]}, "Expected one of the types Abnormality"),
        ({"text": "x", "entities": [{"start": True, "end": 1, "type": "Disease"}]}, "start and end within the text"),
        ({"text": "x", "entities": [[0, 1, "Disease"]]}, "Expected objects with start, end and type"),
        (
            {"text": "abc", "entities": [{"start": s, "end": s + 2, "type": "Disease"} for s in (0, 1)]},
            "Expected entities without overlap",
        ),
        ({"tokens": ["a"], "ner_tags": ["O", "O"]}, "field 'ner_tags': Expected 1 tags, one per token, but got 2"),
        ({"tokens": ["a"], "ner_tags": ["X-DISEASE"]}, "Expected a tag O, B-TYPE or I-TYPE but got 'X-DISEASE'"),
        ({"tokens": [""], "ner_tags": ["O"]}, "field 'tokens': Expected tokens that are not empty"),
        ({"tokens": "a", "ner_tags": ["O"]}, "field 'tokens': Expected a list of tokens"),
        ({"sentences": [["a"]], "ner": []}, "field 'ner': Expected 1 lists, one per sentence, but got 0"),
        ({"sentences": [["a"]], "ner": [[[0, 1, "DISEASE"]]]}, "Expected tokens of the sentence, 0 to 0"),
        ({"sentences": [["a"]], "ner": [[[0, 0]]]}, "Expected first token, last token and type"),
        ([1], "Expected a JSON object but got list"),
    ],
)
def test_read_invalid_json_line_is_reported(tmp_path: Path, row: Any, message: str) -> None:
    path = write(tmp_path / "a.jsonl", {"text": "x", "entities": []}, row)
    with pytest.raises(InputError) as error:
        list(read_tagged_sentences(path))
    assert str(error.value).startswith(f"{path}, line 2: ")
    assert message in str(error.value)


def test_read_numbered_tags_need_names(tmp_path: Path) -> None:
    path = write(tmp_path / "a.json", {"tokens": ["a"], "ner_tags": [7]})
    with pytest.raises(InputError, match=r"its tags are numbers\. Expected their names in idx2label\.json"):
        list(read_tagged_sentences(path))
    (tmp_path / "idx2label.json").write_text('{"0": "O"}')
    with pytest.raises(InputError, match="line 1: field 'ner_tags': Expected one of the tags O but got 7"):
        list(read_tagged_sentences(path))


def test_read_other_suffix_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected a name that ends with"):
        list(read_tagged_sentences(tmp_path / "a.csv"))
    with pytest.raises(InputError, match="cannot be read"):
        list(read_tagged_sentences(tmp_path / "a.jsonl"))
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "\xff"}\n')
    with pytest.raises(InputError, match="line 1: Expected UTF-8 text"):
        list(read_tagged_sentences(tmp_path / "b.jsonl"))
    with pytest.raises(InputError, match="ends with .jsonl"):
        write_tagged_sentences(tmp_path / "a.json", [])


@st.composite
def _sentences(draw: st.DrawFn) -> tuple[list[str], list[tuple[int, int, str]]]:
    tokens = draw(st.lists(st.text("aB1é-/", min_size=1, max_size=4), min_size=1, max_size=8))
    spans, at = [], 0
    while at < len(tokens):
        size = draw(st.integers(0, len(tokens) - at))
        if size:
            spans.append((at, at + size, draw(st.sampled_from(ENTITY_TYPES))))
        at += size or 1
    return tokens, spans


@given(st.lists(_sentences(), min_size=1, max_size=4))
def test_write_then_read_returns_equal_sentences(
    tmp_path_factory: pytest.TempPathFactory, tagged: list[tuple[list[str], list[tuple[int, int, str]]]]
) -> None:
    folder = tmp_path_factory.mktemp("entities")
    sentences = [sentence_from_tokens(tokens, spans) for tokens, spans in tagged]
    write_tagged_sentences(folder / "a.jsonl", sentences)
    assert list(read_tagged_sentences(folder / "a.jsonl")) == sentences
    rows = []
    for tokens, spans in tagged:
        tags = ["O"] * len(tokens)
        for start, end, kind in spans:
            tags[start:end] = [f"B-{kind.upper()}", *[f"I-{kind.upper()}"] * (end - start - 1)]
        rows.append({"tokens": tokens, "ner_tags": tags})
    assert list(read_tagged_sentences(write(folder / "b.json", *rows))) == sentences
