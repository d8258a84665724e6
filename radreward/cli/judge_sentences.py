"""`radreward judge`: reports judged sentence by sentence, by a language model or by the judge of the package."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.cli.errors import suppress_library_warnings, user_errors
from radreward.cli.llm_options import add_chat, chat_model
from radreward.errors import InputError
from radreward.types import SentenceJudgement

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.io.tables import AtomicTableWriter
    from radreward.llm import ChatModel
    from radreward.systems.sentence_eval.judges import ChatJudge, RelationJudge, SentenceJudge

CHAT = "chat"
CHUNK = 256
"""Pairs that are judged together and kept."""


class ReportPairs(NamedTuple):
    """Reports of a file, in its order; what is no text is None or as it was."""

    ids: list[Any]
    references: list[Any]
    candidates: list[Any]
    problems: list[str | None]
    """Why a row cannot be judged; None where it can."""


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    add_judge(parser)
    parser.add_argument("--output", required=True, type=Path, help="file to write: JSONL, CSV or Parquet by its name")


def add_judge(parser: ArgumentParser) -> None:
    """Arguments of commands that judge the pairs of a file."""
    parser.add_argument(
        "--input", required=True, type=Path, help="JSONL, CSV or Parquet with id, reference and candidate"
    )
    parser.add_argument(
        "--judge",
        default="embedded",
        help="`embedded`, the folder or run of a judge that was trained here, or `chat` for a language model",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="with chat: tell how much would be asked, and ask nothing"
    )
    group = parser.add_argument_group("with --judge chat")
    group.add_argument("--instruction", choices=("simplistic", "detailed"), default="detailed", help="what it is told")
    group.add_argument("--shots", type=int, default=5, help="examples that it is shown first")
    group.add_argument(
        "--examples", type=Path, default=None, help="YAML file of examples; those of the package without"
    )
    group.add_argument("--no-explanation", action="store_true", help="do not ask why")
    group.add_argument("--repetitions", type=int, default=3, help="how often it is asked about a pair")
    group.add_argument("--temperature", type=float, default=1.0, help="how freely it answers")
    add_chat(parser, max_tokens=4096)


def run(options: Namespace) -> int:
    """Judge the pairs of a file; 1 where some could not be judged, or not wholly."""
    with suppress_library_warnings(), user_errors(constructing=True):
        from radreward.io.tables import AtomicTableWriter
        from radreward.scoring.resume import check_output
        from radreward.systems.sentence_eval.judges import count_statuses

        check_output(options.output, options.input)
        pairs = read_report_pairs(options.input)
        if options.dry_run:
            return print_dry_run(options, pairs)
        judge = make_judge(options, make_chat_model(options) if options.judge == CHAT else None)
        judgements: list[SentenceJudgement] = []
        lacking: list[str] = []
        made = resumable_rows(options, pairs, {"judge": judge.fingerprint()}, partial(_judged, judge, pairs))
        with made as chunks, AtomicTableWriter(options.output, _schema()) as writer:
            for place, row in enumerate(write_through(writer, chunks)):
                if pairs.problems[place] is None:
                    judgements.append(SentenceJudgement((), (), None, "", row["problems"], row["status"]))
                if row["status"] != "ok":
                    lacking.append(f"{row['id']}: {row['status']}")
    for name, count in count_statuses(judgements).items():
        print(f"{name}: {count}")
    print(f"Judgements: {options.output}")
    if lacking:
        told = f"{len(lacking)} of {len(pairs.ids)} pairs; first {lacking[0]}"
        print(f"Not or not wholly judged: {told}", file=sys.stderr)
    return 1 if lacking else 0


@contextmanager
def resumable_rows(
    options: Namespace, pairs: ReportPairs, made_of: Mapping[str, Any], make: Callable[[slice], list[dict[str, Any]]]
) -> Iterator[Iterable[list[dict[str, Any]]]]:
    """The rows of the output, chunk by chunk; those that a run that was killed had made are not made again.

    A language model is asked about all pairs at once: its answers are kept one by one.

    Args:
        options: Of the command.
        pairs: What the rows are of.
        made_of: What they depend on beside the input.
        make: Makes those of a slice of the pairs.
    """
    if options.judge == CHAT:
        yield [make(slice(0, len(pairs.ids)))]
        return
    from radreward.data.records import file_fingerprint
    from radreward.scoring.resume import ChunkStore, compute_missing

    parts = ChunkStore(options.output, {"input": file_fingerprint(options.input), **made_of, "chunk": CHUNK})
    yield compute_missing(parts, options.output, len(pairs.ids), CHUNK, "judged", make)
    parts.remove()  # the block has written the output


def write_through(writer: AtomicTableWriter, chunks: Iterable[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """The rows, once they are written."""
    for rows in chunks:
        writer.write(rows)
        yield from rows


def _judged(judge: SentenceJudge, pairs: ReportPairs, part: slice) -> list[dict[str, Any]]:
    """Rows of some pairs."""
    from radreward.text.sentence_splitter import split_sentences

    ids, references, candidates, problems = (
        pairs.ids[part],
        pairs.references[part],
        pairs.candidates[part],
        pairs.problems[part],
    )
    good = [place for place, found in enumerate(problems) if found is None]
    sides = [[split_sentences(side[place]) for place in good] for side in (references, candidates)]
    rows = [_row(identity, [], [], None, found or "") for identity, found in zip(ids, problems, strict=True)]
    for place, ours, theirs, judgement in zip(good, *sides, judge.judge(*sides), strict=True):
        rows[place] = _row(ids[place], ours, theirs, judgement, judgement.status)
    return rows


def _schema() -> Schema:
    import pyarrow as pa

    sentence = {"id": pa.string(), "sentence": pa.string(), "score": pa.float64(), "match": pa.list_(pa.string())}
    sides = dict.fromkeys(("original", "predicted"), pa.list_(pa.struct(sentence)))
    whole = {"id": pa.string(), "overall": pa.float64(), "status": pa.string(), "explanation": pa.string()}
    return pa.schema({**whole, **sides, "problems": pa.map_(pa.string(), pa.int64())})


def _row(
    identity: Any, ours: Sequence[str], theirs: Sequence[str], judgement: SentenceJudgement | None, status: str
) -> dict[str, Any]:
    from radreward.systems.sentence_eval.prompt import sentence_ids

    names = sentence_ids(len(ours)), sentence_ids(len(theirs), uppercase=True)
    row: dict[str, Any] = {"id": None if identity is None else str(identity), "overall": None, "status": status}
    row |= {"explanation": "", "original": [], "predicted": [], "problems": {}}
    if judgement is None:
        return row
    row |= {"overall": judgement.overall, "explanation": judgement.explanation, "problems": judgement.format_errors}
    for side, texts, scores in ((0, ours, judgement.reference_scores), (1, theirs, judgement.candidate_scores)):
        row["predicted" if side else "original"] = [
            {
                "id": name,
                "sentence": text,
                "score": None if score is None else score.score,
                "match": [] if score is None else [names[1 - side][match] for match in score.matches],
            }
            for name, text, score in zip(names[side], texts, scores, strict=True)
        ]
    return row


def read_report_pairs(path: Path) -> ReportPairs:
    """The pairs of a file; a row that cannot be read has neither report.

    Raises:
        InputError: If the file cannot be read, has no row that can be, or lacks a column.
    """
    from radreward.io.tables import read_rows
    from radreward.scorers.base import validate_pair

    pairs, usable = ReportPairs([], [], [], []), False
    for row in (row for batch in read_rows(path) for row in batch):
        for name in ("id", "reference", "candidate"):
            if not row.error and name not in row.values:
                raise InputError(f"{path}, row {row.number}: Expected a column {name!r}.")
        usable = usable or row.error is None
        pairs.ids.append(row.values.get("id", f"row {row.number}"))
        for side, name in ((pairs.references, "reference"), (pairs.candidates, "candidate")):
            side.append(None if row.error else row.values[name])
        found = validate_pair(pairs.references[-1], pairs.candidates[-1])
        pairs.problems.append(row.error or (found.reason if found else None))
    if not pairs.ids:
        raise InputError(f"{path}: Expected at least one row but there is none.")
    if not usable:
        raise InputError(
            f"{path}: Expected at least one row that can be read but there is none; row 1: {pairs.problems[0]}."
        )
    return pairs


def make_judge(options: Namespace, model: ChatModel | None) -> SentenceJudge:
    """The judge that the arguments mean; a chat judge asks `model`.

    Raises:
        InputError: If there is none such.
        ValueError: If a number is out of its range.
    """
    if model is not None:
        return _chat_judge(options, model)
    return load_judge(options.judge, CHAT)


def load_judge(name: str, *others: str) -> RelationJudge:
    """A judge that needs no language model.

    Args:
        name: `embedded`, or the folder of a judge or of a run.
        others: What might have been asked for besides.

    Raises:
        InputError: If there is none such.
    """
    from radreward.systems.sentence_eval.artifact import CONFIG
    from radreward.systems.sentence_eval.judges import RelationJudge
    from radreward.systems.sentence_eval.judges.relation_judge import EMBEDDED_JUDGE

    if name != EMBEDDED_JUDGE and not Path(name).is_dir():
        expected = ", ".join((EMBEDDED_JUDGE, *others))
        raise InputError(f"--judge: Expected {expected} or the folder of a judge but got {name!r}.")
    inside = Path(name, "model")  # of a run
    return RelationJudge.from_pretrained(inside if (inside / CONFIG).is_file() else name)


def make_chat_model(options: Namespace) -> ChatModel:
    """The language model; its answers are kept beside the output."""
    return chat_model(options, options.output.with_name(f"{options.output.name}.answers.sqlite"))


def _chat_judge(options: Namespace, model: ChatModel) -> ChatJudge:
    from radreward.systems.sentence_eval.judges import ChatJudge
    from radreward.systems.sentence_eval.prompt import SentencePrompt

    prompt = SentencePrompt(options.instruction, options.shots, not options.no_explanation, options.examples)
    return ChatJudge(model, prompt, options.repetitions, options.temperature, options.max_tokens)


def print_dry_run(options: Namespace, pairs: ReportPairs) -> int:
    """How much a chat judge would be asked.

    Raises:
        InputError: If no language model is asked.
    """
    from radreward.llm import DryRunChatModel, estimate_volume
    from radreward.text.sentence_splitter import split_sentences

    if options.judge != CHAT:
        raise InputError("--dry-run: Expected --judge chat: no other judge asks a language model.")
    good = [place for place, found in enumerate(pairs.problems) if found is None]
    sides = [[split_sentences(side[place]) for place in good] for side in (pairs.references, pairs.candidates)]
    print(estimate_volume(_chat_judge(options, DryRunChatModel()).build_requests(*sides)))
    print("Dry run: nothing was sent. Every request holds two whole reports.")
    return 0
