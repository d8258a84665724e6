"""Arguments of all commands but `fit`, whose arguments are the constructors of what it builds."""

from __future__ import annotations

from argparse import ArgumentDefaultsHelpFormatter, ArgumentParser, Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from radreward.cli import (
    benchmark,
    compare,
    convert,
    summarize,
    tune,
)
from radreward.cli import (
    fit_regressor as regress,
)
from radreward.cli import (
    judge_sentences as judge,
)
from radreward.cli import (
    refine as verify,
)
from radreward.cli import (
    synthesize_llm as write,
)
from radreward.errors import InputError

MODEL = "`embedded`, the folder of a saved model, or the folder of a run"


class Parser(ArgumentParser):
    """Tells what is wrong in one line, as everything here does."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of printing the usage."""
        raise InputError(f"{message}. See `{self.prog} --help`.")


def parse(arguments: Sequence[str]) -> Namespace:
    """The options of a command, named in `command`.

    Raises:
        InputError: If they do not fit.
    """
    parser = Parser("radreward", description="Train and use metrics that judge radiology reports.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    commands.add_parser("fit", help="train a reward model: --config FILE [--dotted.key=value ...]")
    _evaluate(_command(commands, "evaluate", "compare a model's scores with known errors"))
    _score(_command(commands, "score", "score candidates in a file against their references"))
    tune.add(_command(commands, "tune", "search settings of fit for those that make a metric best"))
    compare.add(_command(commands, "compare", "show finished runs side by side, over seeds, with a paired test"))
    summarize.add(
        _command(commands, "summarize", "tell what errors a report generator makes, of reports scored with reasons")
    )
    benchmark.add(_command(commands, "benchmark", "compare metrics with what people made of reports"))
    convert.add(_command(commands, "convert", "make rated pairs, the input of benchmark, of published files or groups"))
    regress.add(_command(commands, "regress", "fit the overall score of sentences to known errors or ratings"))
    _synthesize(_command(commands, "synthesize", "make training groups with exact errors from reports or from nothing"))
    judge.add(_command(commands, "judge", "judge reports sentence by sentence, by a language model or without one"))
    verify.add(_command(commands, "verify", "correct reports by what a judge says of them, and judge them again"))
    write.add(_command(commands, "write", "let a language model write training data, and check it"))
    write.add_sheet(_command(commands, "check-sheet", "tell how far a person agrees with what a language model wrote"))
    return parser.parse_args(arguments)


def _command(commands: object, name: str, text: str) -> ArgumentParser:
    add = commands.add_parser  # type: ignore[attr-defined]  # argparse gives its return type no public name
    made: ArgumentParser = add(
        name, help=text, description=text[0].upper() + text[1:] + ".", formatter_class=ArgumentDefaultsHelpFormatter
    )
    return made


def _evaluate(parser: ArgumentParser) -> None:
    parser.add_argument("--model", default="embedded", help=MODEL)
    parser.add_argument("--data", required=True, type=Path, help="groups or pairs with known errors")
    parser.add_argument("--output", type=Path, default=None, help="JSON file for the figures; none is written without")
    parser.add_argument(
        "--criteria",
        default=None,
        help="preset or YAML by which errors are stated; the model's own where it has any",
    )
    _scoring(parser)


def _score(parser: ArgumentParser) -> None:
    parser.add_argument("--model", default="embedded", help=MODEL)
    parser.add_argument(
        "--input", required=True, type=Path, help="JSONL, CSV or Parquet with id, reference and candidate"
    )
    parser.add_argument("--output", required=True, type=Path, help="file to write, JSONL, CSV or Parquet by its name")
    parser.add_argument("--engine", choices=("local", "ray"), default="local", help="this process, or Ray's workers")
    parser.add_argument("--workers", type=int, default=2, help="with ray: how many, a core each")
    parser.add_argument("--ray-address", default=None, help="of a cluster, or auto; one is started here without")
    _scoring(parser)


def _scoring(parser: ArgumentParser) -> None:
    parser.add_argument("--precision", choices=("fp32", "int8"), default="fp32", help="of the backbone; int8 is faster")
    parser.add_argument(
        "--too-long",
        choices=("reject", "truncate"),
        default="reject",
        help="what a report over the model's limit does; both are told in its status",
    )


def _synthesize(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--reports", type=Path, default=None, help="file with reports to edit; without it reports are generated"
    )
    parser.add_argument("--column", default=None, help="column of --reports with the text, if it has no usual name")
    parser.add_argument(
        "--length",
        choices=("report", "statement", "plain"),
        default="report",
        help="of generated texts: whole reports, single statements, from which a model learns "
        "words faster, or a few findings in plain words, for a model that learns to read from nothing",
    )
    parser.add_argument("--most", type=int, default=None, help="most findings of a plain report; 4 if not given")
    parser.add_argument("--criteria", default="radcliq-significance", help="a preset or a YAML file")
    parser.add_argument("--groups", type=int, default=10_000, help="how many references")
    parser.add_argument("--per-reference", type=int, default=3, help="candidates for each reference")
    parser.add_argument("--seed", type=int, default=0, help="equal seeds make equal files")
    parser.add_argument("--output", required=True, type=Path, help="folder for groups.parquet and its data card")
