"""RaTEScore against the package RaTEScore 0.6.0: the same models, weights and pairs, one thread, CPU time.

The package requires older versions of numpy and pandas, and medspacy: it is installed once, with pip, into a separate
environment under `runs/ratescore-peer`. Both sides load a DeBERTa-v2 tagger and a BERT encoder with random weights, of
the published architectures but with 3 layers of width 192 (published: 12 of 768), so that the package takes minutes.
The pairs are 125 generated references with 4 candidates each; `--reports` reads real ones.

For this comparison, entities are decoded and weights applied in the package's way. Scores must then agree to 1e-5 if
both sides define them equally; the other pairs are counted and reported.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console

from benchmarks._figures import Figure
from benchmarks._ratescore_package import PackageTagger, write_models
from radreward.criteria import RadCliQCriteria
from radreward.synthesis import synthesize
from radreward.synthesis.report_reader import read_reports
from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.text.sentence_splitter import sentence_spans

FOLDER = Path("runs/ratescore-peer")
PINS = ("RaTEScore==0.6.0", "medspacy==1.3.1", "numpy<2", "pandas<3", "torch==2.13.0", "transformers==5.23.0")
PAIRS, PER_REFERENCE = 500, 4
TARGET, TOLERANCE = 20.0, 1e-5
TIE = 1e-6
"""Cosines with a smaller difference are tied, and the package selects any of them."""
CHILD = """
import json, sys, time
import torch
torch.set_num_threads(1)
from RaTEScore import RaTEScore
from RaTEScore.utils import sentence_split
folder = sys.argv[1]
pairs = json.load(open(folder + "/pairs.json"))
scorer = RaTEScore(folder + "/tagger", folder + "/encoder", use_gpu=False)
start_time = time.process_time()
scores = scorer.compute_score(pairs["candidates"], pairs["references"])
seconds = time.process_time() - start_time
texts = sorted({*pairs["candidates"], *pairs["references"]})
with_empty = scorer.compute_score(pairs["candidates"][:3], [pairs["references"][0], "", pairs["references"][2]])
json.dump({"seconds": seconds, "scores": scores, "with_empty": with_empty,
           "sentences": {text: sentence_split([text])[0] for text in texts}}, open(folder + "/peer.json", "w"))
"""


class Pairs(NamedTuple):
    """References and candidates, pair by pair."""

    references: list[str]
    candidates: list[str]


def environment(folder: Path) -> Path:
    """Return the Python of an environment with the package, created if absent."""
    python, ready = folder / "venv" / "bin" / "python", folder / "venv" / "ready.json"
    if not ready.is_file() or json.loads(ready.read_text()) != list(PINS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / "venv")], check=True)  # noqa: S603 - trusted command
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINS], check=True)  # noqa: S603 - pinned
        ready.write_text(json.dumps(PINS))
    return python


def synthetic_pairs(pairs: int) -> Pairs:
    """Return generated pairs, `PER_REFERENCE` candidates per reference."""
    groups = list(synthesize(RadCliQCriteria(), -(-pairs // PER_REFERENCE), PER_REFERENCE, seed=5))
    rows = [(group.reference, candidate.text) for group in groups for candidate in group.candidates][:pairs]
    return Pairs([reference for reference, _ in rows], [candidate for _, candidate in rows])


def real_pairs(path: Path, pairs: int) -> Pairs:
    """Return pairs of consecutive reports of a file."""
    texts = read_reports(path, None).texts[: pairs + 1]
    return Pairs(list(texts[:-1]), list(texts[1:]))


def package_scorer(folder: Path) -> tuple[RaTEScore, PackageTagger]:
    """Return our scorer with the package's decoding and settings."""
    tagger = PackageTagger(folder / "tagger")
    encoder = EntityEncoder(str(folder / "encoder"), "first")
    weights = AffinityMatrix.from_preset("long", clamp_cosines=False)
    return RaTEScore(tagger, encoder, weights, no_entity_score=0.5, on_too_long="truncate"), tagger


def has_tied_match(scorer: RaTEScore, reference: str, candidate: str) -> bool:
    """Return True if two nearest entities of different types are tied."""
    entities = [scorer.caching_tagger.tag_reports([text])[0] for text in (reference, candidate)]
    if not all(entities):
        return False
    first, second = (scorer.encoder.embed([entity.name for entity in side]).vectors for side in entities)
    for near, side in ((first @ second.T, entities[1]), ((first @ second.T).T, entities[0])):
        for row in near:
            best = (row > row.max() - TIE).nonzero().flatten().tolist()
            if len({side[index].type for index in best}) > 1:
                return True
    return False


