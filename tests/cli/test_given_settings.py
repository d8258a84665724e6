"""The settings that a user gives, among all settings of a run."""

from pathlib import Path

import yaml

from radreward.cli.given_settings import given_settings
from radreward.cli.training import build_from_arguments
from tests.tiny_run import settings


def test_given_settings_are_those_of_files_and_arguments(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(yaml.safe_dump(settings(tmp_path)))
    arguments = [
        f"--config={config}",
        "--model.objective=BradleyTerry",
        "--model.init_args.optimizer.lr",
        "0.01",
        "--model.backbone.lora=null",
        "--seed=3",
        "--overwrite",
    ]
    training = build_from_arguments(arguments)
    given = dict(training.given)
    assert str(given.pop("data.records")).endswith("groups.jsonl")
    assert given == {
        "criteria": "radcliq",
        "seed_everything": 3,
        "model.objective": "BradleyTerry",
        "model.optimizer.lr": 0.01,
        "model.backbone.name": "tiny-bert",
        "model.head_hidden_size": 4,
        "data.val_split": 0.3,
        "data.batch_size": 4,
        "trainer.max_steps": 6,
        "trainer.val_check_interval": 2,
        "trainer.log_every_n_steps": 1,
        "trainer.accelerator": "cpu",
    }


def test_given_settings_of_a_class_with_its_own_settings() -> None:
    objective = {"class_path": "a.Loss", "init_args": {"c": 1, "d": 2}}
    all_settings = {"model": {"class_path": "b.Module", "init_args": {"objective": objective, "pooling": "mean"}}}
    argument = '--model.objective={"class_path": "a.Loss", "init_args": {"c": 1}}'
    assert given_settings([argument], all_settings) == {"model.objective": "Loss", "model.objective.c": 1}
    assert given_settings([], all_settings) == {}
