"""Version of the rules that read and compare findings, so that stored scores of other rules are not used."""

from __future__ import annotations

import inspect
from functools import cache
from pathlib import Path

from radreward import text
from radreward.criteria import error_counting, quality
from radreward.io.artifacts import fingerprint
from radreward.models import finding_classifier, finding_comparison, pair_findings, report_findings, text_encoder
from radreward.models.finding_classifier import EMBEDDED_CLASSIFIER


@cache
def rules_version() -> str:
    """Return a hash of the code, the word lists and the weights that read findings, compare them and count errors.

    >>> len(rules_version()) >= 16
    True
    """
    folder = Path(inspect.getfile(text)).parent
    models = finding_classifier, finding_comparison, pair_findings, report_findings, text_encoder
    modules = error_counting, quality, *models
    code = (*(path for path in folder.iterdir() if path.is_file()), *map(Path, map(inspect.getfile, modules)))
    return fingerprint({path.name: path for path in (*code, EMBEDDED_CLASSIFIER)})
