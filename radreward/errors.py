"""Errors caused by user input: the command line prints them as one line and exits with status 2."""

from collections.abc import Iterable

__all__ = ["InputError", "TooLongError"]


class InputError(ValueError):
    """An unusable file, row, field or setting. The message names it and states what was expected."""


class TooLongError(InputError):
    """A prompt or an answer over the limit of a collator. The message names it and the setting of the limit."""


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Check that a setting is one of its choices.

    Raises:
        ValueError: If it is not. The message names the setting and the choices.

    >>> check_choice("packing", "columns", ("tree", "rows"))
    Traceback (most recent call last):
    ValueError: Expected `packing` to be tree or rows but got 'columns'.
    """
    expected = tuple(choices)
    if value not in expected:
        *others, last = expected
        raise ValueError(f"Expected `{name}` to be {', '.join(others)} or {last} but got {value!r}.")
