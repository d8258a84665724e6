"""Make the vectors of the names of findings, and their projection; those of the package were made by this command.

python -m experiments.finding_gate.names --output runs/finding_names.safetensors
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from random import Random

import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from experiments.finding_gate.descriptions import WRITERS, described_findings
from experiments.finding_gate.projection import STEPS, fit_projection
from experiments.finding_gate.statements import generate_statements
from radreward.cli.signature import add_signature
from radreward.models.finding_gate import statement_vectors
from radreward.models.finding_names import FindingNames, known_names, names_version
from radreward.models.text_encoder import TextEncoder
from radreward.text.read_names import SIMILAR_NAMES

PER_KIND = 200
"""Draws per kind of statement, see `generate_statements`."""
CARRIERS = (
    "There is {n}.",
    "{n} is seen.",
    "{n} on the left.",
    "Right {n}.",
    "Mild {n}.",
    "Small amount of {n} is present on the right side.",
    "New {n} since the prior study.",
    "The film shows {n} in the left lower lobe.",
    "Findings suggest {n}.",
    "{n} has increased.",
    "Large {n} at the right base.",
    "{n} is again noted, unchanged.",
)
"""Sentences for names, so that the projection leaves out what they say beside the finding."""
CARRIERS_PER_NAME = 3


def names_and_statements(writers: Sequence[str] = WRITERS) -> dict[str, str]:
    """Return names and descriptions → key of the finding, and statements without one → an empty key, all in lowercase.

    Args:
        writers: Those whose descriptions and statements are used.
    """
    generated = (entry.text for entry in generate_statements(PER_KIND, writers=writers) if not entry.finding)
    others = (text.lower() for text in (*generated, *SIMILAR_NAMES))
    described = {text.lower(): key for text, key in described_findings(*writers).items()}
    return dict.fromkeys(others, "") | described | known_names()


def in_sentences(names: Mapping[str, str], seed: int = 0) -> list[tuple[str, str]]:
    """Return names of findings in a few of the `CARRIERS` each, with the key of the finding."""
    rng = Random(seed)
    return [
        (carrier.replace("{n}", name), key)
        for name, key in names.items()
        if key and not name.endswith(".")
        for carrier in rng.sample(CARRIERS, CARRIERS_PER_NAME)
    ]


def mean_vectors(encoder: TextEncoder, texts: list[str]) -> Tensor:
    """Return the (n, d) mean vectors of the tokens of n texts."""
    return statement_vectors(encoder, texts)[:, : encoder.embedding_dim]


def fitted_names(names: Mapping[str, str], encoder: TextEncoder, steps: int = STEPS) -> FindingNames:
    """Return the vectors of names and statements, projected by weights that are fitted to them in so many steps."""
    sentences = in_sentences(names)
    vectors = mean_vectors(encoder, [*names, *(text for text, _ in sentences)])
    keys = sorted({key for key in names.values() if key})
    labels = [keys.index(key) if key else -1 for key in (*names.values(), *(key for _, key in sentences))]
    center, weights = fit_projection(vectors, torch.tensor(labels), steps)
    return FindingNames.of_means(vectors[: len(names)], list(names.values()), center, weights, names_version(names))


def main(*, output: Path, every: int = 1, steps: int = STEPS) -> None:
    """Write the vectors and print their number.

    Args:
        output: File of the vectors; the findings are beside it, with the suffix .json.
        every: Take only every so many of the names and statements, for a trial.
        steps: See `fit_projection`.
    """
    known = dict(list(names_and_statements().items())[::every])
    names = fitted_names(known, TextEncoder(device="cpu"), steps)
    names.save(output)
    named = list(filter(None, names.findings))
    others = len(names.findings) - len(named)
    print(f"{output}: {len(named):,} names of {len(set(named))} findings, {others:,} statements without one")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    main(**vars(parser.parse_args()))
