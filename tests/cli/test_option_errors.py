"""Messages of jsonargparse, raised by its parsers, become one line with what was expected and a remedy."""

import re
from abc import ABC, abstractmethod
from argparse import ArgumentError
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonargparse import ArgumentParser

from radreward.cli.option_errors import option_error
from radreward.cli.signature import add_signature

SHAPE = re.compile(r"(?:-{0,2}[\w.-]+: )?Expected .* but got .*\.")
"""A setting, what is expected, what was given; the remedy follows."""


class Metal:
    """A base class."""


class Iron(Metal):
    """A class with settings."""

    def __init__(self, purity: float = 0.5, alloy: Metal | None = None) -> None:
        self.purity = purity
        self.alloy = alloy


class Steel(Iron):
    """A class that passes other settings on."""

    def __init__(self, carbon: float = 0.1, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.carbon = carbon


class Ore(Metal, ABC):
    """A class without its methods."""

    @abstractmethod
    def melt(self) -> None: ...

    @abstractmethod
    def dig(self) -> None: ...


class Tin(Metal):
    """A class without settings."""


class Bell:
    """A class of which one setting is a class, and required."""

    def __init__(self, metal: Metal, weight: int = 1, kind: Literal["hand", "church"] = "hand") -> None:
        self.metal = metal


class Chime:
    """A class of which a setting is one class or several."""

    def __init__(self, metal: Metal | None = None, metals: Sequence[Metal] = ()) -> None:
        self.metals = [metal, *metals]


@dataclass(frozen=True)
class Tuning:
    """Options of several commands.

    Args:
        pitch: Its frequency.
    """

    pitch: float = 440.0


def ring(*, tuning: Tuning, times: int, size: Literal["small", "large"] = "small", names: Sequence[str] = ()) -> int:
    """Ring.

    Args:
        tuning: The tuning.
        times: Number of times.
        size: Size.
        names: Names.
    """
    return 0


def command_error(arguments: list[str]) -> str:
    """Return the translated error of a command's options."""
    parser = ArgumentParser(exit_on_error=False, allow_abbrev=False)
    add_signature(parser, ring)
    with pytest.raises(ArgumentError) as caught:
        parser.parse_args(arguments)
    return option_error(str(caught.value), "ring")


def setting_error(**settings: Any) -> str:
    """Return the translated error of a configuration."""
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(Bell, "bell")
    parser.add_class_arguments(Iron, "iron")
    parser.add_argument("--run_dir", type=int)
    with pytest.raises((ArgumentError, TypeError)) as caught:
        parser.parse_object({"bell": {"class_path": f"{__name__}.Bell", "init_args": {"metal": "Tin"}}, **settings})
    return option_error(str(caught.value), "fit")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Expected the option --times but got none. See `radreward ring --help`."),
        (["--times=x"], "--times: Expected an int but got x. See `radreward ring --help`."),
        (["--times", "1", "--pitch=low"], "--pitch: Expected a float but got low. See `radreward ring --help`."),
        (
            ["--times=1", "--size=huge"],
            "--size: Expected one of small, large but got huge. See `radreward ring --help`.",
        ),
        (["--times=1", "--siz=small"], "Expected a known option but got --siz. See `radreward ring --help`."),
        (["--times=1", "more"], "Expected a known option but got more. See `radreward ring --help`."),
        (["--times"], "--times: Expected a value but got none. See `radreward ring --help`."),
        (["--times=1", "--names"], "--names: Expected a value but got none. See `radreward ring --help`."),
    ],
)
def test_wrong_option_of_a_command_is_one_line(arguments: list[str], message: str) -> None:
    assert command_error(arguments) == message


def bell(**settings: Any) -> dict[str, Any]:
    return {"class_path": f"{__name__}.Bell", "init_args": {"metal": "Tin", **settings}}


IRON = {"class_path": f"{__name__}.Iron"}
SETTINGS: dict[str, tuple[dict[str, Any], str]] = {
    "type": ({"bell": bell(weight="x")}, "bell.weight: Expected an int but got x. See"),
    "choice": ({"bell": bell(kind="cow")}, "bell.kind: Expected one of hand, church but got cow. See"),
    "nested type": (
        {"bell": bell(metal={**IRON, "init_args": {"purity": "x"}})},
        "bell.metal.purity: Expected a float but got x. See",
    ),
    "unknown setting": ({"bell": bell(wieght=1)}, "Expected a setting of Bell but got 'wieght'. Did you mean weight?"),
    "nested unknown setting": (
        {"bell": bell(metal={**IRON, "init_args": {"zzz": 1}})},
        "bell.metal: Expected a setting of Iron but got 'zzz'. Its settings are purity, alloy.",
    ),
    "unknown setting of a class with inherited ones": (
        {"bell": bell(metal={"class_path": f"{__name__}.Steel", "init_args": {"zzz": 1}})},
        "bell.metal: Expected a setting of Steel but got 'zzz'. Its settings are carbon, purity, alloy.",
    ),
    "abstract class": (
        {"bell": bell(metal=f"{__name__}.Ore")},
        f"bell.metal: Expected a complete class but got an abstract one: {__name__}.Ore does not define dig and melt.",
    ),
    "setting of a class without any": (
        {"bell": bell(metal={"class_path": f"{__name__}.Tin", "init_args": {"purity": 1}})},
        "bell.metal: Expected a setting of Tin but got 'purity'. It has none.",
    ),
    "unknown setting of a group": ({"iron": {"pureness": 1}}, "Expected a setting of iron but got 'pureness'."),
    "unknown top-level setting": ({"bel": 1}, "Expected a setting of `radreward fit` but got 'bel'. See"),
    "misspelt class": (
        {"bell": bell(metal=f"{__name__}.Irn")},
        "bell.metal: Expected the import path of a class but got",
    ),
    "short misspelt class": (
        {"bell": bell(metal="Irn")},
        "bell.metal: Expected the name of a Metal but got 'Irn'. Did you mean Iron?",
    ),
    "class of another family": (
        {"bell": bell(metal="json.JSONDecoder")},
        "bell.metal: Expected the name of a Metal but got 'json.JSONDecoder'. It must be a subclass of Metal.",
    ),
    "class in a missing file": (
        {"bell": bell(metal="nowhere.Brass")},
        "bell.metal: Expected the import path of a class but got 'nowhere.Brass'. There is no file nowhere.py in ",
    ),
    "top-level type": ({"run_dir": "x"}, "--run-dir: Expected an int but got x. See `radreward fit --help`."),
}


