"""The learnable part of RaTEScore: affinities between types of entities, and a penalty."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from radreward.errors import InputError
from radreward.systems.ratescore.functional import (
    EntityContributions,
    PenaltyRule,
    entity_contributions,
    penalty_mask,
    ratescore,
)
from radreward.systems.ratescore.matching import NUM_TYPES, Matches, TypePairSums

CONFIG, WEIGHTS = "affinity.json", "affinity.safetensors"
FORMAT = 1

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
"""p and W as published for long and for short reports; rows are the entity's type, columns its match's."""


class AffinityMatrix(nn.Module):
    """W and p, and how they are used.

    Args:
        weight: (5, 5) W by type of the entity and type of its match, in the order of `ENTITY_TYPES`; >= 0, not all 0.
        penalty: p in [0, 1].
        rule: What is penalised, see `penalised`.
        clamp: Whether negative cosines are taken as 0, so that scores stay in [0, 1]; the reference implementation
            does not.

    Raises:
        InputError: If a value is out of its range.

    >>> weights = AffinityWeights.from_preset("short")
    >>> round(weights.penalty.item(), 3), tuple(weights.weight.shape)
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
        penalty_mask(penalty_rule)
        self.weight = nn.Parameter(_validate_matrix(weight))
        self.penalty = nn.Parameter(_validate_penalty(penalty))
        self.penalty_rule: PenaltyRule = penalty_rule
        self.clamp_cosines = clamp_cosines

    @classmethod
    def from_preset(cls, name: str, penalty_rule: PenaltyRule = "opposed", clamp_cosines: bool = True) -> Self:
        """The published weights for "long" or "short" reports.

        Raises:
            InputError: If there is no such preset.
        """
        if name not in PRESETS:
            raise InputError(f"Expected weights of {', '.join(PRESETS)} but got {name!r}.")
        penalty, weight = PRESETS[name]
        return cls(weight, penalty, penalty_rule, clamp_cosines)

    def forward(self, matches: Matches, undefined_score: float = math.nan) -> Tensor:
        """(n,) float64 scores of n pairs; `undefined` where a report has no entity."""
        return self.score(self.type_pair_sums(matches), undefined_score)

    def type_pair_sums(self, matches: Matches) -> TypePairSums:
        """What stays the same whatever W and p are."""
        return matches.type_pair_sums(self.clamp_cosines)

    def score(self, sums: TypePairSums, undefined_score: float = math.nan) -> Tensor:
        """(n,) float64 scores, see `affinity_score`."""
        return ratescore(sums, self.weight, self.penalty, self.penalty_rule, undefined_score)

    def entity_contributions(self, matches: Matches) -> EntityContributions:
        """Evidence for each entity, see `radreward.systems.ratescore.functional.entity_contributions`."""
        return entity_contributions(
            matches, self.weight.detach(), self.penalty.detach(), self.penalty_rule, self.clamp_cosines
        )

    def to_dict(self) -> dict[str, Any]:
        """All of it as JSON can hold it; `AffinityMatrix(**of_this)` is the same again."""
        return {
            "weight": self.weight.tolist(),
            "penalty": self.penalty.item(),
            "rule": self.penalty_rule,
            "clamp": self.clamp_cosines,
        }

    def save(self, folder: str | Path) -> None:
        """Write `affinity.safetensors` and `affinity.json` into a folder, which is made."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        save_file({name: value.detach().contiguous() for name, value in self.state_dict().items()}, folder / WEIGHTS)
        config = {"format": FORMAT, "rule": self.penalty_rule, "clamp": self.clamp_cosines}
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Read what `save` wrote.

        Raises:
            InputError: If a file is missing or broken, or a value is out of its range; names the file.
        """
        path = Path(folder, CONFIG)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(config, dict) or set(config) != {"format", "rule", "clamp"} or config["format"] != FORMAT:
                raise InputError(f"Expected `format` {FORMAT}, `rule` and `clamp`.")
            path = Path(folder, WEIGHTS)
            state = load_file(path)
            if set(state) != {"weight", "penalty"}:
                raise InputError(f"Expected `weight` and `penalty` but got {', '.join(sorted(state))}.")
            return cls(state["weight"], state["penalty"], config["rule"], config["clamp"])
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
        except (ValueError, SafetensorError) as error:  # InputError and JSON's are ValueErrors
            raise InputError(f"{path}: {error}") from error


def _validate_matrix(weight: Tensor | list[list[float]]) -> Tensor:
    try:
        matrix = torch.as_tensor(weight, dtype=torch.float64).detach().clone()
    except (TypeError, ValueError) as error:
        raise InputError(f"Expected `weight` to be {NUM_TYPES} rows of {NUM_TYPES} numbers.") from error
    if matrix.shape != (NUM_TYPES, NUM_TYPES):
        raise InputError(f"Expected `weight` to be ({NUM_TYPES}, {NUM_TYPES}) but got {tuple(matrix.shape)}.")
    if not torch.isfinite(matrix).all() or (matrix < 0).any():
        at = (~torch.isfinite(matrix) | (matrix < 0)).nonzero()[0].tolist()
        raise InputError(
            f"Expected `weight` to be >= 0 but got {matrix[at[0], at[1]].item()} in row {at[0]}, column {at[1]}."
        )
    if not matrix.any():
        raise InputError("Expected `weight` to have a number > 0 but all are 0.")
    return matrix


def _validate_penalty(penalty: Tensor | float) -> Tensor:
    value = torch.as_tensor(penalty, dtype=torch.float64).detach().clone()
    if value.shape != () or not 0 <= value <= 1:
        raise InputError(f"Expected `penalty` to be in [0, 1] but got {value.tolist()}.")
    return value
