"""The page on which a rater reads cases, rates them and marks errors, offline and by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from radreward.criteria import Criteria
from radreward.io.atomic import write_text_file
from radreward.io.pages.html_page import build_page
from radreward.meta_evaluation.converters.rating_key import RatingCase
from radreward.meta_evaluation.converters.ratings import RATINGS_FORMAT

SCRIPTS = ("entries", "rater_store", "session", "report_cursor", "case_list", "case_view", "start_view", "main")
"""Scripts in the order of the page; a script may use earlier ones and the shared ones."""


def write_rating_page(cases: Sequence[RatingCase], criteria: Criteria, title: str, digest: str, path: Path) -> None:
    """Write a page as one file without external links, id, group or system.

    The browser saves after every change, under the digest and the name of the rater. Each rater exports one file, which
    `read_ratings` reads with the key. The names of the criteria are the types of errors.

    Args:
        cases: The cases.
        criteria: Types of errors.
        title: Title of the page.
        digest: Digest of cases and criteria, see `cases_digest`.
        path: The file to write.

    Raises:
        InputError: If the file cannot be written.
    """
    data = {
        "format": RATINGS_FORMAT,
        "title": title,
        "digest": digest,
        "criteria": [
            {"tag": entry.tag, "name": entry.name, "description": entry.description} for entry in criteria.criteria
        ],
        "cases": [{"reference": case.reference, "candidate": case.candidate} for case in cases],
    }
    write_text_file(path, build_page(title, data, files("radreward.serving.rating"), SCRIPTS).text)
