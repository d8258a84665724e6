"""Make the vectors of the names of findings; those of the package were made by this command.

python -m experiments.finding_gate.names --output runs/finding_names.safetensors
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser
from torch.nn import functional as F

from experiments.finding_gate.statements import generate_statements
from radreward.cli.signature import add_signature
from radreward.models.finding_gate import statement_vectors
from radreward.models.finding_names import FindingNames, known_names, names_version
from radreward.models.text_encoder import TextEncoder
from radreward.text.read_names import SIMILAR_NAMES

PER_KIND = 200
"""Draws per kind of statement, see `generate_statements`."""


def names_and_statements() -> dict[str, str]:
    """Return all names → key of the finding, and SYNTHETIC statements without a finding → an empty key."""
    others = (entry.text.lower() for entry in generate_statements(PER_KIND) if not entry.finding)
    return dict.fromkeys((*others, *SIMILAR_NAMES), "") | known_names()


def encode_names() -> FindingNames:
    """Return the vectors of names and statements."""
    names, encoder = names_and_statements(), TextEncoder(device="cpu")
    means = statement_vectors(encoder, list(names))[:, : encoder.embedding_dim]
    return FindingNames(F.normalize(means, dim=1), list(names.values()), names_version(names))


def main(*, output: Path) -> None:
    """Write the vectors and print their number.

    Args:
        output: File of the vectors; the findings are beside it, with the suffix .json.
    """
    names = encode_names()
    names.save(output)
    named = list(filter(None, names.findings))
    others = len(names.findings) - len(named)
    print(f"{output}: {len(named):,} names of {len(set(named))} findings, {others:,} statements without one")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    main(**vars(parser.parse_args()))
