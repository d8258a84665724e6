"""Parser of the chat judge's answers, which counts deviations from the requested format and never guesses a score."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from radreward.data.relation_io import RELATION_SCORES
from radreward.prompts.parsing import without_code_fences
from radreward.systems.sentence_eval.judgement import SentenceJudgement, SentenceScore

FORMAT_ERRORS = {
    "prose": "lines outside the table",
    "broken row": "a row without an id, a sentence and a score; ignored",
    "unknown id": "a row about a sentence that was not sent; ignored",
    "repeated id": "a second row about a sentence; ignored",
    "wrong sentence": "a row with the text of another sentence; ignored",
    "not a number": "a row whose score is not a number; ignored",
    "invalid score": "a row whose score is not -1, 0, 0.5 or 1; ignored",
    "unknown match": "a counterpart that was not sent; ignored, the row counts",
    "match without score": "a counterpart with the score 0, or another score without a counterpart; the row counts",
    "missing row": "a sentence without a score",
    "no overall": "no overall score",
    "overall out of range": "an overall score outside 0 to 5; ignored",
}
"""Deviations of an answer from the requested format."""

_NORMALIZED_PUNCTUATION = str.maketrans(
    {**dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'), **dict.fromkeys("\u2212\u2012\u2013", "-")}
)
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
"""Start of a row: a sentence, the overall score, dashes before the overall score, or the explanation."""
_QUOTED = r'"((?:[^"]|""){0,20000}+)"'
_CELL = re.compile(rf"[^\S\n]*+(?:{_QUOTED}[^\S\n]*+(?=[,\n]|\Z)|([^,\n]*+))(,|\n|\Z)")
_ID_SEPARATORS = re.compile(r"(?:\band\b|[\s,;&/+\[\]()])+")
_NO_COUNTERPART = frozenset({"", "-", "--", "none", "n/a", "na", "null", "nil"})
_HEADER = re.compile(r"\W*(?:(?:case\W+)?type\W+id\b|$)", re.I)


def parse_sentence_answer(answer: str, reference: Mapping[str, str], candidate: Mapping[str, str]) -> SentenceJudgement:
    r"""Return the judgement in an answer, without raising and in time linear in the answer's length.

    A row starts with its type, such as "Original". Prose, code fences and open quotes between rows are ignored. The id
    identifies the sentence: lowercase in the reference, uppercase in the candidate. The type does not, because the
    paper's template calls both reports "Original". Cells may be unquoted, and a sentence may contain commas, because
    ids contain none. Markdown tables are parsed too. An invalid row is ignored and counted in `format_errors`; a
    sentence without a row has the score None.

    Args:
        answer: The complete answer.
        reference: Sentences of the reference as sent, by id, in order.
        candidate: Sentences of the candidate.

    >>> answer = 'Sure:\n```csv\nOriginal,a,No edema, no effusion.,"A,B",1,\nOriginal,A,"No edema.",a,0.5\n'
    >>> answer += 'Original,B,"No effusion.",a,half\n```\nOverall score: 4/5'
    >>> judgement = parse_sentence_answer(
    ...     answer, {"a": "No edema, no effusion."}, {"A": "No edema.", "B": "No effusion."}
    ... )
    >>> judgement.reference_scores[0][:2], judgement.candidate_scores[0][:2], judgement.candidate_scores[1]
    ((1.0, (0, 1)), (0.5, (0,)), None)
    >>> judgement.overall, judgement.format_errors, judgement.status
    (4.0, {'prose': 1, 'not a number': 1, 'missing row': 1}, 'partial: 1 of 3 sentences without a score')
    """
    return _AnswerParser(reference, candidate).parse(answer)


class _Cell(NamedTuple):
    text: str
    is_quoted: bool


class _AnswerParser:
    """State of the parser of one answer."""

    def __init__(self, reference: Mapping[str, str], candidate: Mapping[str, str]) -> None:
        self.sides = (reference, candidate)
        self.sentences = {name: _normalize(text) for side in self.sides for name, text in side.items()}
        self.normalized_sentences = set(self.sentences.values())
        self.format_errors: Counter[str] = Counter()
        self.scores: dict[str, SentenceScore] = {}
        self.overall: float | None = None
        self.explanation = ""

    def parse(self, answer: str) -> SentenceJudgement:
        text = without_code_fences(answer.translate(_NORMALIZED_PUNCTUATION))
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
            self.format_errors["overall out of range"] += 1
        elif self.overall is None:
            self.overall = value
        if rest.startswith((",", "|")):  # the explanation in the same row
            self.explanation = self.explanation or _unquote(rest[1:])
        else:
            self._count_prose(rest)

    def _parse_rows(self, chunk: str) -> None:
        """Parse the rows in the first record of a chunk, and count the rest as prose."""
        line, _, rest = chunk.partition("\n")
        if line.lstrip().startswith("|"):
            cells = [_Cell(cell.strip().strip("*"), is_quoted=False) for cell in line.strip().strip("|").split("|")]
        else:
            cells, rest = _split_cells(chunk)
        self._count_prose(rest)
        for index, row in enumerate(_split_rows(cells)):
            if format_error := self._parse_row([cell.text for cell in row], require_exact=index > 0):
                self.format_errors[format_error] += 1

    def _parse_row(self, values: list[str], require_exact: bool) -> str | None:
        """Store the score of a row, or return the format error that invalidates it.

        A second row in one line must repeat its sentence exactly: an unquoted sentence may look like a row.
        """
        while values and not values[-1]:
            values.pop()
        if values and values[0].isdecimal():  # number of the case
            values.pop(0)
        if len(values) < 4:
            return "broken row"
        name, *middle, score = values[1:]
        name = name.strip(" .()[]:*")
        if name not in self.sentences:
            return "unknown id"
        # Unquoted, the sentence and the ids after it may take several cells. A single cell may be either of them.
        first_id = len(middle)
        while first_id > (len(middle) > 1) and _looks_like_ids(middle[first_id - 1]):
            first_id -= 1
        text = _normalize(",".join(middle[:first_id]))
        if text != self.sentences[name] and (require_exact or (text and text in self.normalized_sentences)):
            return "wrong sentence"
        if not re.fullmatch(_NUMBER, score.strip("*")):
            return "not a number"
        number = float(score.strip("*"))
        if number not in RELATION_SCORES:
            return "invalid score"
        if name in self.scores:
            return "repeated id"
        counterparts = self._parse_counterparts(name, number, " ".join(middle[first_id:]))
        self.scores[name] = SentenceScore(number, counterparts)
        return None

    def _parse_counterparts(self, sentence_id: str, score: float, cell: str) -> tuple[int, ...]:
        other_ids = list(self.sides[sentence_id in self.sides[0]])
        names = [token for token in _ID_SEPARATORS.split(cell) if token.lower() not in _NO_COUNTERPART]
        self.format_errors["unknown match"] += sum(name not in other_ids for name in names)
        matches = tuple(sorted({other_ids.index(name) for name in names if name in other_ids}))
        self.format_errors["match without score"] += bool(matches) != (score != 0)
        return matches

    def _count_prose(self, text: str) -> None:
        self.format_errors["prose"] += sum(not _HEADER.match(line) for line in text.split("\n") if line.strip())

    def _to_judgement(self) -> SentenceJudgement:
        reference, candidate = (tuple(self.scores.get(name) for name in side) for side in self.sides)
        num_missing = len(self.sentences) - len(self.scores)
        self.format_errors["missing row"] += num_missing
        self.format_errors["no overall"] += self.overall is None
        missing = [f"{num_missing} of {len(self.sentences)} sentences without a score"] if num_missing else []
        missing += ["no overall score"] if self.overall is None else []
        status = f"partial: {', '.join(missing)}" if missing else "ok"
        if not self.scores and self.overall is None:
            status = "no judgement: the answer cannot be parsed"
        format_errors = {name: count for name, count in self.format_errors.items() if count}
        return SentenceJudgement(reference, candidate, self.overall, self.explanation, format_errors, status)


def _split_cells(chunk: str) -> tuple[list[_Cell], str]:
    """Return the cells of the first record of a text, and the rest of the text."""
    cells = []
    for match in _CELL.finditer(chunk):  # matches are adjacent, since a cell may be any text
        quoted, plain, end = match.groups()
        text = plain.strip().strip("\"'*").strip() if quoted is None else " ".join(quoted.replace('""', '"').split())
        cells.append(_Cell(text, quoted is not None))
        if end != ",":
            return cells, chunk[match.end() :]
    return cells, ""


def _split_rows(cells: Sequence[_Cell]) -> Iterator[list[_Cell]]:
    """Yield the rows in one line. A new row starts at an unquoted type after a complete row."""
    row: list[_Cell] = []
    for cell in cells:
        if len(row) >= 4 and not cell.is_quoted and re.fullmatch(_ROW_TYPE, cell.text, re.I):
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
