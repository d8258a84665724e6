from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.model_config import check_settings, config_errors, read_config, write_config


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"depth": 1}, r"config\.json: Expected `format` to be 1 but got None\. Train or save the model again"),
        ({"format": 2, "depth": 1}, "Expected `format` to be 1 but got 2"),
        ({"format": True, "depth": 1}, "Expected `format` to be 1 but got True"),
        ({"format": 1}, r"Expected the fields depth, format but 'depth' is missing\."),
        ({"format": 1, "depth": 1, "width": 2}, "Expected the fields depth, format but 'width' is unknown"),
    ],
)
def test_read_config_other_format_or_fields_are_named(tmp_path: Path, config: Any, message: str) -> None:
    path = tmp_path / "config.json"
    write_json(path, config)
    with pytest.raises(InputError, match=message):
        read_config(path, {"depth"})


def test_config_errors_name_the_file_once(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    errors = TypeError("many"), KeyError("lora"), RecursionError("deep"), OverflowError("large"), InputError("Expected")
    for error in errors:
        with pytest.raises(InputError, match=r"config\.json: "), config_errors(path):
            raise error
    message = f"{tmp_path}/model.safetensors: Expected weights."
    with pytest.raises(InputError) as caught, config_errors(path):
        raise InputError(message)
    assert str(caught.value) == message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.safetensors").write_bytes(bytes(range(256)))
    (tmp_path / "tokenizer").mkdir()
    (tmp_path / "tokenizer" / "vocabulary.txt").write_text("lung")
    write_config(tmp_path / "config.json", {}, ("model.safetensors", "tokenizer"))
    return tmp_path


@given(st.integers(0, 256 * 8 - 1))
def test_every_flipped_bit_is_reported(tmp_path_factory: pytest.TempPathFactory, bit: int) -> None:
    folder = tmp_path_factory.mktemp("model")
    weights = bytearray(range(256))
    (folder / "model.safetensors").write_bytes(weights)
    write_config(folder / "config.json", {}, ("model.safetensors",))
    read_config(folder / "config.json", (), files=("model.safetensors",))
    weights[bit // 8] ^= 1 << bit % 8
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match=r"model\.safetensors: Expected the content .* Copy the folder again\.$"):
        read_config(folder / "config.json", (), files=("model.safetensors",))


def test_missing_and_changed_files_are_named(folder: Path) -> None:
    read_config(folder / "config.json", (), files=("model.safetensors", "tokenizer"))
    (folder / "tokenizer" / "added.txt").touch()
    with pytest.raises(InputError, match=r"tokenizer: Expected the content that was saved with config\.json"):
        read_config(folder / "config.json", (), files=("model.safetensors",))
    (folder / "model.safetensors").unlink()
    with pytest.raises(InputError, match=r"model\.safetensors: Expected a file, which config\.json lists, but there"):
        read_config(folder / "config.json", (), files=())


@pytest.mark.parametrize(
    ("digests", "message"),
    [
        ({}, r"Expected `sha256` to list 'model\.safetensors'\. Save the model again\."),
        ([], r"Expected `sha256` to be an object but got \[\]"),
        ({"model.safetensors": 3}, "SHA-256 differs"),
        ({"model.safetensors": None}, "SHA-256 differs"),
        ({"model.safetensors": "", "../../dev/zero": ""}, "SHA-256 differs|names of files"),
        ({"/dev/zero": "", "model.safetensors": ""}, "Expected `sha256` to list names of files but got '/dev/zero'"),
    ],
)
def test_wrong_digests_are_named(folder: Path, digests: Any, message: str) -> None:
    write_json(folder / "config.json", {"format": 1, "sha256": digests})
    with pytest.raises(InputError, match=message):
        read_config(folder / "config.json", (), files=("model.safetensors",))


class Encoder:
    def __init__(
        self,
        depth: int = 1,
        rate: float | None = None,
        kind: Literal["bert", "gpt"] = "bert",
        layers: list[str] | Literal["all"] = "all",
        path: Path | None = None,
        *,
        frozen: bool = False,
    ) -> None: ...


@pytest.mark.parametrize(
    "values",
    [{}, {"depth": -3, "rate": 1}, {"rate": None}, {"kind": "gpt", "layers": []}, {"layers": ["a"], "frozen": True}],
)
def test_check_settings_accepts_values_of_the_type(values: dict[str, Any]) -> None:
    check_settings(Encoder, values, "encoder")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (7, "Expected `encoder` to be an object but got 7"),
        ({"width": 1}, "Expected `encoder` to have the fields depth, .* but got 'width'"),
        ({"depth": True}, "Expected `encoder.depth` to be int but got True"),
        ({"depth": 1.0}, "Expected `encoder.depth` to be int but got 1.0"),
        ({"depth": 10**30}, "Expected `encoder.depth` to be int but got 1000000"),
        ({"rate": "1"}, r"Expected `encoder.rate` to be float \| None but got '1'"),
        ({"rate": float("inf")}, "Expected `encoder.rate`"),
        ({"rate": 10**400}, "Expected `encoder.rate`"),
        ({"kind": "t5"}, "Expected `encoder.kind` to be Literal"),
        ({"kind": ["bert"]}, "Expected `encoder.kind`"),
        ({"layers": ["a", 3]}, "Expected `encoder.layers`"),
        ({"layers": "half"}, "Expected `encoder.layers`"),
        ({"frozen": 1}, "Expected `encoder.frozen` to be bool but got 1"),
    ],
)
def test_check_settings_names_the_field(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as error:
        check_settings(Encoder, values, "encoder")
    assert len(str(error.value)) < 200
