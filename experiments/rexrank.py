"""Metrics of the ReXrank leaderboard from a file in its format (prediction.json), in one command.

The file is an object by study id, with `model_prediction` and the reference as `section_findings` and
`section_impression`, or `findings` and `impression`. The reference is "Findings: … Impression: …", as in the
leaderboard's script; a missing section is left out, where that script writes "None". Metrics that this machine cannot
use are named and left out. The columns are those of the leaderboard. RadCliQ-v1 and FineRadScore are the reciprocals of
their means; the published script does not define them. RadGraph, CheXbert, GREEN and FineRadScore were not run here.

python -m experiments.rexrank --input prediction.json --output runs/rexrank --chexbert FOLDER --green OWNER/NAME
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from pathlib import Path
from typing import Any

import pandas as pd

from radreward.errors import InputError
from radreward.io.artifacts import read_json_object
from radreward.io.atomic import write_text_file
from radreward.io.tables import write_csv
from radreward.io.text_tables import markdown_table, text_frame
from radreward.scorers import Scorer, load
from radreward.scoring.pairs import Pairs, score_pairs

METRICS = {
    "BLEU-2": "bleu-2",
    "BERTScore": "bertscore:distilroberta-base",
    "SembScore": "chexbert:{chexbert}",
    "RadGraph": "radgraph",
    "1/RadCliQ-v1": "radcliq-v1:{chexbert}",
    "RaTEScore": "ratescore",
    "GREEN": "green-official:{green}",
    "1/FineRadScore": "fineradscore:{judge}",
}
"""Column of the leaderboard → scorer; a name in braces is an option."""
_SECTIONS = (("Findings", "findings"), ("Impression", "impression"))


def read_predictions(path: Path) -> list[dict[str, str]]:
    """Return id, reference and candidate of each study.

    Raises:
        InputError: If the file has another format. The message names the study and the field.
    """
    rows = []
    for study, values in read_json_object(path).items():
        if not isinstance(values, dict):
            raise InputError(f"{path}, study {study!r}: Expected an object but got {type(values).__name__}.")
        parts = [f"{title}: {text}" for title, name in _SECTIONS if (text := _section(path, study, values, name))]
        candidate = values.get("model_prediction")
        if not parts:
            raise InputError(f"{path}, study {study!r}: Expected findings or an impression but got neither.")
        if not isinstance(candidate, str):
            raise InputError(f"{path}, study {study!r}: Expected a text as model_prediction but got {candidate!r}.")
        rows.append({"id": study, "reference": " ".join(parts), "candidate": candidate})
    if not rows:
        raise InputError(f"{path}: Expected at least one study but got none.")
    return rows


def _section(path: Path, study: str, values: dict[str, Any], name: str) -> str:
    """Return the text of a section; empty if it is missing, null or NaN."""
    text = values.get(f"section_{name}", values.get(name))
    if text is None or text != text:
        return ""
    if not isinstance(text, str):
        raise InputError(f"{path}, study {study!r}: Expected a text as {name} but got {text!r}.")
    return text.strip()


def leaderboard_value(column: str, scorer: Scorer, rows: list[dict[str, str]]) -> tuple[list[float], float]:
    """Return the score of each study, NaN without one, and the value of the leaderboard: their mean, or 1 / mean."""
    references, candidates = ([row[name] for row in rows] for name in ("reference", "candidate"))
    pairs = Pairs(references, candidates, [None] * len(rows))
    totals = [float(value) for value in score_pairs(scorer.fit_references(references), pairs).total]
    defined = [value for value in totals if not math.isnan(value)]
    mean = sum(defined) / len(defined) if defined else math.nan
    return totals, 1 / mean if column.startswith("1/") and mean else mean


def main() -> None:
    """Write scores.csv, leaderboard.json and leaderboard.md, and print the table and what is left out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", type=Path, required=True, help="prediction.json")
    parser.add_argument("--output", type=Path, required=True, help="folder for the files")
    for name, what in (("chexbert", "folder of CheXbert"), ("green", "model of GREEN"), ("judge", "chat model")):
        parser.add_argument(f"--{name}", default="", help=f"{what}; without it, its metrics are left out")
    parser.add_argument("--metrics", nargs="*", default=list(METRICS), choices=list(METRICS), help="columns to compute")
    parser.add_argument("--allow-download", action="store_true", help="download models that are not on this machine")
    options = parser.parse_args()
    rows = read_predictions(options.input)
    scores, values, left_out = pd.DataFrame({"id": [row["id"] for row in rows]}), {}, {}
    for column in options.metrics:
        name = METRICS[column].format(**vars(options))
        if name.endswith(":"):
            left_out[column] = "its model was not given"
            continue
        try:
            scorer = load(name, allow_download=options.allow_download)
        except InputError as error:
            left_out[column] = str(error)
            continue
        scores[column], values[column] = leaderboard_value(column, scorer, rows)
    options.output.mkdir(parents=True, exist_ok=True)
    write_csv(options.output / "scores.csv", scores)
    finite = {column: None if math.isnan(value) else round(value, 6) for column, value in values.items()}
    result = {"studies": len(rows), "metrics": finite, "left_out": left_out}
    write_text_file(options.output / "leaderboard.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    cells = [[column, "–" if value is None else f"{value:.3f}"] for column, value in finite.items()]
    table = markdown_table(text_frame(["metric", "value"], cells))
    write_text_file(options.output / "leaderboard.md", table + "\n")
    print(table)
    for column, reason in left_out.items():
        print(f"{column} was left out: {reason}")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
