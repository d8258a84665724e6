"""Scorers are found by name, in their folder, and in the folder of the run that made them."""

from pathlib import Path

import pytest

from radreward.cli import build
from radreward.errors import InputError
from radreward.scorers import KINDS, NAMES, Kind, find


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_kind_is_found_in_its_folder_and_in_its_run(kind: Kind, tmp_path: Path) -> None:
    for folder in (tmp_path / "run" / "model", tmp_path / "alone"):
        folder.mkdir(parents=True)
        (folder / kind.settings).touch()
    assert find(tmp_path / "run") == (kind, tmp_path / "run" / "model", {})
    assert find(str(tmp_path / "alone")) == (kind, tmp_path / "alone", {})


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_found(name: str) -> None:
    kind, folder, _ = find(f"{name}:folder" if NAMES[name].needs else name)
    assert kind in KINDS
    assert folder is None or (folder / kind.settings).is_file()


def test_what_holds_no_scorer_says_what_it_holds(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the folder of a model, my_file.py:my_metric, or a name of embedded"):
        find("nowhere")
    for path in (tmp_path / "nowhere", "./nowhere/", "~/nowhere", "runs/nowhere"):
        with pytest.raises(InputError, match="of a model or of a run but there is no such folder.$"):
            find(path)
    with pytest.raises(InputError, match="Expected the folder of a saved scorer or of a run"):
        find(tmp_path)
    (tmp_path / "config.yaml").touch()
    with pytest.raises(InputError, match="holds a run without a model; finish it with"):
        find(tmp_path)


def test_training_begins_with_what_was_trained() -> None:
    with pytest.raises(InputError, match="--start: Expected a model that was trained and saved, which 'ratescore' is"):
        build(None, "criteria=RadCliQ", "start=ratescore", "data.records=none.jsonl")
