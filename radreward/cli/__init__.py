"""The command line: `radreward fit | evaluate | score | synthesize`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from radreward.cli.parser import parse
from radreward.errors import InputError

if TYPE_CHECKING:
    from radreward.cli.training import TrainingRun as TrainingRun
    from radreward.cli.training import build as build

__all__ = ["build", "main"]


def __getattr__(name: str) -> Any:
    """`build`, imported when it is first asked for: `radreward --help` stays fast."""
    if name == "build":
        from radreward.cli.training import build

        return build
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command. What stops it is told in one line on stderr.

    Returns:
        0; 1 where rows were rejected; 2 for input that cannot be used; 130 after Ctrl-C.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if given[:1] == ["fit"]:
            from radreward.cli.commands import fit

            return fit(given[1:])
        options = parse(given)
        from radreward.cli import (
            benchmark,
            commands,
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

        command = {
            "evaluate": commands.evaluate,
            "score": commands.score,
            "synthesize": commands.synthesize,
            "tune": tune.run,
            "compare": compare.run,
            "write": write.run,
            "check-sheet": write.check_sheet,
            "judge": judge.run,
            "verify": verify.run,
            "benchmark": benchmark.run,
            "convert": convert.run,
            "regress": regress.run,
            "summarize": summarize.run,
        }
        return command[options.command](options)
    except InputError as error:
        from radreward.cli.errors import one_line

        print(f"radreward: {one_line(error)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt as error:
        print(f"radreward: interrupted. {str(error) or 'Run the same command again.'}", file=sys.stderr)
        return 130
