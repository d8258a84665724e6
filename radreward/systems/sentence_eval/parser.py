"""Sentence scores read from a model's answer: what is not as it was asked for is counted, never guessed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.types import SentenceJudgement, SentenceScore

FORMAT_ERRORS = {
    "prose": "lines that are no part of the table",
    "broken row": "a row without an id, a sentence and a score; left out",
    "unknown id": "a row for a sentence that was not sent; left out",
    "repeated id": "a second row for a sentence; left out",
    "other sentence": "a row whose text is that of another sentence; left out",
    "no number": "a row whose score is no number; left out",
    "outside the set": "a row whose score is not -1, 0, 0.5 or 1; left out",
    "unknown match": "a counterpart that was not sent; left out, the row stays",
    "match without score": "a counterpart with the score 0, or a score without a counterpart; the row stays",
    "missing row": "a sentence without a score",
    "no overall": "no overall score",
    "overall outside": "an overall score that is not from 0 to 5; left out",
}
"""What can be wrong with an answer."""

_NORMALIZED_PUNCTUATION = str.maketrans(
    {**dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'), **dict.fromkeys("\u2212\u2012\u2013", "-")}
)
_CODE_FENCE = re.compile(r"^[^\S\n]*+(?:```|~~~)[^\n]*$", re.M)
_ROW_TYPE = r"(?:original|orig|reference|predicted|prediction|pred|candidate)"
_NUMBER = r"[-+]?(?:\d{1,9}(?:\.\d{0,9})?|\.\d{1,9})"
_ROW_START = re.compile(
    rf"""^[^\S\n]*+\|?[^\S\n]*+(?:
      (?:\d{{1,4}}[^\S\n]*+[,|][^\S\n]*+)?["'*]*+(?P<row>{_ROW_TYPE})["'*]*+[^\S\n]*+[,|]
    | ["'*\#]*+[^\S\n]*+overall\b(?:[^\S\n]++(?:score|rating|impression|evaluation)\b)*+[^\S\n]*+
      (?:\([^)\n]{{0,40}}\))?[^\w\n.+-]{{0,12}}
      (?P<value>{_NUMBER})(?:[^\S\n]*+(?:/|out[^\S\n]++of)[^\S\n]*+5)?["'*]*+[^\S\n]*+(?=[,|.;]|$)
    | (?:["'*]*+-?["'*]*+[^\S\n]*+[,|][^\S\n]*+){{1,6}}["'*]*+
      (?P<graded>{_NUMBER})(?:[^\S\n]*+/[^\S\n]*+5)?["'*]*+[^\S\n]*+(?=[,|]|$)
    | ["'*\#]*+[^\S\n]*+(?P<why>explanation)\b["'*]*+[^\S\n]*+[:,|]
    )""",
    re.I | re.M | re.X,
)
"""Where a row begins: a sentence's, the overall score, a row of dashes with that score, or the explanation."""
_QUOTED = r'"((?:[^"]|""){0,20000}+)"'
_CELL = re.compile(rf"[^\S\n]*+(?:{_QUOTED}[^\S\n]*+(?=[,\n]|\Z)|([^,\n]*+))(,|\n|\Z)")
_ID_SEPARATORS = re.compile(r"(?:\band\b|[\s,;&/+\[\]()])+")
_NO_COUNTERPART = frozenset({"", "-", "--", "none", "n/a", "na", "null", "nil"})
_HEADER = re.compile(r"\W*(?:(?:case\W+)?type\W+id\b|$)", re.I)


def parse_sentence_answer(answer: str, reference: Mapping[str, str], candidate: Mapping[str, str]) -> SentenceJudgement:
    r"""The judgement in an answer, whatever stands around it.

    Rows are found by their type, so that prose and code fences around them, or an open quote, spoil no other row. Ids
    say which sentence is meant, small letters for the original and capitals for the predicted report, whatever the
    type says (the paper's own template calls both "Original"). Cells may be quoted or not: an id has no comma, so that
    a sentence with commas is told from the ids after it. Markdown tables are read too. A row that does not fit is left
    out and counted in `problems`; a sentence without a row has None. The time is linear in the length of the answer.

    Args:
        answer: What the model said.
        original: The sentences of the original report that were sent, by id, in order.
        predicted: Those of the predicted report.

    >>> answer = 'Sure:\n```csv\nOriginal,a,No edema, no effusion.,"A,B",1,\nOriginal,A,"No edema.",a,0.5\n'
    >>> answer += 'Original,B,"No effusion.",a,half\n```\nOverall score: 4/5'
    >>> found = read_answer(answer, {"a": "No edema, no effusion."}, {"A": "No edema.", "B": "No effusion."})
    >>> [entry[:2] for entry in found.original], found.predicted[0][:2], found.predicted[1], found.overall
    ([(1.0, (0, 1))], (0.5, (0,)), None, 4.0)
    >>> found.problems, found.status
    ({'prose': 1, 'no number': 1, 'missing row': 1}, 'partial: 1 of 3 sentences without a score')
    """
    return _AnswerParser(reference, candidate).parse(answer)


class _Cell(NamedTuple):
    text: str
    quoted: bool


class _AnswerParser:
    """One answer being read."""

    def __init__(self, reference: Mapping[str, str], candidate: Mapping[str, str]) -> None:
        self.sides = (reference, candidate)
        self.sentences = {name: _normalize(text) for side in self.sides for name, text in side.items()}
        self.normalized_sentences = set(self.sentences.values())
        self.format_errors: Counter[str] = Counter()
        self.scores: dict[str, SentenceScore] = {}
        self.overall: float | None = None
        self.explanation = ""

    def parse(self, answer: str) -> SentenceJudgement:
        text = _CODE_FENCE.sub("", answer.replace("\r\n", "\n").replace("\r", "\n").translate(_NORMALIZED_PUNCTUATION))
        starts = list(_ROW_START.finditer(text))
        self._count_prose(text[: starts[0].start()] if starts else text)
        ends = [start.start() for start in starts[1:]] + [len(text)]
        for start, end in zip(starts, ends, strict=False):
            if start["row"]:
                self._parse_rows(text[start.start() : end])
            elif start["why"]:
                self.explanation = self.explanation or _unquote(text[start.end() : end])
            else:
                self._parse_overall(float(start["value"] or start["graded"]), text[start.end() : end])
        return self._to_judgement()

    def _parse_overall(self, value: float, rest: str) -> None:
        if not 0 <= value <= 5:
            self.format_errors["overall outside"] += 1
        elif self.overall is None:
            self.overall = value
        if rest.startswith((",", "|")):  # the explanation may stand in the same row
            self.explanation = self.explanation or _unquote(rest[1:])
        else:
            self._count_prose(rest)

    def _parse_rows(self, chunk: str) -> None:
        """The rows at the beginning of a chunk: one, or several on a line; what follows them is prose."""
        line, _, rest = chunk.partition("\n")
        if line.lstrip().startswith("|"):
            cells = [_Cell(cell.strip().strip("*"), quoted=False) for cell in line.strip().strip("|").split("|")]
        else:
            cells, rest = _split_cells(chunk)
        self._count_prose(rest)
        for place, row in enumerate(_split_rows(cells)):
            problem = self._parse_row([cell.text for cell in row], require_exact=place > 0)
            if problem:
                self.format_errors[problem] += 1

    def _parse_row(self, values: list[str], require_exact: bool) -> str | None:
        """Take the cells of a row; returns the problem that keeps it out.

        A row within a line has to give its sentence exactly: an unquoted sentence could hold what looks like a row.
        """
        while values and not values[-1]:
            values.pop()
        if values and values[0].isdecimal():  # the number of the case
            values.pop(0)
        if len(values) < 4:
            return "broken row"
        name, *middle, score = values[1:]
        name = name.strip(" .()[]:*")
        if name not in self.sentences:
            return "unknown id"
        # A sentence without quotes may have commas; ids after it may have them too. A lone cell may be either.
        first = len(middle)
        while first > (len(middle) > 1) and _looks_like_ids(middle[first - 1]):
            first -= 1
        said = _normalize(",".join(middle[:first]))
        if said != self.sentences[name] and (require_exact or (said and said in self.normalized_sentences)):
            return "other sentence"
        if not re.fullmatch(_NUMBER, score.strip("*")):
            return "no number"
        number = float(score.strip("*"))
        if number not in SCORES:
            return "outside the set"
        if name in self.scores:
            return "repeated id"
        self.scores[name] = SentenceScore(number, self._parse_counterparts(name, number, " ".join(middle[first:])))
        return None

    def _parse_counterparts(self, sentence_id: str, score: float, cell: str) -> tuple[int, ...]:
        others = list(self.sides[sentence_id in self.sides[0]])  # those of the other report
        names = [token for token in _ID_SEPARATORS.split(cell) if token.lower() not in _NO_COUNTERPART]
        self.format_errors["unknown match"] += sum(token not in others for token in names)
        matches = tuple(sorted({others.index(token) for token in names if token in others}))
        self.format_errors["match without score"] += bool(matches) != (score != 0)
        return matches

    def _count_prose(self, text: str) -> None:
        self.format_errors["prose"] += sum(not _HEADER.match(line) for line in text.split("\n") if line.strip())

    def _to_judgement(self) -> SentenceJudgement:
        original, predicted = (tuple(self.scores.get(name) for name in side) for side in self.sides)
        missing = len(self.sentences) - len(self.scores)
        self.format_errors["missing row"] += missing
        self.format_errors["no overall"] += self.overall is None
        lacks = [f"{missing} of {len(self.sentences)} sentences without a score"] if missing else []
        lacks += ["no overall score"] if self.overall is None else []
        status = f"partial: {', '.join(lacks)}" if lacks else "ok"
        if not self.scores and self.overall is None:
            status = "no judgement: nothing in the answer could be read"
        return SentenceJudgement(
            original,
            predicted,
            self.overall,
            self.explanation,
            {name: count for name, count in self.format_errors.items() if count},
            status,
        )


def _split_cells(chunk: str) -> tuple[list[_Cell], str]:
    """The cells of the first record of a text, and what follows it."""
    cells = []
    for found in _CELL.finditer(chunk):  # one after the other: a cell may be anything
        quoted, plain, end = found.groups()
        text = plain.strip().strip("\"'*").strip() if quoted is None else " ".join(quoted.replace('""', '"').split())
        cells.append(_Cell(text, quoted is not None))
        if end != ",":
            return cells, chunk[found.end() :]
    return cells, ""


def _split_rows(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    """The rows on one line: another begins where a type stands unquoted after a whole row."""
    row: list[_Cell] = []
    for cell in cells:
        if len(row) >= 4 and not cell.quoted and re.fullmatch(_ROW_TYPE, cell.text, re.I):
            yield row
            row = []
        row.append(cell)
    yield row


def _looks_like_ids(cell: str) -> bool:
    tokens = [token for token in _ID_SEPARATORS.split(cell) if token]
    return cell.lower() in _NO_COUNTERPART or all(re.fullmatch(r"[a-z]{1,2}|[A-Z]{1,2}|-", token) for token in tokens)


def _normalize(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


def _unquote(text: str) -> str:
    text = text.strip().strip("*|").strip()
    quoted = re.match(_QUOTED, text)
    return quoted[1].replace('""', '"').strip() if quoted else text.strip('"').strip()
