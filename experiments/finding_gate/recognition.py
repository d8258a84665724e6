"""Which finding statements in other words are most similar to, measured on statements by a second writer.

python -m experiments.finding_gate.recognition

The names and the descriptions of the first writer are known, those of the second are recognized: by the mean vectors of
their tokens, or by a projection that is fitted to what is known. At a limit of similarity at which one in twenty of the
second writer's statements without a finding is taken for one, the table has the share of the descriptions that are
taken for the right finding, and for a wrong one.
"""

from __future__ import annotations

import sys

import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from experiments.finding_gate.descriptions import described_findings, plain_statements
from experiments.finding_gate.names import fitted_names, mean_vectors, names_and_statements
from experiments.finding_gate.projection import STEPS
from radreward.cli.signature import add_signature
from radreward.io.text_tables import markdown_table, text_frame
from radreward.models.finding_names import FindingNames, SimilarName
from radreward.models.text_encoder import TextEncoder

FALSE_SHARE = 0.05
COLUMNS = ("known", "compared by", "most similar", "among the near", "taken for it", "for another")


def measures(known: FindingNames, means: Tensor, findings: list[str], plain: Tensor) -> list[str]:
    """Return the shares of descriptions whose finding is the most similar, is near, is taken, and is mistaken.

    Args:
        known: Known names.
        means: (n, d) mean vectors of descriptions.
        findings: Their n findings.
        plain: (m, d) mean vectors of statements without a finding.
    """
    limit = torch.tensor([_similarity(name) for name in known.most_similar(plain)]).quantile(1 - FALSE_SHARE).item()
    pairs = list(zip(known.most_similar(means), findings, strict=True))
    taken = [(name.finding, finding) for name, finding in pairs if _similarity(name) > limit]
    counts = (
        sum(name.finding == finding for name, finding in pairs),
        sum(finding in name.near for name, finding in pairs),
        sum(found == finding for found, finding in taken),
        sum(found != finding for found, finding in taken),
    )
    return [f"{count / len(pairs):.2f}" for count in counts]


def _similarity(name: SimilarName) -> float:
    return name.similarity if name.finding else -1.0


def unprojected(names: dict[str, str], encoder: TextEncoder) -> FindingNames:
    """Return names whose mean vectors are compared as they are."""
    means, size = mean_vectors(encoder, list(names)), encoder.embedding_dim
    return FindingNames.of_means(means, list(names.values()), torch.zeros(size), torch.eye(size), "")


def main(*, every: int = 1, steps: int = STEPS) -> int:
    """Print the table.

    Args:
        every: Take only every so many of all texts, for a trial.
        steps: See `fit_projection`.
    """
    encoder = TextEncoder(device="cpu")
    texts, findings = zip(*list(described_findings("second").items())[::every], strict=True)
    means, plain = (mean_vectors(encoder, list(part)) for part in (texts, plain_statements("second")[::every]))
    rows = []
    for title, writers in (("names", ()), ("names and descriptions", ("first",))):
        known = dict(list(names_and_statements(writers).items())[::every])
        for way, names in (
            ("means", unprojected(known, encoder)),
            ("projection", fitted_names(known, encoder, steps)),
        ):
            rows.append([title, way, *measures(names, means, list(findings), plain)])
    print(f"{len(texts):,} descriptions and {len(plain):,} statements without a finding\n")
    print(markdown_table(text_frame(list(COLUMNS), rows)))
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
