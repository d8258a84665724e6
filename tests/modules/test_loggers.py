"""Every logger of Lightning gets the same scalars, figures and texts; W&B and MLflow offline, if installed."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import CSVLogger, Logger, MLFlowLogger, TensorBoardLogger, WandbLogger
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from radreward.modules.loggers import log_figure, log_scalars, log_text

PNG = b"\x89PNG"
TEXT = "**Reference**\n\n    No effusion.\n"


def _log(logger: Logger) -> None:
    """Log a scalar twice, a figure and a text."""
    trainer = Trainer(
        logger=logger, accelerator="cpu", devices=1, enable_progress_bar=False, enable_model_summary=False
    )
    for step in (10, 20):
        log_scalars(trainer, {"Overview/tau_b": step / 100, "margin/a b": float(step), "margin/c": None}, step)
    log_figure(trainer, "calibration/total", Figure(), 20)
    log_text(trainer, "val/example", TEXT, 20)
    logger.save()
    logger.finalize("success")


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


def test_csv_logger_has_rows_and_files(tmp_path: Path) -> None:
    _log(CSVLogger(tmp_path, name="", version="logs"))
    with (tmp_path / "logs" / "metrics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["step"], row["Overview/tau_b"], row["margin/a b"]) for row in rows] == [
        ("10", "0.1", "10.0"),
        ("20", "0.2", "20.0"),
    ]
    assert (tmp_path / "logs" / "calibration" / "total" / "20.png").read_bytes().startswith(PNG)
    assert (tmp_path / "logs" / "val" / "example" / "20.md").read_text() == TEXT


def test_tensorboard_logger_has_scalars_image_and_text(tmp_path: Path) -> None:
    _log(TensorBoardLogger(tmp_path, name="", version="logs"))
    events = EventAccumulator(str(tmp_path / "logs")).Reload()
    assert [(event.step, event.value) for event in events.Scalars("Overview/tau_b")] == [
        (10, pytest.approx(0.1)),
        (20, pytest.approx(0.2)),
    ]
    (image,) = events.Images("calibration/total")
    assert image.encoded_image_string.startswith(PNG)
    (text,) = events.Tensors("val/example/text_summary")
    assert text.tensor_proto.string_val[0].decode() == TEXT


@pytest.mark.filterwarnings("ignore")
def test_wandb_logger_offline_has_scalars_image_and_table(tmp_path: Path) -> None:
    wandb = pytest.importorskip("wandb", reason="needs wandb: pip install wandb")
    logger = WandbLogger(save_dir=tmp_path, offline=True, project="radreward")
    _log(logger)
    wandb.finish()
    wandb.teardown()  # the process that writes the run ends
    files = {path.name for path in tmp_path.glob("wandb/offline-run-*/files/media/**/*") if path.is_file()}
    assert {Path(name).suffix for name in files} == {".png", ".json"}
    (table,) = tmp_path.glob("wandb/offline-run-*/files/media/table/val/example_*.table.json")
    assert json.loads(table.read_text())["data"] == [[TEXT]]
    (log,) = tmp_path.glob("wandb/offline-run-*/run-*.wandb")
    assert b"Overview/tau_b" in log.read_bytes()


@pytest.mark.filterwarnings("ignore")
def test_mlflow_logger_in_a_folder_has_scalars_image_and_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    pytest.importorskip("mlflow", reason="needs mlflow: pip install mlflow")
    logger = MLFlowLogger("radreward", tracking_uri=f"file:{tmp_path / 'mlruns'}")
    _log(logger)
    history = logger.experiment.get_metric_history(logger.run_id, "Overview/tau_b")
    assert [(entry.step, entry.value) for entry in history] == [(10, 0.1), (20, 0.2)]
    (figure,) = tmp_path.glob("mlruns/**/artifacts/calibration/total/20.png")
    assert figure.read_bytes().startswith(PNG)
    (text,) = tmp_path.glob("mlruns/**/artifacts/val/example/20.md")
    assert text.read_text() == TEXT


def test_other_ranks_write_nothing(tmp_path: Path) -> None:
    from types import SimpleNamespace

    logger = CSVLogger(tmp_path, name="", version="logs")
    rank_1: Any = SimpleNamespace(loggers=[logger], is_global_zero=False)
    calls: list[Callable[[], None]] = [
        lambda: log_scalars(rank_1, {"a": 1.0}, 1),
        lambda: log_text(rank_1, "b", "text", 1),
        lambda: log_figure(rank_1, "c", Figure(), 1),
    ]
    for call in calls:
        call()
    assert not list(tmp_path.rglob("*"))


def test_csv_logger_replaces_a_link_and_leaves_its_target(tmp_path: Path) -> None:
    logger = CSVLogger(tmp_path, name="", version="logs")
    logger.log_metrics({"a": 1.0})  # creates the folder
    target, link = tmp_path / "mine.txt", tmp_path / "logs" / "val" / "example" / "20.md"
    target.write_text("mine")
    link.parent.mkdir(parents=True)
    link.symlink_to(target)
    _log(logger)
    assert target.read_text() == "mine"
    assert not link.is_symlink()
    assert link.read_text() == TEXT
