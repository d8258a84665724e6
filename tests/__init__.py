"""Tests; a package, so that the `tests` that the `radgraph` package installs does not hide it."""
