"""Save the mean of the weights of reward models that start from the same one, as a model with its settings.

python -m experiments.er2score.average --models runs/er2score-full/mixed runs/er2score-full/new --output runs/mean

Its outputs have to be calibrated, see calibrate.py.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import torch
from jsonargparse import ArgumentParser
from torch import Tensor

from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.models import RewardModelArtifact, save_reward_model
from radreward.scorers import load
from radreward.systems.er2score.scorer import RewardModelScorer


def mean_weights(states: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each weight over models.

    Raises:
        InputError: If names or shapes differ.

    >>> mean_weights([{"bias": torch.zeros(2)}, {"bias": torch.ones(2)}])
    {'bias': tensor([0.5000, 0.5000])}
    """
    shapes = [{name: tuple(value.shape) for name, value in state.items()} for state in states]
    if any(other != shapes[0] for other in shapes):
        raise InputError("--models: Expected models with the same backbone, adapters and heads.")
    return {name: torch.stack([state[name].float() for state in states]).mean(0) for name in states[0]}


def load_artifact(name: str) -> RewardModelArtifact:
    """Return a reward model by its name or folder.

    Raises:
        InputError: If it cannot be loaded, or is none.
    """
    scorer = load(name, precision="fp32")
    if not isinstance(scorer, RewardModelScorer):
        raise InputError(f"--models: Expected reward models but got {name}.")
    return scorer.artifact


def main(*, models: Sequence[str], output: Path) -> int:
    """Save the mean; return 2 if a model cannot be used.

    Args:
        models: Names or folders; the first decides settings and template.
        output: Folder of the mean.
    """
    try:
        artifacts = [load_artifact(name) for name in models]
        state = mean_weights([artifact.weights_to_save() for artifact in artifacts])
        mean = replace(artifacts[0], trained_state=state, calibration=None, finding_weights_calibration=None)
        save_reward_model(mean, output)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{output}: mean of {len(models)} models")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
