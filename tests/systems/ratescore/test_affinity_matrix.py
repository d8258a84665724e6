"""W and p: published values, validation and saving."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.affinity_matrix import CELL_NAMES, AffinityValues
from radreward.types import ENTITY_TYPES


def test_presets_have_published_values() -> None:
    long, short = (AffinityMatrix.from_preset(name) for name in ("long", "short"))
    assert long.penalty.item() == 0.8716553966489615
    assert short.penalty.item() == 0.3611577852354489
    assert long.weight[2, 1].item() == 0.9950209388542061
    assert long.weight[1, 2].item() == 0.4592143222158069
    assert short.weight[4, 0].item() == 0.9555801066212176
    assert short.weight[3, 3].item() == 0.0007887930317199857


@pytest.mark.parametrize(
    ("weight", "penalty", "message"),
    [
        (torch.ones(5, 4), 0.5, r"\(5, 5\) but got \(5, 4\)"),
        ([[1.0, 2.0], [1.0]], 0.5, "5 rows of 5 numbers"),
        (torch.ones(5, 5).index_fill(0, torch.tensor(3), -0.25), 0.5, r">= 0 but got -0.25 in row 3, column 0"),
        (torch.full((5, 5), math.inf), 0.5, "got inf"),
        (torch.zeros(5, 5), 0.5, "all are 0"),
        (torch.ones(5, 5), 1.1, r"`penalty` to be in \[0, 1\] but got 1.1"),
        (torch.ones(5, 5), -0.1, "got -0.1"),
        (torch.ones(5, 5), math.nan, "got nan"),
    ],
)
def test_values_out_of_range_are_rejected(weight: torch.Tensor, penalty: float, message: str) -> None:
    with pytest.raises(InputError, match=message):
        AffinityMatrix(weight, penalty)


def test_unknown_preset_and_rule_are_rejected() -> None:
    with pytest.raises(InputError, match="long, short but got 'medium'"):
        AffinityMatrix.from_preset("medium")
    with pytest.raises(ValueError, match="'opposed' or 'mismatch'"):
        AffinityMatrix(torch.ones(5, 5), 0.5, penalty_rule="any")  # type: ignore[arg-type]


def test_saved_weights_are_loaded(tmp_path: Path) -> None:
    weights = AffinityMatrix(torch.rand(5, 5), 0.25, penalty_rule="mismatch", clamp_cosines=False)
    weights.save(tmp_path / "model")
    again = AffinityMatrix.load(tmp_path / "model")
    assert again.to_dict() == weights.to_dict()
    assert AffinityMatrix(**json.loads(json.dumps(weights.to_dict()))).to_dict() == weights.to_dict()


def test_invalid_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"affinity\.json: Expected a JSON file but it cannot be read"):
        AffinityMatrix.load(tmp_path)
    AffinityMatrix.from_preset("long").save(tmp_path)
    (tmp_path / "affinity.safetensors").write_bytes(b"nothing")
    with pytest.raises(InputError, match=r"affinity\.safetensors"):
        AffinityMatrix.load(tmp_path)
    for text in ("{", "[]", '{"format": 2, "penalty_rule": "opposed", "clamp_cosines": true}'):
        (tmp_path / "affinity.json").write_text(text)
        with pytest.raises(InputError, match=r"affinity\.json"):
            AffinityMatrix.load(tmp_path)


def test_cell_names_follow_the_rows_and_columns_of_w() -> None:
    assert len(set(CELL_NAMES)) == 25
    assert CELL_NAMES[0] == "abnormality_to_abnormality"
    assert CELL_NAMES[5 * ENTITY_TYPES.index("Disease") + ENTITY_TYPES.index("Non-Disease")] == "disease_to_non_disease"


@given(st.dictionaries(st.sampled_from(CELL_NAMES), st.floats(0, 1)), st.none() | st.floats(0, 1))
def test_replace_changes_the_named_values_only(cells: dict[str, float], penalty: float | None) -> None:
    before = AffinityMatrix.from_preset("short")
    after = before.replace(AffinityValues(penalty, cells))
    for name, old, new in zip(
        CELL_NAMES, before.weight.flatten().tolist(), after.weight.flatten().tolist(), strict=True
    ):
        assert new == cells.get(name, old)
    assert after.penalty.item() == (before.penalty.item() if penalty is None else penalty)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (
            AffinityValues(W={"disease": 0.5}),
            "Expected `W` to name cells such as abnormality_to_anatomy but got 'disease'",
        ),
        (
            AffinityValues(W={"disease_to_anatomy": -0.5}),
            "Expected `weight` to be >= 0 but got -0.5 in row 2, column 1",
        ),
        (AffinityValues(penalty=2.0), "Expected `penalty` to be in"),
    ],
)
def test_replace_rejects_unknown_cells_and_values_out_of_range(values: AffinityValues, message: str) -> None:
    with pytest.raises(InputError, match=message):
        AffinityMatrix.from_preset("long").replace(values)
