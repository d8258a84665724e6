"""Fit the classifier of statements; that of the package was fitted by this command.

python -m experiments.finding_classifier.fit --output runs/finding_classifier.safetensors
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from jsonargparse import ArgumentParser
from torch import Tensor, nn
from torch.nn import functional as F

from experiments.finding_classifier.statements import ANY, LabelledStatement, generate_statements, statements_version
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.models.finding_classifier import LAYERS, OTHER, FindingClassifier, classifier_network, statement_vectors
from radreward.models.text_encoder import TextEncoder
from radreward.text.findings import FINDINGS

STEPS, BATCH, LEARNING_RATE = 3000, 512, 2e-3
NONE_SHARE = 0.3
"""Part of each batch that reports no finding."""
SMOOTHING = 0.1
_NO_FINDING, _ANY_FINDING = 0, -1
_MIN_SCALE = 1e-3
"""Lowest standard deviation of a number by which it is divided; a few numbers are the same in all texts."""


def classification_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the mean loss of n statements, a scalar.

    That of a statement of class k is the cross-entropy with label smoothing 0.1, 0.9 (-log p[k]) plus 0.1 times the
    mean of -log p over all classes. That of a statement with any finding is -log(1 - p[0]), where class 0 is none.

    Args:
        logits: (n, c) logits of c classes.
        labels: (n,) classes, -1 for any finding.

    >>> round(classification_loss(torch.zeros(1, 4), torch.tensor([-1])).item(), 4)  # -log(3 / 4)
    0.2877
    """
    known = labels != _ANY_FINDING
    log_shares = logits.log_softmax(1)
    classified = F.cross_entropy(logits[known], labels[known], label_smoothing=SMOOTHING, reduction="sum")
    return (classified - log_shares[~known, 1:].logsumexp(1).sum()) / len(labels)


def fit_classifier(
    statements: Sequence[LabelledStatement], info: dict[str, Any], steps: int = STEPS, seed: int = 0
) -> FindingClassifier:
    """Return a classifier that minimizes the `classification_loss` of batches of statements, drawn with replacement.

    Batches have a fixed share of statements without a finding, in which all kinds are equally frequent. AdamW with one
    cycle of the learning rate (Smith and Topin, 2018) makes the steps. In training, the numbers of a vector have mean 0
    and variance 1 over the statements; afterwards, this is a part of the first layer.

    Args:
        statements: Statements, with and without findings.
        info: Further entries of the data card.
        steps: Number of batches.
        seed: Seed of start weights, batches and dropout.
    """
    encoder, findings = TextEncoder(layer=LAYERS, device="cpu"), [*sorted(FINDINGS), OTHER]
    vectors = statement_vectors(encoder, [entry.text for entry in statements])
    classes = {"": _NO_FINDING, ANY: _ANY_FINDING} | {key: number for number, key in enumerate(findings, start=1)}
    labels = torch.tensor([classes[entry.finding] for entry in statements])
    sizes = Counter((entry.finding == "", entry.kind) for entry in statements)
    without = torch.tensor([0.0 if entry.finding else 1 / sizes[True, entry.kind] for entry in statements])
    with_finding = torch.tensor([float(entry.finding != "") for entry in statements])
    center, scale = vectors.mean(0), vectors.std(0).clamp_min(_MIN_SCALE)
    inputs = (vectors - center) / scale
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = classifier_network(encoder.embedding_dim, len(findings))
        optimizer = torch.optim.AdamW(network.parameters(), lr=LEARNING_RATE)
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, LEARNING_RATE, total_steps=steps)
        for _ in range(steps):
            counts = (without, round(BATCH * NONE_SHARE)), (with_finding, BATCH - round(BATCH * NONE_SHARE))
            drawn = [weights.multinomial(count, replacement=True, generator=generator) for weights, count in counts]
            rows = torch.cat(drawn)
            optimizer.zero_grad()
            classification_loss(network(inputs[rows]), labels[rows]).backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            schedule.step()
    _include_standardization(network, center, scale)
    card = {
        **info,
        "data": "SYNTHETIC statements of experiments/finding_classifier, from no real report",
        "statements": {
            f"{'none' if none else 'finding'}: {kind}": number for (none, kind), number in sorted(sizes.items())
        },
        "statements_sha256": statements_version(statements),
    }
    return FindingClassifier(network, findings, encoder, card)


def _include_standardization(network: nn.Sequential, center: Tensor, scale: Tensor) -> None:
    """Let the first layer map v to what it maps (v - center) / scale to."""
    first = next(layer for layer in network if isinstance(layer, nn.Linear))
    with torch.no_grad():
        first.weight.div_(scale)
        first.bias.sub_(first.weight @ center)


def main(*, output: Path, per_kind: int = 400, seed: int = 0, every: int = 1, steps: int = STEPS) -> int:
    """Write the classifier and its data card; return 2 if the file cannot be written.

    Args:
        output: File of the weights; the data card has the same name with the suffix .json.
        per_kind: See `generate_statements`.
        seed: See `generate_statements` and `fit_classifier`.
        every: Take only every so many of the statements, for a trial.
        steps: See `fit_classifier`.
    """
    statements = generate_statements(per_kind, seed)[::every]
    try:
        fit_classifier(statements, {"per_kind": per_kind, "seed": seed, "steps": steps}, steps, seed).save(output)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{output}: fitted to {len(statements):,} statements")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
