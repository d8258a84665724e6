"""`radreward rate`: cases for raters, as an offline page or as tasks of Label Studio."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from radreward.cli.errors import suppress_library_warnings, user_errors, warn_overwrite
from radreward.errors import InputError
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line

_SUFFIXES = {"page": ".html", "label-studio": ".json"}


def run(
    cases: Path,
    /,
    *,
    output: Path,
    criteria: str = "radcliq",
    title: str = "Rate reports",
    format: Literal["page", "label-studio"] = "page",
) -> int:
    """Write cases for raters: one offline page, or tasks of Label Studio.

    Args:
        cases: JSONL, CSV or Parquet file with the columns id, reference and candidate and, if known, group and system.
        output: File to write: .html for the page, .json for tasks; the labelling configuration is the .xml beside it.
        criteria: Types of errors: a preset or a YAML file.
        title: Title of the page.
        format: A page for any browser, or tasks of Label Studio; `radreward convert` reads the ratings of both.
    """
    with suppress_library_warnings(), user_errors(), claimed_file(output):
        from radreward.criteria import load_criteria
        from radreward.rating.cases import check_error_types, read_cases
        from radreward.rating.label_studio import write_label_studio
        from radreward.rating.rating_page import write_rating_page

        if output.suffix != _SUFFIXES[format]:
            raise InputError(f"{output}: Expected a name that ends with {_SUFFIXES[format]} for --format {format}.")
        error_types = load_criteria(criteria)
        check_error_types(error_types)
        rows = read_cases(cases)
        warn_overwrite(output)
        if format == "page":
            write_rating_page(rows, error_types, title, output)
        else:
            print_line(f"Labelling configuration: {write_label_studio(rows, error_types, output)}")
    print_line(f"{len(rows)} cases: {output}")
    return 0
