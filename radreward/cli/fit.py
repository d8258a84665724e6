"""`radreward fit`: train any module; the constructors of what it builds are its options."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from radreward.cli.errors import user_errors
from radreward.cli.metric_rows import metric_legend, ordered_rows
from radreward.io.console import make_console, print_paths
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_line


def run(arguments: Sequence[str]) -> int:
    """Train a model: --config FILE, then --dotted.key=value for single settings.

    Args:
        arguments: The command line of `fit`.

    Raises:
        InputError: If a setting, the data or the run's folder cannot be used.
        KeyboardInterrupt: After Ctrl-C; the message is the command that continues the run.
    """
    from radreward.cli.training import build_from_arguments
    from radreward.modules.agreement_metrics import render_metric_table

    with user_errors(constructing=True):
        training = build_from_arguments(arguments)
    folder = training.run_folder
    try:
        with claimed_folder(folder.folder if training.trainer.is_global_zero else None):
            result = training.fit()
    except KeyboardInterrupt as error:
        if not folder.last.is_file():
            raise KeyboardInterrupt("No checkpoint was written: start again with --overwrite.") from error
        again = shlex.join(entry for entry in arguments if not entry.startswith(("--ckpt", "--overwrite")))
        raise KeyboardInterrupt(f"Continue with: radreward fit {again} --ckpt-path=last") from error
    if training.trainer.is_global_zero:
        result = ordered_rows(result)
        make_console().print(render_metric_table(result, "Validation part", training.module.row_label))
        if legend := metric_legend(result):
            print_line(legend)
        print_paths(
            (
                ("model", folder.model),
                ("metrics", folder.metrics),
                ("checkpoints", folder.checkpoints),
                ("settings", folder.config),
                ("logs", folder.logs),
            )
        )
    return 0
