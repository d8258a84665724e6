"""Tests of the things that a scorer needs and a machine lacks."""

from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from radreward._lazy_imports import import_object
from radreward.scorers import SCORERS
from radreward.scorers.radcliq import RadCliQBLEU2
from radreward.scorers.radgraph import RadGraphF1
from radreward.scorers.usability import missing_needs


def test_packages_of_the_registry_are_those_of_the_classes() -> None:
    for name, entry in SCORERS.items():
        declared = getattr(import_object(entry.spec.class_path), "packages", ())
        if name.startswith("radcliq"):
            declared = (*RadGraphF1.packages, *RadCliQBLEU2.packages)
        assert tuple(package for package in entry.packages if package != "openai") == declared, name


def test_hidden_package_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.extras.find_spec", lambda name: None if name == "nltk" else object())
    assert missing_needs(SCORERS["meteor"]) == ["`nltk` (pip install 'radreward[lexical]')"]
    assert missing_needs(SCORERS["bleu-2"]) == []


def test_judge_needs_a_server_or_a_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.extras.find_spec", lambda name: object())
    monkeypatch.setenv("OPENAI_BASE_URL", " ")
    monkeypatch.setenv("OPENAI_MODEL", "judge")
    model = "or the folder or Hub name of a language model after a colon"
    assert missing_needs(SCORERS["g-rad"]) == [f"a server (OPENAI_BASE_URL), {model}"]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:8000/v1")
    assert missing_needs(SCORERS["g-rad"]) == []
    monkeypatch.setattr("radreward.extras.find_spec", lambda name: None)
    assert missing_needs(SCORERS["g-rad"]) == [f"`openai` (pip install 'radreward[llm]'), {model}"]


@pytest.mark.skipif(find_spec("radgraph") is None, reason="needs radgraph: pip install radgraph")
def test_radcliq_needs_its_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # read by appdirs
    monkeypatch.setattr("radreward.scorers.usability._is_cached", lambda model: model != "distilroberta-base")
    folder = "the folder of CheXbert's weights after a colon"
    encoder = "the model distilroberta-base of the Hub (--allow-download)"
    radgraph = "RadGraph's model (--allow-download)"
    assert missing_needs(SCORERS["radcliq-v1"]) == [radgraph, encoder, folder]
    assert missing_needs(SCORERS["radgraph"]) == [radgraph]
    (tmp_path / "radgraph" / "radgraph").mkdir(parents=True)
    assert missing_needs(SCORERS["radgraph"]) == [radgraph]  # the package downloads into an empty folder
    (tmp_path / "radgraph" / "radgraph" / "config.json").touch()
    assert missing_needs(SCORERS["radcliq-v1"]) == [encoder, folder]
    assert missing_needs(SCORERS["radgraph"]) == []


def test_model_of_the_hub_counts_once_it_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    entry = replace(SCORERS["bertscore"], hub_models=("owner/name",))
    assert missing_needs(entry) == ["the model owner/name of the Hub (--allow-download)"]
    cached = tmp_path / "models--owner--name"
    (cached / "snapshots" / "abc").mkdir(parents=True)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("abc")
    (cached / "snapshots" / "abc" / "config.json").touch()
    assert missing_needs(entry) == []


def test_missing_folder_of_weights_is_named(tmp_path: Path) -> None:
    [need] = missing_needs(replace(SCORERS["er2score"], folder=tmp_path))
    assert need == f"its model in {tmp_path}, which this installation does not contain"
