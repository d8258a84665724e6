"""Peak memory of `radreward score --scorers ratescore` for files of different lengths; it must not grow with the rows.

Rules tag the entities and a tiny encoder embeds them, so that the time is spent on reading, matching and writing rows.
The reports are distinct generated sentences, more of them than the caches hold.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from random import Random

from benchmarks._figures import Figure
from benchmarks.score_memory import SCHEMA, peak_of_scoring
from radreward.io.tables import write_table
from radreward.synthesis.fact_sampling import sample_fact, sample_findings
from radreward.synthesis.grammar import fact_sentence
from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.text.findings import GENERATED_FINDINGS


def rows(number: int) -> Iterator[dict[str, str]]:
    """Yield pairs of reports of one sentence each."""
    rng = Random(0)
    keys = tuple(GENERATED_FINDINGS)
    for index in range(number):
        texts = (fact_sentence(sample_fact(sample_findings(rng, keys, 1)[0], rng), rng).text for _ in range(2))
        yield {"id": f"r{index}", **dict(zip(("reference", "candidate"), texts, strict=True))}


def write_scorer(folder: Path) -> Path:
    """Save a RaTEScore with a tiny encoder with random weights and return its folder."""
    encoder = EntityEncoder("tiny-bert", max_length=200)
    RaTEScore(RuleTagger(), encoder, AffinityMatrix.from_preset("long"), 0.5).save_pretrained(folder)
    return folder


def main(short: int = 10_000, long: int = 100_000, scorer: str | None = None) -> list[Figure]:
    """Run and print the benchmark.

    Args:
        short: Rows of the short file.
        long: Rows of the long file.
        scorer: Name or folder of a scorer; by default one with a tiny encoder.
    """
    with tempfile.TemporaryDirectory() as folder:
        model = scorer or write_scorer(Path(folder) / "model")
        peaks = []
        for number in (short, long):
            source = Path(folder) / f"in-{number}.jsonl"
            write_table(source, SCHEMA, rows(number))
            peaks.append(peak_of_scoring(model, source, Path(folder) / f"out-{number}.jsonl"))
    print(json.dumps({"rows": [short, long], "bytes": peaks, "ratio": peaks[1] / peaks[0]}), flush=True)
    return [Figure(f"peak memory of `ratescore`, {long:,} pairs to {short:,}", peaks[1] / peaks[0], at_most=1.1)]
