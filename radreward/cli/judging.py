"""Sentence judges for the commands that use one: options, reading pairs, resumable rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.cli.errors import user_errors
from radreward.errors import InputError
from radreward.io.terminal import print_line

if TYPE_CHECKING:
    from radreward.cli.llm_options import LLMOptions
    from radreward.llm import ChatModel
    from radreward.scoring.input_columns import InputColumns
    from radreward.systems.sentence_eval.judges import ChatJudge, RelationJudge, SentenceJudge
    from radreward.systems.sentence_eval.scorer import SentenceScorer

_CHAT = "chat"
CHUNK_SIZE = 256
"""Pairs that are judged together and stored."""


@dataclass(frozen=True)
class JudgeOptions:
    """Choice of a sentence judge, and the prompt of a chat judge.

    Args:
        judge: `embedded`, or the folder of a trained judge or of its run; or `chat` for a language model.
        instruction: With chat: `detailed`, `simplistic`, or a text file with the task in your own wording; the
            format of the answer is added.
        shots: With chat: number of examples in the prompt.
        examples: With chat: YAML file of examples; by default those of the package.
        no_explanation: With chat: ask for no explanation.
        repetitions: With chat: number of answers per pair, which are averaged.
    """

    judge: str = "embedded"
    instruction: str = "detailed"
    shots: int = 5
    examples: Path | None = None
    no_explanation: bool = False
    repetitions: int = 3

    @property
    def uses_chat(self) -> bool:
        """True if a language model judges."""
        return self.judge == _CHAT

    def make_judge(self, llm: LLMOptions, model: ChatModel | None) -> SentenceJudge:
        """Return the judge; `llm` and `model` are for a chat judge, `model` is None for any other.

        Raises:
            InputError: If there is no such judge, or a number is out of range.
        """
        return load_judge(self.judge, _CHAT) if model is None else self._chat_judge(llm, model)

    def print_request_volume(self, llm: LLMOptions, pairs: ReportPairs, refine: bool) -> None:
        """Print how many requests and tokens a chat judge would send; with `refine`, also that corrections follow.

        Raises:
            InputError: If the judge is not a language model.
        """
        from radreward.llm import DryRunChatModel, estimate_volume

        if not self.uses_chat:
            raise InputError(f"--dry-run: Expected --judge chat, which sends requests, but got {self.judge}.")
        if refine:
            print_line("First judgement; corrections send one request per pair, the second judgement as many again:")
        print_line(estimate_volume(self._chat_judge(llm, DryRunChatModel()).build_requests(*pairs.valid_sentences())))
        print_line("Dry run: nothing was sent. Every request contains two whole reports.")

    def _chat_judge(self, llm: LLMOptions, model: ChatModel) -> ChatJudge:
        from radreward.systems.sentence_eval.judges import ChatJudge
        from radreward.systems.sentence_eval.prompt import SentencePrompt

        with user_errors(constructing=True):
            prompt = SentencePrompt(self.instruction, self.shots, not self.no_explanation, self.examples)
            return ChatJudge(model, prompt, self.repetitions, llm.temperature, llm.max_tokens)


def load_judge(name: str, *alternatives: str) -> RelationJudge:
    """Return a trained judge.

    Args:
        name: `embedded`, or the folder of a judge or of a run.
        alternatives: Other values of the option, for the error message.

    Raises:
        InputError: If there is no such judge.
    """
    from radreward.systems.sentence_eval.artifact import CONFIG
    from radreward.systems.sentence_eval.judges import RelationJudge
    from radreward.systems.sentence_eval.judges.relation_judge import EMBEDDED_JUDGE

    if name != EMBEDDED_JUDGE and not Path(name).is_dir():
        expected = ", ".join((EMBEDDED_JUDGE, *alternatives))
        raise InputError(f"--judge: Expected {expected} or the folder of a judge but got {name!r}.")
    model_folder = Path(name, "model")  # of a run
    return RelationJudge.from_pretrained(model_folder if (model_folder / CONFIG).is_file() else name)


def load_regressor(folder: Path, judge: SentenceJudge) -> SentenceScorer:
    """Return the scorer in a folder of `fit-regressor`, or in its run, with another judge.

    Raises:
        InputError: If there is no such scorer, or it has no regressor.
    """
    from radreward.systems.sentence_eval.scorer import CONFIG, SentenceScorer

    model = folder / "model" if (folder / "model" / CONFIG).is_file() else folder
    if not (model / CONFIG).is_file():
        raise InputError(f"--regressor: Expected a folder of fit-regressor but got {folder}, which has no {CONFIG}.")
    scorer = SentenceScorer.from_pretrained(model, judge=judge)
    if scorer.regressor is None:
        raise InputError(f"--regressor: Expected a scorer with a regressor but got {folder}, which has none.")
    return scorer


class ReportPairs(NamedTuple):
    """Pairs of reports in the order of their file; an invalid report is None or the original value.

    Reports are texts, or lists of sentences if they are already split.
    """

    ids: list[Any]
    references: list[Any]
    candidates: list[Any]
    errors: list[str | None]
    """Per pair: the reason why it cannot be judged, or None."""

    @property
    def are_split(self) -> bool:
        """True if the reports are lists of sentences."""
        return any(isinstance(report, list) for report in self.references)

    @property
    def valid(self) -> list[int]:
        """Indices of the pairs that can be judged."""
        return [index for index, error in enumerate(self.errors) if error is None]

    def valid_sentences(self) -> tuple[list[list[str]], list[list[str]]]:
        """Return the sentences of the references and of the candidates that can be judged."""
        return [_sentences(self.references[i]) for i in self.valid], [
            _sentences(self.candidates[i]) for i in self.valid
        ]

    def part(self, rows: slice) -> ReportPairs:
        """Return a range of the pairs."""
        return ReportPairs(self.ids[rows], self.references[rows], self.candidates[rows], self.errors[rows])


def _sentences(report: str | list[str]) -> list[str]:
    from radreward.text.sentence_splitter import split_sentences

    return split_sentences(report) if isinstance(report, str) else report


def has_sentences(path: Path) -> bool:
    """Return True if a file has reports as lists of sentences, as `convert --from sentences` writes them.

    Raises:
        InputError: If the file cannot be read.
    """
    from radreward.io.tables import read_rows
    from radreward.io.validated_rows import RowError, parse_json_cell

    if str(path) == "-":  # standard input can be read only once
        return False
    first = next(iter(next(iter(read_rows(path)), [])), None)
    value = first.values.get("reference") if first else None
    if isinstance(value, str) and not value.startswith("["):
        return False
    try:
        return isinstance(parse_json_cell(value, "reference"), list)
    except RowError:
        return False


def read_sentence_pairs(path: Path) -> ReportPairs:
    """Read the sentences of a file of sentence scores, once per id, without the scores.

    Raises:
        InputError: If the file is invalid, or raters of a pair scored different sentences.
    """
    from radreward.systems.sentence_eval.judgement_io import read_judged_pairs

    by_id: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for pair in read_judged_pairs(path):
        sides = pair.reference, pair.candidate
        if by_id.setdefault(pair.id, sides) != sides:
            raise InputError(f"{path}, pair {pair.id!r}: Expected the same sentences from all raters.")
    references, candidates = ([list(sides[side]) for sides in by_id.values()] for side in (0, 1))
    return ReportPairs(list(by_id), references, candidates, [None] * len(by_id))


def read_report_pairs(path: Path, columns: InputColumns) -> ReportPairs:
    """Read the pairs of a file as `radreward score` does; a pair that it would reject has an error.

    Raises:
        InputError: If the file cannot be read, has no readable row, or lacks a column.
    """
    from radreward.io.tables import read_rows
    from radreward.scoring.input_scan import scan_input

    pairs, scan = ReportPairs([], [], [], []), scan_input(path, CHUNK_SIZE, columns)
    for row in (row for batch in read_rows(path) for row in batch):
        reference, candidate = (None, None) if row.error else scan.pair(row)
        error = scan.find_error(row)
        pairs.ids.append(row.values.get(scan.names.id, f"row {row.number}") if scan.names.id else row.number)
        pairs.references.append(reference)
        pairs.candidates.append(candidate)
        pairs.errors.append(error.reason if error else None)
    return pairs


@contextmanager
def resumable_rows(
    judge: JudgeOptions,
    source: Path,
    output: Path,
    pairs: ReportPairs,
    fingerprint: Mapping[str, Any],
    compute: Callable[[ReportPairs], list[dict[str, Any]]],
) -> Iterator[Iterable[list[dict[str, Any]]]]:
    """Yield the rows of an output in chunks; chunks of an interrupted run are reused.

    A language model judges all pairs at once, because its responses are cached one by one. `compute` returns one row
    per pair; `fingerprint` has the JSON values that the rows depend on, besides the input.
    """
    if judge.uses_chat:
        yield [compute(pairs)]
        return
    from radreward.io.artifacts import file_fingerprint
    from radreward.scoring.chunk_store import ChunkStore, compute_missing

    chunks = ChunkStore(output, {"input": file_fingerprint(source), **fingerprint, "chunk": CHUNK_SIZE})

    def compute_part(rows: slice) -> list[dict[str, Any]]:
        return compute(pairs.part(rows))

    yield compute_missing(chunks, output, len(pairs.ids), CHUNK_SIZE, "Judging", compute_part)
    chunks.remove()  # the block has written the output