@pytest.mark.parametrize(("settings", "message"), SETTINGS.values(), ids=SETTINGS.keys())
def test_wrong_setting_of_a_configuration_is_one_line(settings: dict[str, Any], message: str) -> None:
    line = setting_error(**settings)
    assert message in line
    assert SHAPE.match(line), line
    assert "\n" not in line


@pytest.mark.parametrize("setting", ["metal", "metals"])
def test_class_of_another_family_must_be_a_subclass(setting: str) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(Chime, "chime")
    value = "json.JSONDecoder" if setting == "metal" else ["json.JSONDecoder"]
    with pytest.raises((ArgumentError, TypeError)) as caught:
        parser.parse_object({"chime": {"class_path": f"{__name__}.Chime", "init_args": {setting: value}}})
    line = option_error(str(caught.value), "fit")
    assert SHAPE.match(line), line
    assert "'json.JSONDecoder'" in line
    assert "subclass of Metal" in line


@pytest.mark.parametrize(
    ("option", "remedy"),
    [
        ("--checkpoint-every=5", "Give settings of fit without dashes: checkpoint_every=5."),
        ("--model.objective.c", "Give settings of fit without dashes: model.objective.c=VALUE."),
        ("--seed=3", "Give settings of fit without dashes: seed_everything=3."),
        ("--trails=3", "See `radreward tune --help`."),
    ],
)
def test_setting_of_fit_as_an_option_of_tune_is_explained(option: str, remedy: str) -> None:
    text = f"unrecognized arguments: {option}"
    assert option_error(text, "tune") == f"Expected a known option but got {option.partition('=')[0]}. {remedy}"
    assert option_error(text, "score").endswith("See `radreward score --help`.")


def test_required_setting_without_a_value_is_named() -> None:
    line = setting_error(bell={"class_path": f"{__name__}.Bell", "init_args": {}})
    assert line == "bell.metal: Expected a value but got none. Set --bell.metal."


def test_class_that_its_file_does_not_define_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    (tmp_path / "alloys.py").write_text("Other = 3")
    line = setting_error(bell=bell(metal="alloys.Bronze"))
    assert (
        line == "bell.metal: Expected the import path of a class but got 'alloys.Bronze'. alloys.py defines no Bronze."
    )


MODULES = {
    "syntax": ("def pair(:", "SyntaxError: invalid syntax ({name}.py, line 1). Correct the file."),
    "missing package": (
        "import no_such_package",
        "ModuleNotFoundError in {file}, line 1: No module named 'no_such_package'. Install the package, or correct the "
        "import.",
    ),
    "missing name": (
        "from json import NoSuchName",
        "ImportError in {file}, line 1: cannot import name 'NoSuchName' from 'json' (",
    ),
    "unknown name": (
        "\nclass Bronze(Metal): pass",
        "NameError in {file}, line 2: name 'Metal' is not defined. Correct the file.",
    ),
    "error without text": ("assert False", "AssertionError in {file}, line 1. Correct the file."),
}


@pytest.mark.parametrize(("source", "cause"), MODULES.values(), ids=MODULES.keys())
@pytest.mark.parametrize("form", ["text", "mapping"])
def test_class_in_a_file_that_cannot_be_imported_names_the_cause(
    source: str, cause: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    file = tmp_path / f"alloys_{form}.py"
    file.write_text(source)
    path = f"{file.stem}.Bronze"
    line = setting_error(bell=bell(metal=path if form == "text" else {"class_path": path}))
    start = f"Expected a class in the module {file.stem} but its import raised "
    assert start + cause.format(name=file.stem, file=file) in line
    assert line.startswith(("bell.metal: Expected", "--bell: Expected"))


WORDS = st.sampled_from(
    [
        'Parser key "',
        '":',
        "model.rank",
        "\n",
        "  - ",
        "Expected a <class 'int'>",
        "Expected a ",
        ". Got value: ",
        "Given value type: <class 'str'>",
        "Given value: NestedArg(key='a', val='1')",
        "class_path 'no.Such':",
        "class_path 'Such':",
        "Option 'x' is not accepted",
        "Key 'y' is not expected",
        "Group 'g' does not accept option 'z'",
        "Expected a dot import path string: ",
        "Not a valid subclass of Thing",
        "unrecognized arguments: ",
        "arguments are required: ",
        "typing.Literal['a', 'b']",
        "Expected `n` to be >= 1 but got 0.",
    ]
)


@given(st.lists(WORDS | st.text(max_size=5)).map("".join), st.sampled_from(["fit", "score"]))
def test_any_text_becomes_one_line(text: str, command: str) -> None:
    line = option_error(text, command)
    assert len(line.splitlines()) <= 1