def measure(folder: Path, python: Path, pairs: Pairs, layers: int = 3, width: int = 192) -> dict[str, Any]:
    """Time and compare both; return the results that are printed as JSON."""
    write_models(folder, [*pairs.references, *pairs.candidates], layers, width)
    (folder / "pairs.json").write_text(json.dumps(pairs._asdict()))
    environment_variables = {
        **os.environ,
        "LOGURU_LEVEL": "WARNING",
        "OMP_NUM_THREADS": "1",
    }  # suppresses a log line per sentence
    subprocess.run([str(python), "-c", CHILD, str(folder)], check=True, cwd=folder, env=environment_variables)  # noqa: S603 - trusted command
    peer = json.loads((folder / "peer.json").read_text())
    seconds = []
    for _ in range(3):
        scorer, tagger = package_scorer(folder)  # with empty caches
        start_time = time.process_time()
        scores = scorer.score(pairs.references, pairs.candidates)
        seconds.append(time.process_time() - start_time)
    split = {
        text: [text[start:end] for start, end in sentence_spans(text)] == peer["sentences"][text]
        for text in peer["sentences"]
    }
    both = list(zip(pairs.references, pairs.candidates, strict=True))
    split_equally = [split[reference] and split[candidate] for reference, candidate in both]
    ties = [same_split and has_tied_match(scorer, *pair) for same_split, pair in zip(split_equally, both, strict=True)]
    compared = [index for index in range(len(both)) if split_equally[index] and not ties[index]]
    if not compared:
        raise ValueError(
            f"Expected pairs to compare but all {len(both)} are split differently or tied. Use more --pairs."
        )
    aligned = len(peer["scores"]) == len(both)
    worst = max(abs(scores.total[index].item() - peer["scores"][index]) for index in compared) if aligned else None
    equal_texts = [text for text, same in split.items() if same]
    return {
        "pairs": len(both),
        "distinct_sentences": len({piece for text in equal_texts for piece in peer["sentences"][text]}),
        "all_sentences": sum(len(peer["sentences"][text]) for pair in both for text in pair),
        "peer_seconds": peer["seconds"],
        "our_seconds": min(seconds),
        "our_median": sorted(seconds)[1],
        "ratio": peer["seconds"] / min(seconds),
        "compared": len(compared),
        "split_differently": len(both) - sum(split_equally),
        "tied": sum(ties),
        "largest_difference": worst,
        "entities": tagger.num_entities,
        "entities_fewer_in_package": tagger.num_missed,
        "package_scores_of_three_pairs_one_empty": len(peer["with_empty"]),
    }


def summary_lines(result: dict[str, Any]) -> list[str]:
    """Return the results as text."""
    return [
        f"{result['pairs']} pairs, {result['all_sentences']} sentences: the package {result['peer_seconds']:.1f} s, "
        f"ours {result['our_seconds']:.2f} s",
        f"{result['compared']} pairs compared: largest difference {result['largest_difference']:.1e}",
        f"Not compared: {result['split_differently']} pairs with different sentence boundaries, "
        f"{result['tied']} pairs with tied nearest entities of different types, of which the package selects any",
        f"Of {result['entities']} tagged entities the package decodes {result['entities_fewer_in_package']} fewer",
        f"Three pairs of which one has an empty report: {result['package_scores_of_three_pairs_one_empty']} scores "
        "from the package, three from ours, one of them NaN with a status",
    ]


def main(
    pairs: int = PAIRS,
    reports: Path | None = None,
    folder: Path = FOLDER,
    python: Callable[[Path], Path] = environment,
    layers: int = 3,
    width: int = 192,
) -> list[Figure]:
    """Run and print the benchmark."""
    torch.set_num_threads(1)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=100)
    data = real_pairs(reports, pairs) if reports else synthetic_pairs(pairs)
    result = measure(folder, python(folder), data, layers, width)
    for line in summary_lines(result):
        console.print(line, highlight=False)
    print(json.dumps(result), flush=True)
    worst = result["largest_difference"]
    assert worst is None or worst < TOLERANCE, f"scores differ by {worst}"
    work = f"RaTEScore, {pairs} pairs, width {width}; against package 0.6.0"
    return [Figure(work, result["ratio"], parity=f"{worst:.0e} of {result['compared']} pairs", at_least=TARGET)]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--reports", type=Path, default=None, help="file of real reports")
    parser.add_argument("--layers", type=int, default=3, help="layers of both models")
    parser.add_argument("--width", type=int, default=192, help="width of both models; the published ones have 768")
    options = parser.parse_args()
    main(options.pairs, options.reports, layers=options.layers, width=options.width)
