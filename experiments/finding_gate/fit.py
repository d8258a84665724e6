"""Fit the gate of findings to generated statements; the gate of the package was fitted by this command.

python -m experiments.finding_gate.fit --output runs/finding_gate.safetensors
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jsonargparse import ArgumentParser
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from experiments.finding_gate.statements import LabelledStatement, generate_statements
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.models.finding_gate import FindingGate, statement_vectors
from radreward.models.text_encoder import TextEncoder


def fit_gate(statements: Sequence[LabelledStatement], info: dict[str, Any]) -> FindingGate:
    """Return a gate: logistic regression with equal total weights of both classes, and of the kinds in each class.

    Args:
        statements: Statements of both classes.
        info: Further entries of the data card.
    """
    encoder = TextEncoder(device="cpu")
    vectors = statement_vectors(encoder, [entry.text for entry in statements]).double().numpy()
    labels = np.array([entry.finding for entry in statements])
    sizes = Counter((entry.finding, entry.kind) for entry in statements)
    kinds = Counter(finding for finding, _ in sizes)
    weights = [len(statements) / 2 / kinds[entry.finding] / sizes[entry.finding, entry.kind] for entry in statements]
    model = LogisticRegression(max_iter=3000).fit(vectors, labels, sample_weight=weights)
    card = {
        **info,
        "data": "SYNTHETIC statements of experiments/finding_gate, from no real report",
        "statements": {
            f"{'finding' if finding else 'none'}: {kind}": number for (finding, kind), number in sorted(sizes.items())
        },
        "auc_on_these": round(float(roc_auc_score(labels, model.decision_function(vectors))), 3),
    }
    return FindingGate(torch.from_numpy(model.coef_[0]), float(model.intercept_[0]), encoder, card)


def main(*, output: Path, per_kind: int = 400, seed: int = 0, every: int = 1) -> int:
    """Write the gate and its data card; return 2 if the file cannot be written.

    Args:
        output: File of the weights; the data card has the same name with the suffix .json.
        per_kind: See `generate_statements`.
        seed: See `generate_statements`.
        every: Take only every so many of the statements, for a trial.
    """
    try:
        gate = fit_gate(generate_statements(per_kind, seed)[::every], {"per_kind": per_kind, "seed": seed})
        gate.save(output)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{output}: AUC {gate.data_card['auc_on_these']} on its own statements")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
