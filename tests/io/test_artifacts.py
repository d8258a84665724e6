from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from radreward.errors import InputError
from radreward.io.artifacts import (
    file_fingerprint,
    fingerprint,
    load_into,
    load_metadata,
    load_tensors,
    read_json_object,
    save_tensors,
    write_json,
)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"a\.json: Expected a JSON file but it cannot be read \(No such file"),
        (b"{", r"a\.json: Expected JSON but it cannot be parsed \("),
        (b"\xff", r"a\.json: Expected JSON but it cannot be parsed \("),
        (b"[" * 100_000, r"a\.json: Expected JSON but it is nested too deeply\."),
        (b"[1]", r"a\.json: Expected a JSON object but got list\."),
    ],
    ids=["missing", "open", "bytes", "deep", "list"],
)
def test_read_json_object_invalid_file_is_named(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content is not None:
        (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_json_object(tmp_path / "a.json")


def test_tensors_round_trip_with_dtype_and_metadata(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    state = {"weight": torch.tensor([[1.0, 0.1]]).T, "count": torch.tensor(3)}
    save_tensors(path, state, metadata={"kind": "linear"})
    for name, value in load_tensors(path).items():
        torch.testing.assert_close(value, state[name], rtol=0, atol=0)
    assert load_metadata(path) == {"kind": "linear"}
    save_tensors(path, {"weight": state["weight"]}, torch.float16)
    assert load_tensors(path)["weight"].dtype == torch.float16


def test_tensors_not_finite_are_never_saved_or_loaded(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    with pytest.raises(InputError, match=r"'w' to hold finite numbers only, as torch\.float16"):
        save_tensors(path, {"w": torch.tensor([1e6])}, torch.float16)
    assert not path.exists()


def test_load_tensors_missing_or_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    for load in (load_tensors, load_metadata):
        with pytest.raises(
            InputError, match=r"a\.safetensors: Expected a safetensors file with weights but there is no"
        ):
            load(path)
    save_tensors(path, {"w": torch.ones(5)})
    path.write_bytes(path.read_bytes()[:-3])
    for load in (load_tensors, load_metadata):
        with pytest.raises(InputError, match=r"a\.safetensors: Expected a safetensors file but it is damaged \("):
            load(path)


def test_load_into_checks_names_and_shapes_before_it_copies() -> None:
    module = nn.Linear(2, 1)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    for state, message in (
        ({"weight": torch.ones(1, 2)}, "'bias' is missing"),
        ({"weight": torch.ones(1, 2), "bias": torch.ones(1), "scale": torch.ones(1)}, "'scale' is unknown"),
        ({"bias": torch.ones(1), "weight": torch.ones(2)}, r"'weight' to have shape \(1, 2\) but got \(2,\)"),
    ):
        with pytest.raises(InputError, match=message):
            load_into(module, state)
    for name, value in module.state_dict().items():
        assert torch.equal(value, before[name])
    load_into(module, {"bias": torch.full((1,), 7.0, dtype=torch.float16)}, {"bias"})
    assert module.bias.item() == 7.0


def test_fingerprint_changes_with_every_part(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    (tmp_path / "b.txt").write_text("b")
    one = torch.ones(2)
    parts: list[list[Any]] = [
        [], [""], ["", ""], ["a"], [b"a"], [["a"]], [[["a"]]], [None], [0], [0.0], [False], ["0"], [{}], [{"a": 0}],
        [one], [one.double()], [one[None]], [one.half()], [torch.tensor(1.0)], [np.zeros(3)], [tmp_path / "a.txt"],
        [tmp_path / "b.txt"], [tmp_path],
    ]  # fmt: skip
    assert len({fingerprint(*entry) for entry in parts}) == len(parts)
    assert fingerprint(torch.arange(6).view(2, 3).T) == fingerprint(torch.arange(6).view(2, 3).T.contiguous())
    assert fingerprint((1, 2)) == fingerprint([1, 2])


def test_fingerprint_object_without_a_stable_form_is_refused() -> None:
    with pytest.raises(TypeError, match="but got object"):
        fingerprint({"a": object()})


def test_file_fingerprint_of_a_folder_changes_with_names_and_contents(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    first = file_fingerprint(tmp_path)
    (tmp_path / "a").rename(tmp_path / "b")
    second = file_fingerprint(tmp_path)
    (tmp_path / "b").write_text("y")
    assert len({first, second, file_fingerprint(tmp_path)}) == 3
    with pytest.raises(InputError, match=r"none: cannot be read \(No such file or directory\)"):
        file_fingerprint(tmp_path / "none")


def test_write_json_not_finite_number_raises_and_keeps_file(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"a": 1})
    with pytest.raises(ValueError, match="JSON"):
        write_json(tmp_path / "a.json", {"a": float("nan")})
    assert read_json_object(tmp_path / "a.json") == {"a": 1}
