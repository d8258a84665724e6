"""Normal form of reports for scorers: white space, Unicode forms and typographic marks do not change a score."""

from __future__ import annotations

import re
import unicodedata
from html import unescape

from radreward.text.sentence_splitter import LINE_START

MAX_REPORT_CHARS = 20_000
"""Maximum length of a report; longer ones are an error and never truncated."""
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
_AMPERSANDS = r"(?:(?:amp|#0*38|#x0*26);)"
_ENTITY = re.compile(
    rf"&{_AMPERSANDS}*(?:(?P<name>nbsp|lt|gt|quot|apos|#\d{{1,5}}|#x[0-9a-f]{{1,4}});|(?<=;))", re.IGNORECASE
)
"""An entity of HTML, also one in which the ampersand is an entity itself."""
_TAGS = (
    ("\n\n", "body|br|div|h[1-6]|head|hr|html|li|ol|p|pre|section|table|tbody|td|th|tr|ul"),
    ("", "a|b|em|font|i|small|span|strong|sub|sup|u"),
)
"""Names of tags, and what they become."""
_TAG = re.compile("|".join(rf"</?(?P<t{n}>{names})(?:\s.*|\s*/)?>" for n, (_, names) in enumerate(_TAGS)), re.I | re.S)
_LONGEST_TAG = 200
_MAX_NESTED_MARKUP = 5
_WRITTEN_LINE_BREAK = re.compile(r"(?:\\r)?\\n(?![a-z])|(?<=[.;!?\s])(?:\\r)?\\n|\\r(?![a-z])")
"""A line break as two characters, as in exports to JSON and CSV."""
_UNFINISHED = re.compile(
    r"(?:^|\s)(?:an?|and|are|as|at|both|but|by|for|from|has|have|in|into|is|(?<![:?=|-] )no|of|on|or|"
    r"than|the|to|versus|via|vs|was|were|which|with|without|(?<!the )(?:left|right))$",
    re.IGNORECASE,
)
"""The end of a line that goes on in the next one."""
_PROPER_NAME = re.compile(
    r"(?:Blalock|Bochdalek|Chilaiditi|Cordis|Dobb?hoff|Foley|Ghon|Hampton|Hickman|Kerley|Micra|Morgagni|Pancoast|Port-A|"
    r"Schmorl|Swan-Ganz)\b",
    re.IGNORECASE,
)
"""Names that a word in the middle of a sentence can be."""
_LONGEST_ITEM = 50
"""Length of a line up to which the next one can begin a sentence with an abbreviation, as in "PICC in place"."""


_FINAL_PUNCTUATION = re.compile(r"[\s.!?;:,]+$")


def wording_key(text: str) -> str:
    """Return the words of a statement or report: texts that differ in case, space and final punctuation are equal.

    >>> wording_key("No  acute Disease.") == wording_key("NO ACUTE DISEASE")
    True
    """
    return _FINAL_PUNCTUATION.sub("", " ".join(text.split())).casefold()


def normalize_report(text: str) -> str:
    r"""Return a report with one space between words, in Unicode's form NFKC, without control and format characters.

    Typographic quotes and dashes become those of ASCII; for line breaks, see `join_lines`. Tags and entities of HTML
    are removed, and line breaks that are written as a backslash and a letter become real ones. A text of printable
    ASCII characters with single spaces and without markup is returned unchanged, and so is every result.

    >>> normalize_report("No\u00a0 pleural\neffu\u00adsion;\u2009\u201cclear\u201d.\r\n\r\nHeart\tnormal")
    'No pleural effusion; "clear". Heart normal'
    >>> normalize_report("Clear\n\n\nNormal")
    'Clear\n\nNormal'
    >>> normalize_report("<p>No&nbsp;effusion</p><p>Nodule &lt; 5 mm</p>")
    'No effusion\n\nNodule < 5 mm'
    """
    if any(mark in text for mark in "<&\\"):
        text = _without_markup(text)
    if text.isascii() and text.isprintable() and "  " not in text and text == text.strip():
        return text
    visible = "".join(char for char in text if char.isspace() or unicodedata.category(char) not in ("Cc", "Cf"))
    return join_lines(unicodedata.normalize("NFKC", visible).translate(_TYPOGRAPHIC_MARKS))


def _without_markup(text: str) -> str:
    """Return a text without tags, entities and written line breaks; these may be nested a few times."""
    for _ in range(_MAX_NESTED_MARKUP):
        plain = _ENTITY.sub(lambda match: unescape(f"&{match['name'] or 'amp'};"), text)
        plain = _WRITTEN_LINE_BREAK.sub("\n", _without_tags(plain))
        if plain == text:
            break
        text = plain
    return text


def _without_tags(text: str) -> str:
    r"""Return a text without tags, also those that appear when the tags within them are removed, in linear time.

    >>> _without_tags("<b>No</b> effusion<<b>br>, nodule <5 mm")
    'No effusion\n\n, nodule <5 mm'
    """
    parts: list[str] = []
    opened: list[int] = []  # parts that may start a tag
    for part in re.split(r"([<>])", text):
        parts.append(part)
        if part == "<":
            opened.append(len(parts) - 1)
        elif part == ">" and opened:
            start = opened.pop()
            tag = "".join(parts[start:])
            if len(tag) <= _LONGEST_TAG and (match := _TAG.fullmatch(tag)):
                parts[start:] = [next(to for n, (to, _) in enumerate(_TAGS) if match[f"t{n}"])]
            else:
                opened.clear()  # no tag contains another ">"
    return "".join(parts)


def join_lines(text: str) -> str:
    r"""Return a text with one space between words; line breaks become a space or an empty line.

    It is an empty line, which ends a sentence, if an empty line, an item, a heading or a new statement follows and no
    punctuation precedes. A new statement starts with a capital, and the line before can be the end of one. After a line
    with a capital, small letters go on with its sentence.

    >>> join_lines("Left\neffusion\n- No  edema\n\nStable,\n\nsmall"), join_lines("No\n\nedema")
    ('Left effusion\n\n- No edema\n\nStable, small', 'No edema')
    >>> join_lines("No pneumothorax\nModerate cardiomegaly"), join_lines("Tip of the\nSwan-Ganz catheter")
    ('No pneumothorax\n\nModerate cardiomegaly', 'Tip of the Swan-Ganz catheter')
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
            is_start = (
                LINE_START.match(line)
                or (after_empty_line and not (starts_with_capital and line[0].islower()))
                or _starts_statement(line, parts[-1])
            )
            ends_sentence = bool(is_start) and parts[-1][-1] not in _CLOSING
            parts.append("\n\n" if ends_sentence else " ")
        if ends_sentence or not parts:
            starts_with_capital = line[0].isupper()
        parts.append(line)
        after_empty_line = False
    return "".join(parts)


def _starts_statement(line: str, before: str) -> bool:
    """Return True if a line starts a statement, given the line before it; names can also stand in a sentence."""
    if not line[0].isupper() or _UNFINISHED.search(before):
        return False
    is_word = line[1:2].islower() and not _PROPER_NAME.match(line)
    return is_word or len(before) < _LONGEST_ITEM
