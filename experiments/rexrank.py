"""Metrics of the ReXrank leaderboard from a file in its format (prediction.json), in one command.

The file is an object by study id, with `model_prediction` and the reference as `section_findings` and
`section_impression`, or `findings` and `impression`. The reference is "Findings: … Impression: …", as in the
leaderboard's script; a missing section is left out, where that script writes "None". `--sections findings` compares
with the findings alone, for the leaderboard of findings; studies without them are counted and left out. Metrics that
this machine cannot use are named and left out. The columns are those of the leaderboard. BLEU-2 and BERTScore are
components of RadCliQ, as in the code that the leaderboard names. RadCliQ-v1 and FineRadScore are the reciprocals of
their means; the published script does not define them. BLEU-2 and RaTEScore (with our entities, not the published
models) were run; the models of the other columns were not available.

python -m experiments.rexrank --input prediction.json --output runs/rexrank --chexbert FOLDER --green OWNER/NAME
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from radreward.errors import InputError
from radreward.io.artifacts import read_json_object
from radreward.io.atomic import write_text_file
from radreward.io.tables import write_csv
from radreward.io.text_tables import markdown_table, text_frame
from radreward.scorers import Scorer, load
from radreward.scorers.radcliq import RadCliQBLEU2, published_bertscore
from radreward.scoring.pairs import Pairs, score_pairs

METRICS = {
    "BLEU-2": "",
    "BERTScore": "",
    "SembScore": "chexbert:{chexbert}",
    "RadGraph": "radgraph",
    "1/RadCliQ-v1": "radcliq-v1:{chexbert}",
    "RaTEScore": "ratescore",
    "GREEN": "green-official:{green}",
    "1/FineRadScore": "fineradscore:{judge}",
}
"""Column of the leaderboard → scorer; a name in braces is an option. The first two have scorers without a name."""
SECTIONS = ("findings", "impression")


def read_predictions(path: Path, sections: Sequence[str] = SECTIONS) -> list[dict[str, str]]:
    """Return id, reference and candidate of each study that has one of the sections.

    Raises:
        InputError: If the file has another format, or no study with a section. The message names study and field.
    """
    rows = []
    for study, values in read_json_object(path).items():
        if not isinstance(values, dict):
            raise InputError(f"{path}, study {study!r}: Expected an object but got {type(values).__name__}.")
        texts = {name: _section(path, study, values, name) for name in SECTIONS}
        candidate = values.get("model_prediction")
        if not any(texts.values()):
            raise InputError(f"{path}, study {study!r}: Expected findings or an impression but got neither.")
        if not isinstance(candidate, str):
            raise InputError(f"{path}, study {study!r}: Expected a text as model_prediction but got {candidate!r}.")
        if parts := [f"{name.title()}: {texts[name]}" for name in sections if texts[name]]:
            rows.append({"id": study, "reference": " ".join(parts), "candidate": candidate})
    if not rows:
        raise InputError(f"{path}: Expected at least one study with {' or '.join(sections)} but got none.")
    return rows


def _section(path: Path, study: str, values: dict[str, Any], name: str) -> str:
    """Return the text of a section; empty if it is missing, null or NaN."""
    text = values.get(f"section_{name}", values.get(name))
    if text is None or text != text:
        return ""
    if not isinstance(text, str):
        raise InputError(f"{path}, study {study!r}: Expected a text as {name} but got {text!r}.")
    return text.strip()


def load_column(column: str, options: argparse.Namespace) -> Scorer:
    """Return the scorer of a column.

    Raises:
        InputError: If this machine cannot use it.
    """
    if column == "BLEU-2":
        return RadCliQBLEU2()
    if column == "BERTScore":
        return published_bertscore(allow_download=options.allow_download)
    name = METRICS[column].format(**vars(options))
    if name.endswith(":"):
        raise InputError("its model was not given")
    return load(name, allow_download=options.allow_download)


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
    parser.add_argument("--sections", nargs="+", default=list(SECTIONS), choices=SECTIONS, help="of the reference")
    options = parser.parse_args()
    rows = read_predictions(options.input, options.sections)
    skipped = len(read_json_object(options.input)) - len(rows)
    scores, values, left_out = pd.DataFrame({"id": [row["id"] for row in rows]}), {}, {}
    for column in options.metrics:
        try:  # some models are loaded only when the first report is scored
            scores[column], values[column] = leaderboard_value(column, load_column(column, options), rows)
        except InputError as error:
            left_out[column] = str(error)
    options.output.mkdir(parents=True, exist_ok=True)
    write_csv(options.output / "scores.csv", scores)
    finite = {column: None if math.isnan(value) else round(value, 6) for column, value in values.items()}
    unscored = {column: int(n) for column, n in scores[list(values)].isna().sum().items() if n}
    result = {"studies": len(rows), "without_sections": skipped, "metrics": finite, "without_score": unscored}
    result["left_out"] = left_out
    write_text_file(options.output / "leaderboard.json", json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    cells = [[column, "–" if value is None else f"{value:.3f}"] for column, value in finite.items()]
    table = markdown_table(text_frame(["metric", "value"], cells))
    write_text_file(options.output / "leaderboard.md", table + "\n")
    print(table)
    if skipped:
        print(f"{skipped} studies without {' or '.join(options.sections)} were left out")
    for column, n in unscored.items():
        print(f"{column} is the mean without {n} studies that have no score")
    for column, reason in left_out.items():
        print(f"{column} was left out: {reason}")


if __name__ == "__main__":
    try:
        main()
    except InputError as error:
        sys.exit(str(error))
