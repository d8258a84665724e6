"""Normal form of reports for scorers: white space, Unicode forms and typographic marks do not change a score."""

from __future__ import annotations

import re
import unicodedata

from radreward.text.sentence_splitter import LINE_START

_MARKS = {
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
    **dict.fromkeys("\u2010\u2012\u2013\u2212", "-"),
    **dict.fromkeys("\u2014\u2015", " - "),
    "\u2044": "/",
}
_TYPOGRAPHIC_MARKS = str.maketrans(_MARKS)
_CLOSING = ".!?:;,"
"""Characters after which a line break counts as a space."""


_FINAL_PUNCTUATION = re.compile(r"[\s.!?;:,]+$")


def wording_key(text: str) -> str:
    """Return the words of a statement or report: texts that differ in case, space and final punctuation are equal.

    >>> wording_key("No  acute Disease.") == wording_key("NO ACUTE DISEASE")
    True
    """
    return _FINAL_PUNCTUATION.sub("", " ".join(text.split())).casefold()


def normalize_report(text: str) -> str:
    r"""Return a report with one space between words, in Unicode's form NFKC, without control and format characters.

    Typographic quotes and dashes become those of ASCII; for line breaks, see `join_lines`. A text of printable ASCII
    characters with single spaces is returned unchanged, and so is every result of this function.

    >>> normalize_report("No\u00a0 pleural\neffu\u00adsion;\u2009\u201cclear\u201d.\r\n\r\nHeart\tnormal")
    'No pleural effusion; "clear". Heart normal'
    >>> normalize_report("Clear\n\n\nNormal")
    'Clear\n\nNormal'
    """
    if text.isascii() and text.isprintable() and "  " not in text and text == text.strip():
        return text
    visible = "".join(char for char in text if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf"))
    return join_lines(unicodedata.normalize("NFKC", visible).translate(_TYPOGRAPHIC_MARKS))


def join_lines(text: str) -> str:
    r"""Return a text with one space between words; line breaks become a space or an empty line.

    It is an empty line, which ends a sentence, if an empty line, an item or a heading follows and no punctuation
    precedes. After a line with a capital, small letters go on with its sentence.

    >>> join_lines("Left\neffusion\n- No  edema\n\nStable,\n\nsmall"), join_lines("No\n\nedema")
    ('Left effusion\n\n- No edema\n\nStable, small', 'No edema')
    """
    parts: list[str] = []
    starts_with_capital = False
    after_empty_line = False
    for line in (" ".join(line.split()) for line in text.splitlines()):
        if not line:
            after_empty_line = True
            continue
        ends_sentence = False
        if parts:
            is_start = LINE_START.match(line) or (after_empty_line and not (starts_with_capital and line[0].islower()))
            ends_sentence = bool(is_start) and parts[-1][-1] not in _CLOSING
            parts.append("\n\n" if ends_sentence else " ")
        if ends_sentence or not parts:
            starts_with_capital = line[0].isupper()
        parts.append(line)
        after_empty_line = False
    return "".join(parts)
