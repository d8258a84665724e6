"""Make the vectors of the names of findings; those of the package were made by this command.

python -m experiments.finding_gate.names --output runs/finding_names.safetensors
"""

from __future__ import annotations

from pathlib import Path

from jsonargparse import ArgumentParser
from torch.nn import functional as F

from radreward.cli.signature import add_signature
from radreward.models.finding_gate import statement_vectors
from radreward.models.finding_names import FindingNames, known_names, names_version
from radreward.models.text_encoder import TextEncoder


def encode_names() -> FindingNames:
    """Return the vectors of all names, in the order of the vocabulary."""
    names, encoder = known_names(), TextEncoder(device="cpu")
    means = statement_vectors(encoder, list(names))[:, : encoder.embedding_dim]
    return FindingNames(F.normalize(means, dim=1), list(names.values()), names_version(names))


def main(*, output: Path) -> None:
    """Write the vectors and print their number.

    Args:
        output: File of the vectors; the findings are beside it, with the suffix .json.
    """
    names = encode_names()
    names.save(output)
    print(f"{output}: {len(names.findings):,} names of {len(set(names.findings))} findings")


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    main(**vars(parser.parse_args()))
