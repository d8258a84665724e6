"""Texts of `--help`: a short usage, within the width of the terminal, and one text per option."""

from __future__ import annotations

import re
import shutil
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from jsonargparse import DefaultHelpFormatter

from radreward.cli.arguments import OPTIONS
from radreward.cli.fit_options import SETTINGS_HELP

_INDENT = 20


def command_list(summaries: Mapping[str, str]) -> str:
    """Return the help of `radreward` without a command, as wide as the terminal.

    Args:
        summaries: Sentence about each command, by name.
    """
    width = shutil.get_terminal_size().columns - 2  # as argparse
    rows = [_fill(text, width, f"  {name:<{_INDENT - 2}}", " " * _INDENT) for name, text in summaries.items()]
    notes = (
        "`radreward COMMAND --help` lists the options of a command.",
        "`radreward --version` prints the version.",
        "`radreward --print-completion SHELL` prints a script that completes commands in bash, zsh or tcsh.",
    )
    about = "Train and use metrics that judge radiology reports. For research only."
    head = ("usage: radreward COMMAND [options]", "", _fill(about, width), "", "commands:")
    return "\n".join((*head, *rows, "", *(_fill(note, width) for note in notes)))


def _fill(text: str, width: int, first_indent: str = "", indent: str = "") -> str:
    lines = textwrap.wrap(text, width, initial_indent=first_indent, subsequent_indent=indent, break_on_hyphens=False)
    return "\n".join(lines)


class CommandHelpFormatter(DefaultHelpFormatter):
    """A help formatter without types; it shows defaults, except those of required options and of flags."""

    def add_usage(self, usage: str | None, actions: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        """Add the usage with the required options only; the list below it has all."""
        super().add_usage(usage or self._short_usage(list(actions)), actions, *args, **kwargs)

    def _short_usage(self, actions: list[Any]) -> str:
        required = [action for action in actions if action.option_strings and action.required]
        parts = [f"{action.option_strings[0]} {self._format_args(action, '')}" for action in required]
        parts += [self._format_args(action, action.dest) for action in actions if not action.option_strings]
        command = self._prog.replace(" ", "\N{NO-BREAK SPACE}")
        text = _fill(" ".join([command, *parts, "[options]"]), self._width - 7, indent=" " * 9)
        return text.replace("\N{NO-BREAK SPACE}", " ").replace("%", "%%")

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _fill(" ".join(text.split()), width).splitlines()

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return _fill(" ".join(text.split()), width, indent, indent)

    def _get_help_string(self, action: Any) -> str:
        text: str = action.help or ""
        if action.required or action.default in (None, False, [], "==SUPPRESS=="):
            return f"{text} (required)" if action.required and action.option_strings else text
        default = " ".join(map(str, action.default)) if isinstance(action.default, list) else str(action.default)
        return f"{text} (default: {default})".replace("%", "%%")


class FitHelpFormatter(CommandHelpFormatter):
    """The help of `fit`: options as users write them; texts of Lightning without the markup of its documentation."""

    def add_usage(self, usage: str | None, actions: Iterable[Any], *args: Any, **kwargs: Any) -> None:
        """Add the usage with a file of settings."""
        super().add_usage(f"{self._prog} --config FILE [options]", actions, *args, **kwargs)

    def start_section(self, heading: str | None) -> None:
        """Start a group of options, with a heading in lines of the terminal's width."""
        self._has_links = heading == "Linked arguments"  # settings that follow from others, with internal names
        super().start_section(_fill(heading or "", self._width - 1))

    def add_arguments(self, actions: Iterable[Any]) -> None:
        """Add the options of a group, except the links between settings."""
        super().add_arguments([] if self._has_links else actions)

    def _format_action_invocation(self, action: Any) -> str:
        names = [name for name in action.option_strings if not name.endswith("+")]
        if len(names) == 1 and "." not in names[0]:
            name = names[0].removeprefix("--")
            names = [f"--{OPTIONS.get(name, name).replace('_', '-')}"]
        value = "" if action.nargs == 0 else f" {self._value_name(action)}".rstrip()
        return ", ".join(f"{name}{value}" for name in names)

    def _value_name(self, action: Any) -> str:
        if action.dest in SETTINGS_HELP and action.dest != "print_config":
            return {"seed_everything": "N", "config": "FILE", "trainer": "FILE"}.get(action.dest, "NAME")
        return self._format_args(action, action.dest.rpartition(".")[2].rpartition("_")[2].upper())

    def _get_help_string(self, action: Any) -> str:
        if text := SETTINGS_HELP.get(action.dest):
            return text
        text = super()._get_help_string(action)
        text = re.sub(r"\s*Default: ``.*?``\.?", "", text)
        text = re.sub(r":\w+:`~[\w.]*?(\w+)`", r"`\1`", text)
        return re.sub(r":\w+:`([^`]*)`", r"`\1`", text).replace("``", "`")
