"""Errors caused by user input: the command line prints them as one line and exits with status 2."""

__all__ = ["InputError", "TooLongError"]


class InputError(ValueError):
    """An unusable file, row, field or setting. The message names it and states what was expected."""


class TooLongError(InputError):
    """A prompt or an answer over the limit of a collator. The message names it and the setting of the limit."""
