"""Errors that are the user's to mend: `main` prints them as one line and exits with 2."""


class InputError(ValueError):
    """A file, row, field or setting that cannot be used; the message names it and says what was expected."""
