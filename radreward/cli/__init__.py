"""The command line, `radreward COMMAND`, and `build`, which creates what a configuration describes."""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from radreward._lazy_imports import lazy_exports
from radreward.errors import InputError
from radreward.io.terminal import ClosedOutputError, print_status

if TYPE_CHECKING:
    from radreward.cli.training import TrainingRun, build

__all__ = ["TrainingRun", "build", "main"]

# OpenMP reads this when torch is imported. By default its idle threads spin, which takes processor time from the busy
# thread if other programs run. A script that calls `main` may import torch before the call, hence here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
# Read when oneDNN and the layer of torch above it compute first. By default, each keeps kernels for 1,024 shapes of
# batches, about 0.1 MiB each.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
os.environ.setdefault("LRU_CACHE_CAPACITY", "64")

_NEW_OBJECTS = 10_000
"""New objects after which Python looks for garbage. With its own 700 or 2,000, a fifth of a start goes into this, since
imports make a million objects that stay."""

__getattr__ = lazy_exports(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; print an error as one line on stderr.

    Args:
        arguments: The command and its options; defaults to those of the process.

    Returns:
        0 on success, 1 if rows were rejected, 2 for unusable input or an output that cannot be written, 130 after
        Ctrl-C, 141 if the reader of the output has closed the pipe.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(max(thresholds[0], _NEW_OBJECTS) if thresholds[0] else 0, *thresholds[1:])
    from radreward.cli.parser import run_command

    try:
        code = run_command(sys.argv[1:] if arguments is None else arguments)
        sys.stdout.flush()
        return code
    except (InputError, OSError) as error:
        from radreward.cli.errors import discard_unwritable_output, error_line

        discard_unwritable_output()
        if isinstance(error, ClosedOutputError):
            return 141  # as a shell reports a program that SIGPIPE has ended
        print_status(f"radreward: {error_line(error)}")
        return 2
    except KeyboardInterrupt as error:
        print_status(f"radreward: interrupted. {str(error) or 'Run the same command again.'}")
        return 130
    finally:
        gc.set_threshold(*thresholds)
