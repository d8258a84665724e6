import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.testing import hostile_reports
from radreward.text.normalization import normalize_report
from radreward.text.sentence_splitter import split_sentences

REPORTS = st.sampled_from(
    [
        "Small left pleural effusion. No pneumothorax. The heart is mildly enlarged.",
        'Caf\u00e9-au-lait spots; \u00e9panchement minime, 2-3 cm. Don\'t "compare".',
    ]
)
SPACES = st.sampled_from([" ", "  ", "\t", "\n", " \r\n ", "\u00a0", "\u2009", "\u3000", " \u200b"])


@given(hostile_reports() | st.text(max_size=50))
def test_normalize_report_is_idempotent(text: str) -> None:
    normal = normalize_report(text)
    assert normalize_report(normal) == normal
    assert normal == normal.strip()
    assert "  " not in normal


@given(REPORTS, st.data())
def test_normalize_report_ignores_white_space_and_unicode_forms(report: str, data: st.DataObject) -> None:
    words = report.split(" ")
    changed = words[0] + "".join(data.draw(SPACES) + word for word in words[1:])
    for form in (unicodedata.normalize("NFC", changed), unicodedata.normalize("NFD", changed)):
        assert normalize_report(form) == report


@given(REPORTS)
def test_normalize_report_ignores_full_width_and_typographic_forms(report: str) -> None:
    full_width = "".join(chr(ord(char) + 0xFEE0) if "!" <= char <= "~" else char for char in report)
    assert normalize_report(full_width) == report
    assert normalize_report(report.replace("-", "\u2013").replace("'", "\u2019")) == report


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("Clear lungs\n\nNormal heart", ["Clear lungs", "Normal heart"]),
        ("Clear lungs\n2. Normal heart", ["Clear lungs", "2. Normal heart"]),
        ("FINDINGS:\n\nClear lungs.\nIMPRESSION: Normal.", ["FINDINGS: Clear lungs.", "IMPRESSION: Normal."]),
        ("Clear\nlungs.\n\n\nNormal\theart", ["Clear lungs.", "Normal heart"]),
        ("No effusion\nLarge pneumothorax", ["No effusion", "Large pneumothorax"]),
        ("No effusion on the right\nLarge effusion", ["No effusion on the right", "Large effusion"]),
        ("The effusion is small\nPortable film", ["The effusion is small", "Portable film"]),
        ("NO EFFUSION\nLARGE PNEUMOTHORAX", ["NO EFFUSION", "LARGE PNEUMOTHORAX"]),
        ("No effusion on the\nLeft side", ["No effusion on the Left side"]),
        (
            "Several thin lines at both lung bases, which are probably\nKerley lines",
            ["Several thin lines at both lung bases, which are probably Kerley lines"],
        ),
        (
            "The tip of a tube that is new since the prior study is in the upper\nSVC",
            ["The tip of a tube that is new since the prior study is in the upper SVC"],
        ),
        ("<p>Clear lungs</p><p>Normal <b>heart</b></p>", ["Clear lungs", "Normal heart"]),
        (r"Clear lungs\nNormal heart\r\n2. No&nbsp;edema", ["Clear lungs", "Normal heart", "2. No edema"]),
        ("no effusion.\\nsmall nodule<br/>edema", ["no effusion.", "small nodule", "edema"]),
        ("A&amp;lt;5 mm n<b>od</b>ule", ["A<5 mm nodule"]),
        ("Nodule &lt; 5 mm &amp; effusion <3 cm", ["Nodule < 5 mm & effusion <3 cm"]),
    ],
)
def test_normalize_report_retains_sentences_of_lines(text: str, sentences: list[str]) -> None:
    assert split_sentences(normalize_report(text)) == sentences


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("<" * 3000 + "b>" * 3000, ""),
        ("<p" * 3000 + ">" * 3000, ""),
        ("&" + "amp;" * 3000, "&"),
        ("&" + "#38;" * 9 + "lt;", "<"),
    ],
    ids=["inline", "block", "entities", "numbers"],
)
def test_normalize_report_removes_nested_markup_at_once(text: str, plain: str) -> None:
    assert normalize_report(text) == plain


MARKUP = st.sampled_from(["<", ">", "b", "p", "/", " ", "&", "amp;", "lt;", "gt;", "#38;", "\\n"])


@given(st.lists(MARKUP, max_size=30).map("".join))
def test_normalize_report_of_markup_is_idempotent(text: str) -> None:
    normal = normalize_report(text)
    assert normalize_report(normal) == normal


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters="<&\\"), min_size=1))
def test_normalize_report_changes_no_plain_text(word: str) -> None:
    assert normalize_report(f"{word} {word}") == f"{word} {word}"
