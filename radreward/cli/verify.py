"""`radreward verify`: reports corrected by what a judge says of them, and judged again."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from radreward.cli.judge import CHAT, Pairs, add_judge, asked, make_judge, read_pairs, tell
from radreward.cli.messages import quiet, readable
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.evaluation.verification import Verified

WIDTH = 100


def add(parser: ArgumentParser) -> None:
    """Its arguments."""
    add_judge(parser)
    parser.add_argument(
        "--scorers", nargs="+", default=["embedded"], help="names or folders of metrics that score before and after"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the bootstrap")
    parser.add_argument(
        "--output", required=True, type=Path, help="file for the reports; the table is written beside it"
    )


def run(options: Namespace) -> int:
    """Verify the pairs of a file; 1 where some could not be judged or corrected."""
    with quiet(), readable(building=True):
        from radreward.data.tables import extension
        from radreward.evaluation.verification import change_table, changes, verify, write_changes
        from radreward.models.judges.revising import ChatReviser, Reviser, RuleReviser
        from radreward.scorers import find, load

        extension(options.output)
        if twice := [name for name, count in Counter(options.scorers).items() if count > 1]:
            raise InputError(f"--scorers: Expected different metrics but {twice[0]} is there twice.")
        for name in options.scorers:
            find(name)
        pairs = read_pairs(options.input)
        if options.dry_run:
            print("Of the first judgement; corrections ask once a pair, the second judgement as much as the first:")
            return tell(options, pairs)
        model = asked(options) if options.judge == CHAT else None
        judge = make_judge(options, model)
        reviser: Reviser = ChatReviser(model, options.max_tokens) if model else RuleReviser()
        scorers = {name: load(name) for name in options.scorers}
        found = verify(pairs.references, pairs.candidates, judge, reviser, scorers)
        found = [entry._replace(status=why) if why else entry for entry, why in zip(found, pairs.problems, strict=True)]
        rows = changes(found, scorers, options.seed)
        _write(options.output, pairs, found, options.scorers)
        written = write_changes(rows, options.output.with_suffix(""))
    console = Console()
    if not console.is_terminal or console.width > WIDTH:
        console = Console(width=WIDTH)
    console.print(change_table(rows))
    for path in (options.output, *written):
        console.print(str(path), soft_wrap=True, highlight=False)
    failed = [(identity, entry.status) for identity, entry in zip(pairs.ids, found, strict=True) if not entry.refined]
    if failed:
        print(f"Left out: {len(failed)} of {len(found)} pairs; first {failed[0][0]}: {failed[0][1]}", file=sys.stderr)
    return 1 if failed else 0


def _write(path: Path, pairs: Pairs, found: Sequence[Verified], scorers: Sequence[str]) -> None:
    import pyarrow as pa

    from radreward.data.tables import TableWriter
    from radreward.evaluation.verification import JUDGE

    text = dict.fromkeys(("id", "reference", "candidate", "refined", "status", "explanation"), pa.string())
    change = pa.struct({"action": pa.string(), "sentence": pa.string(), "score": pa.float64()})
    columns = [f"{when}_{name}" for name in (JUDGE, *scorers) for when in ("before", "after")]
    schema = pa.schema({**text, "corrections": pa.list_(change), **dict.fromkeys(columns, pa.float64())})
    rows: list[dict[str, Any]] = []
    for identity, reference, candidate, _, entry in zip(*pairs, found, strict=True):
        row: dict[str, Any] = {"id": None if identity is None else str(identity)}
        for name, value in (("reference", reference), ("candidate", candidate)):
            row[name] = value if value is None or isinstance(value, str) else str(value)
        row |= {"refined": entry.refined, "status": entry.status}
        row["explanation"] = entry.before.explanation if entry.before else ""
        row["corrections"] = [correction._asdict() for correction in entry.corrections]
        for name in (JUDGE, *scorers):
            row[f"before_{name}"], row[f"after_{name}"] = entry.scores.get(name, (None, None))
        rows.append(row)
    with TableWriter(path, schema) as writer:
        writer.write(rows)
