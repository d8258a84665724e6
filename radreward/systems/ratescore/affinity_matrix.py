"""The learnable part of RaTEScore: affinities W between entity types, and the penalty p."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import torch
from torch import Tensor, nn

from radreward.errors import InputError
from radreward.io.artifacts import load_tensors, save_tensors
from radreward.io.model_config import check_settings, config_errors, read_config, write_config
from radreward.systems.ratescore.functional import (
    EntityContributions,
    PenaltyRule,
    entity_contributions,
    penalty_mask,
    ratescore,
)
from radreward.systems.ratescore.matching import NUM_TYPES, Matches, TypePairSums
from radreward.types import ENTITY_TYPES

CONFIG_FILE, WEIGHTS_FILE = "affinity.json", "affinity.safetensors"

PRESETS: dict[str, tuple[float, list[list[float]]]] = {
    "long": (
        0.8716553966489615,
        [
            [0.4276119164393705, 0.6240929990607657, 0.0034478181112993847, 0.5431049700217344, 0.27005425386213877],
            [0.7487824274337533, 0.2856134859160784, 0.4592143222158069, 0.02097055139911715, 0.00013736314126696204],
            [0.8396510075734789, 0.9950209388542061, 0.8460555030578727, 0.9820689020512646, 0.3789136708096537],
            [0.16546764653692908, 0.018670610691852826, 0.719397354576018, 0.0009357166071730684, 0.0927333564267591],
            [0.7759420231214385, 0.1839139293714062, 0.10073046076318157, 0.03860183811876373, 0.34065681486566446],
        ],
    ),
    "short": (
        0.3611577852354489,
        [
            [0.4070293318365468, 0.6952639610605605, 0.28342529466226446, 0.9479148658006686, 0.23875064111146294],
            [0.5829759950441763, 0.7709590751917746, 0.0006059634829551632, 0.794672584951181, 0.27982942400798977],
            [0.8840397619834857, 0.9637659445696822, 0.19018958438059513, 0.6962283914800402, 0.943727057946997],
            [0.1712744286898638, 0.4485149671497294, 0.00045065329822896076, 0.0007887930317199857, 0.8555432840895761],
            [0.9555801066212176, 0.13122106162635216, 0.6072996585919443, 0.05650711141169969, 0.3214769399791204],
        ],
    ),
}
"""Published p and W for long and for short reports; rows: type of the entity, columns: type of its match."""

_TYPE_NAMES = tuple(name.lower().replace("-", "_") for name in ENTITY_TYPES)
CELL_NAMES = tuple(f"{query}_to_{match}" for query in _TYPE_NAMES for match in _TYPE_NAMES)
"""Names of the cells of W, row by row: type of the entity, then type of its match, as in `disease_to_anatomy`."""


@dataclass(frozen=True, slots=True)
class AffinityValues:
    """Values that replace values of a preset. A study can search each value.

    Args:
        penalty: p in [0, 1].
        W: Affinities >= 0 by name, such as `disease_to_anatomy`, see `CELL_NAMES`. Other affinities come from the
            preset.
    """

    penalty: float | None = None
    W: Mapping[str, float] = field(default_factory=dict)


class AffinityMatrix(nn.Module):
    """W and p, with the rule that selects the penalized pairs of types.

    Args:
        weight: (5, 5) W by type of the entity and type of its match, in the order of `ENTITY_TYPES`; >= 0, not all 0.
        penalty: p in [0, 1].
        penalty_rule: Penalized pairs of types, see `penalty_mask`.
        clamp_cosines: Replace negative cosines by 0, so that scores are in [0, 1]. False in the reference
            implementation.

    Raises:
        InputError: If a value is out of range.

    >>> affinity = AffinityMatrix.from_preset("short")
    >>> round(affinity.penalty.item(), 3), tuple(affinity.weight.shape)
    (0.361, (5, 5))
    """

    def __init__(
        self,
        weight: Tensor | list[list[float]],
        penalty: Tensor | float,
        penalty_rule: PenaltyRule = "opposed",
        clamp_cosines: bool = True,
    ) -> None:
        super().__init__()
        penalty_mask(penalty_rule)  # raises if unknown
        self.weight = nn.Parameter(_validate_matrix(weight))
        self.penalty = nn.Parameter(_validate_penalty(penalty))
        self.penalty_rule: PenaltyRule = penalty_rule
        self.clamp_cosines = clamp_cosines

    @classmethod
    def from_preset(cls, name: str, penalty_rule: PenaltyRule = "opposed", clamp_cosines: bool = True) -> Self:
        """Return the published weights for "long" or "short" reports.

        Raises:
            InputError: If the preset is unknown.
        """
        if name not in PRESETS:
            raise InputError(f"Expected a preset of {', '.join(PRESETS)} but got {name!r}.")
        penalty, weight = PRESETS[name]
        return cls(weight, penalty, penalty_rule, clamp_cosines)

    def replace(self, values: AffinityValues) -> Self:
        """Return a copy with some values replaced.

        Raises:
            InputError: If a cell is unknown or a value out of range.

        >>> affinity = AffinityMatrix.from_preset("long").replace(AffinityValues(W={"disease_to_anatomy": 0.5}))
        >>> affinity.weight[2, 1].item()
        0.5
        """
        weight = self.weight.detach().clone()
        for name, value in values.W.items():
            if name not in CELL_NAMES:
                raise InputError(f"Expected `W` to name cells such as {CELL_NAMES[1]} but got {name!r}.")
            weight.view(-1)[CELL_NAMES.index(name)] = value
        penalty = self.penalty.detach() if values.penalty is None else values.penalty
        return type(self)(weight, penalty, self.penalty_rule, self.clamp_cosines)

    def forward(self, matches: Matches, undefined_score: float = math.nan) -> Tensor:
        """Return (n,) float64 scores of n pairs; `undefined_score` if a report has no entity."""
        return self.score(self.type_pair_sums(matches), undefined_score)

    def type_pair_sums(self, matches: Matches) -> TypePairSums:
        """Return the matches summed by types, which do not depend on W and p."""
        return matches.type_pair_sums(self.clamp_cosines)

    def score(self, sums: TypePairSums, undefined_score: float = math.nan) -> Tensor:
        """Return (n,) float64 scores, see `ratescore`."""
        return ratescore(sums, self.weight, self.penalty, self.penalty_rule, undefined_score)

    def entity_contributions(self, matches: Matches) -> EntityContributions:
        """Return the contribution of each entity to the score of its pair."""
        weight, penalty = self.weight.detach(), self.penalty.detach()
        return entity_contributions(matches, weight, penalty, self.penalty_rule, self.clamp_cosines)

    def to_dict(self) -> dict[str, Any]:
        """Return the constructor arguments, for JSON."""
        return {
            "weight": self.weight.tolist(),
            "penalty": self.penalty.item(),
            "penalty_rule": self.penalty_rule,
            "clamp_cosines": self.clamp_cosines,
        }

    def save(self, folder: str | Path) -> None:
        """Write `affinity.safetensors` and `affinity.json` to a folder, created if absent."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_tensors(folder / WEIGHTS_FILE, self.state_dict())
        config = {"penalty_rule": self.penalty_rule, "clamp_cosines": self.clamp_cosines}
        write_config(folder / CONFIG_FILE, config, (WEIGHTS_FILE,))

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read W and p that `save` wrote.

        Raises:
            InputError: If a file is missing or invalid, or a value is out of range. The message names the file.
        """
        path, weights_path = Path(folder, CONFIG_FILE), Path(folder, WEIGHTS_FILE)
        config = read_config(path, {"penalty_rule", "clamp_cosines"}, files=(WEIGHTS_FILE,))
        settings = {name: config[name] for name in ("penalty_rule", "clamp_cosines")}
        with config_errors(path):
            check_settings(cls, settings)
        state = load_tensors(weights_path)
        with config_errors(weights_path):
            if set(state) != {"weight", "penalty"}:
                raise InputError(f"Expected the tensors weight and penalty but got {', '.join(sorted(state))}.")
            return cls(state["weight"], state["penalty"], **settings)


def _validate_matrix(weight: Tensor | list[list[float]]) -> Tensor:
    try:
        matrix = torch.as_tensor(weight, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected `weight` to be {NUM_TYPES} rows of {NUM_TYPES} numbers.") from error
    if matrix.shape != (NUM_TYPES, NUM_TYPES):
        raise InputError(f"Expected `weight` to be ({NUM_TYPES}, {NUM_TYPES}) but got {tuple(matrix.shape)}.")
    invalid = ~torch.isfinite(matrix) | (matrix < 0)
    if invalid.any():
        row, column = invalid.nonzero()[0].tolist()
        value = matrix[row, column].item()
        raise InputError(f"Expected `weight` to be >= 0 but got {value} in row {row}, column {column}.")
    if not matrix.any():
        raise InputError("Expected `weight` to have a number > 0 but all are 0.")
    return matrix


def _validate_penalty(penalty: Tensor | float) -> Tensor:
    value = torch.as_tensor(penalty, dtype=torch.float64).detach().clone()
    if value.shape != () or not 0 <= value <= 1:
        raise InputError(f"Expected `penalty` to be in [0, 1] but got {value.tolist()}.")
    return value
