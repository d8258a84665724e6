"""`radreward rate`: cases for raters, as an offline page or as tasks of Label Studio."""

from __future__ import annotations

from pathlib import Path

from radreward.cli.errors import warn_overwrite
from radreward.errors import InputError
from radreward.io.outputs import claimed_file
from radreward.io.terminal import print_line


def run(*, input: Path, output: Path, criteria: str = "radcliq", title: str = "Rate reports") -> int:
    """Write cases for raters: one offline page, or tasks of Label Studio; and the key, which raters must not see.

    The file for raters has the two reports of each case, in the order of the input. Ids, groups and systems are in
    the key, NAME.key.json beside it, which `radreward convert` reads with the files of the raters.

    Args:
        input: File of cases, in the formats that `score` reads, with the columns id, reference and candidate and, if
            known, group and system.
        output: File to write: .html for a page that any browser shows, or .json for tasks of Label Studio, with the
            labelling configuration as .xml beside it.
        criteria: Preset (see `radreward list`) or YAML file of the criteria; their names are the types of errors.
        title: Title of the page.
    """
    with claimed_file(output):
        from radreward.criteria import load_criteria
        from radreward.meta_evaluation.converters.rating_key import key_path, write_key
        from radreward.serving.rating.cases import check_error_types, read_cases
        from radreward.serving.rating.label_studio import write_label_studio
        from radreward.serving.rating.rating_page import write_rating_page

        if output.suffix not in (".html", ".json"):
            raise InputError(
                f"--output: Expected a name in .html, for a page, or .json, for Label Studio, but got {output}."
            )
        error_types = load_criteria(criteria)
        check_error_types(error_types)
        rows = read_cases(input)
        warn_overwrite(output)
        digest = write_key(rows, error_types.tags, key_path(output))
        if output.suffix == ".html":
            write_rating_page(rows, error_types, title, digest, output)
        else:
            print_line(f"Labelling configuration: {write_label_studio(rows, error_types, digest, output)}")
    print_line(f"{len(rows)} cases: {output}")
    print_line(f"Key, for you only; `radreward convert` needs it: {key_path(output)}")
    return 0
