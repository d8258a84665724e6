"""The page on which a rater reads cases, rates them and marks errors, offline and by keyboard."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path

from radreward.criteria import Criteria
from radreward.io.atomic import write_text_file
from radreward.io.pages.html_page import build_page
from radreward.meta_evaluation.converters.ratings import RATINGS_FORMAT, RatingCase, cases_digest

SCRIPTS = ("ratings", "report_cursor", "case_view", "main")
"""Scripts in the order of the page; a script may use earlier ones and the shared ones."""


def write_rating_page(cases: Sequence[RatingCase], criteria: Criteria, title: str, path: Path) -> None:
    """Write a page as one file without external links.

    The browser saves after every change, under the digest of cases and criteria. Each rater exports one file, which
    `read_ratings` reads. The names of the criteria are the types of errors.

    Raises:
        InputError: If the file cannot be written.
    """
    data = {
        "format": RATINGS_FORMAT,
        "title": title,
        "digest": cases_digest(cases, criteria.tags),
        "criteria": [
            {"tag": entry.tag, "name": entry.name, "description": entry.description} for entry in criteria.criteria
        ],
        "cases": [case._asdict() for case in cases],
    }
    write_text_file(path, build_page(title, data, files("radreward.serving.rating"), SCRIPTS).text)
