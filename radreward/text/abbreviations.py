"""Abbreviations of reports, and texts in which they are written out."""

from __future__ import annotations

import re

ABBREVIATIONS = {
    "RLL": "right lower lobe",
    "LLL": "left lower lobe",
    "RUL": "right upper lobe",
    "LUL": "left upper lobe",
    "RML": "right middle lobe",
    "ETT": "endotracheal tube",
    "NGT": "nasogastric tube",
    "OGT": "orogastric tube",
    "SVC": "superior vena cava",
    "CVC": "central venous catheter",
    "PTX": "pneumothorax",
    "PNA": "pneumonia",
    "CCF": "congestive heart failure",
    "SOL": "space-occupying lesion",
    "ICC": "intercostal catheter",
    "consol": "consolidation",
    "atx": "atelectasis",
    "mets": "metastases",
    "OA": "osteoarthritis",
    "MVR": "mitral valve replacement",
    "AVR": "aortic valve replacement",
    "eff": "effusion",
    "RUZ": "right upper zone",
    "LUZ": "left upper zone",
    "RMZ": "right mid zone",
    "LMZ": "left mid zone",
    "RLZ": "right lower zone",
    "LLZ": "left lower zone",
    "#": "fracture",
    "b/l": "bilateral",
    "bilat": "bilateral",
    "bl": "bilateral",
    "rt": "right",
    "lt": "left",
    "fx": "fracture",
    "fxs": "fractures",
    "WNL": "within normal limits",
    "R/L": "bilateral",
    "L/R": "bilateral",
    "R>L": "right greater than left",
    "L<R": "right greater than left",
    "L>R": "left greater than right",
    "R<L": "left greater than right",
    "w/o": "without",
    "w/": "with",
    "R": "right",
    "L": "left",
}
"""Abbreviations with one meaning in chest reports. Single letters count only if they are capitals."""
_WORDS = "|".join(
    re.sub("([/<>])", r" ?\1 ?", re.escape(short))
    for short in ABBREVIATIONS
    if len(short) > 1 and short[-1] != "/" and short not in ("lt", "rt")
)
ABBREVIATION = re.compile(
    rf"(?<!\w)(?:(?i:{_WORDS})\b|(?i:w/)|[LlRr]t\b"
    r"|(?:LT|RT)\b(?= (?:apex|base|CP|hilum|lower|lung|mid|middle|side|upper)\b)"
    rf"|(?<!/)[LR]\b(?=[ -][A-Za-z]| \d{{1,2}}(?:st|nd|rd|th)\b)(?![ -]spine|-S\b)"
    r"|(?<=[Oo]n the |ON THE |to the |TO THE )[LR](?=[.,;]|$)|(?<=\()[LR](?=\))|(?<=[a-z] )[LR](?=: )"
    r"|#(?=\s?(?:[LR]|(?i:left|right|rib|clavicle|neck|T\d|L\d))\b)|(?<=wedge )#)"
)
"""Abbreviations in a text; single letters before a word or an ordinal, after "on the" or "to the", or in brackets."""
_TUBE = r"(?:chest|dobhoff|endotracheal|enteric|et|feeding|gastric|nasogastric|ng|orogastric|pleural|tracheostomy)"
_SHARED_NOUN = re.compile(
    rf"\b(?P<tube>{_TUBE}) (?P<link>and|and/or|or) (?={_TUBE} tubes?\b)"
    r"|\b(?P<space>pericardial|pleural) (?P<or>and|and/or|or) (?=(?:pericardial|pleural) (?P<noun>effusions?)\b)",
    re.IGNORECASE,
)
"""The first of two findings that share a noun: "endotracheal and nasogastric tubes"."""
_LONG_FORMS = {short.lower(): long for short, long in ABBREVIATIONS.items()}


def long_form(match: re.Match[str]) -> str:
    """Return the words of a match of `ABBREVIATION`."""
    word = match[0]
    is_joined = word[-1] in "/#" and match.string[match.end() : match.end() + 1].isalnum()  # "w/tip"
    return _LONG_FORMS[word.lower().replace(" ", "")] + " " * is_joined


def write_out(text: str) -> str:
    """Return a text with its abbreviations, and a noun that two findings share, written out.

    >>> write_out("ETT w/ tip 5 cm above the carina, PTX on the R.")
    'endotracheal tube with tip 5 cm above the carina, pneumothorax on the right.'
    >>> write_out("Endotracheal and nasogastric tubes, no pericardial or pleural effusion.")
    'Endotracheal tube and nasogastric tubes, no pericardial effusion or pleural effusion.'
    >>> write_out("R > L effusions, R/L edema")
    'right greater than left effusions, bilateral edema'
    """
    return _SHARED_NOUN.sub(_with_own_noun, ABBREVIATION.sub(long_form, text))


def _with_own_noun(match: re.Match[str]) -> str:
    if match["tube"]:
        return f"{match['tube']} tube {match['link']} "
    return f"{match['space']} {match['noun']} {match['or']} "
