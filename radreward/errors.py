"""Errors caused by user input: the command line prints them as one line and exits with status 2."""

__all__ = ["InputError"]


class InputError(ValueError):
    """An unusable file, row, field or setting. The message names it and states what was expected."""
