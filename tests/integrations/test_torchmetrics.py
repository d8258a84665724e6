"""Scorers as metrics of torchmetrics: the mean of their totals, over batches and over ranks."""

import logging
import pickle
import socket
from dataclasses import replace
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from lightning.pytorch import LightningModule, Trainer
from torch import Tensor, distributed
from torch.utils.data import DataLoader

import radreward
from radreward.errors import InputError
from radreward.integrations.torchmetrics import ScorerMetric
from radreward.models.reward_artifact import load_reward_model, save_reward_model
from radreward.scorers import load
from radreward.systems.er2score.scorer import EMBEDDED_DIR
from tests.integrations.test_trl import Letters

REFERENCES = ["small left effusion", "no pneumothorax", "normal heart size", "right rib fracture", "clear"]
CANDIDATES = ["left effusion", "pneumothorax", "the heart is enlarged", "rib fracture", ""]


def test_mean_is_independent_of_batches() -> None:
    expected = load("rouge-l").score(REFERENCES, CANDIDATES).total[:4].mean()
    metric = ScorerMetric("rouge-l")
    for part in (slice(0, 1), slice(1, 4), slice(4, 5)):
        metric.update(REFERENCES[part], CANDIDATES[part])
    torch.testing.assert_close(metric.compute(), expected)
    assert metric.compute().dtype == torch.float32


def test_mean_may_be_that_of_the_quality() -> None:
    scorer = load("chexpert-f1")
    quality = scorer.score(REFERENCES, CANDIDATES).quality
    assert quality is not None
    metric = ScorerMetric(scorer, output="quality")
    metric.update(REFERENCES, CANDIDATES)
    torch.testing.assert_close(metric.compute(), quality[:4].mean())
    assert ScorerMetric(Letters()).higher_is_better is False
    with pytest.raises(InputError, match="Expected a scorer with the output quality but it has only total"):
        ScorerMetric(Letters(), output="quality")


def test_mean_may_be_that_of_the_errors_of_which_fewer_are_better() -> None:
    scorer = load("er2score")
    metric = ScorerMetric(scorer, output="errors")
    references, candidates = ["Mild edema. No effusion."] * 2, ["Mild edema. Large effusion.", ""]
    metric.update(references, candidates)
    errors = scorer.score(references, candidates).errors
    assert errors is not None
    torch.testing.assert_close(metric.compute(), errors[0])
    assert metric.compute() > 0.5
    assert metric.higher_is_better is False


def test_pairs_without_a_score_are_counted(caplog: pytest.LogCaptureFixture) -> None:
    metric = ScorerMetric(load("rouge-l"))
    metric.update([""], ["clear"])
    with caplog.at_level(logging.WARNING):
        assert metric.compute().isnan()
    assert caplog.messages == ["ROUGE-L: 1 of 1 pairs have no score."]
    metric.reset()
    metric.update(["clear"], ["clear"])
    assert metric.compute() == 1


def test_trained_model_is_named_as_loaded(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = tmp_path / "mine"
    artifact = load_reward_model(EMBEDDED_DIR)
    save_reward_model(replace(artifact, finding_weights_calibration=None), folder)
    metric = ScorerMetric(folder)
    metric.update(["Small effusion.", "Small effusion."], ["Small effusion.", ""])
    metric.compute()
    assert caplog.messages == [f"{folder}: 1 of 2 pairs have no score."]
    assert repr(metric.scorer).startswith(f"<{folder} (RewardModelScorer):")
    with pytest.raises(InputError, match=r"mine: Expected .* output quality .*with the objective FindingRegression"):
        ScorerMetric(folder, output="quality")


def test_pairs_without_a_score_count_as_missing(caplog: pytest.LogCaptureFixture) -> None:
    metric = ScorerMetric("rouge-l", missing=-1.0)
    metric.update(["clear", "clear"], ["clear", ""])
    metric.update(["clear", "clear"], ["clear", " "])
    assert metric.compute() == 0
    assert caplog.messages == ["ROUGE-L: 2 of 4 pairs have no score."]
    with pytest.raises(ValueError, match="Expected `missing` to be None or finite but got nan"):
        ScorerMetric("rouge-l", missing=float("nan"))


def test_references_come_first_and_are_read_by_position() -> None:
    metric = ScorerMetric(Letters())
    assert metric.higher_is_better is False
    assert metric(pd.Series(["abc", "a"], index=[1, 0]), pd.Series(["a", "a"])) == 1  # b and c are missing


def test_metric_is_copied_and_pickled_with_its_state() -> None:
    metric = ScorerMetric("rouge-l")
    metric.update(REFERENCES, REFERENCES)
    copied: ScorerMetric = pickle.loads(pickle.dumps(metric))  # noqa: S301
    assert copied.compute() == metric.clone().compute() == 1


def test_both_import_paths_are_the_same_class() -> None:
    assert radreward.ScorerMetric is ScorerMetric


class _Module(LightningModule):
    def __init__(self) -> None:
        super().__init__()
        self.metric = ScorerMetric("rouge-l")

    def validation_step(self, batch: list[list[str]], batch_idx: int) -> None:
        self.metric.update(*batch)
        self.log("rouge", self.metric, batch_size=len(batch[0]))


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning", "ignore:.*num_workers:UserWarning")
def test_lightning_logs_the_mean() -> None:
    rows: Any = list(zip(REFERENCES[:4], CANDIDATES, strict=False))
    pairs: DataLoader[Any] = DataLoader(rows, batch_size=3)
    settings: dict[str, Any] = {"logger": False, "enable_progress_bar": False, "enable_model_summary": False}
    trainer = Trainer(accelerator="cpu", devices=1, **settings)
    (logged,) = trainer.validate(_Module(), pairs, verbose=False)
    expected = load("rouge-l").score(REFERENCES[:4], CANDIDATES[:4]).total.mean()
    assert logged["rouge"] == pytest.approx(expected.item())


def _rank(rank: int, port: int, folder: str) -> None:
    distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    metric = ScorerMetric("rouge-l")
    own = slice(0, 3) if rank == 0 else slice(3, 5)  # shares of unequal size
    metric.update(REFERENCES[own], CANDIDATES[own])
    torch.save(metric.compute().clone(), Path(folder) / f"{rank}.pt")
    distributed.destroy_process_group()


def test_two_ranks_have_the_overall_mean(tmp_path: Path, processes: ForkServerContext) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    ranks = [processes.Process(target=_rank, args=(rank, port, str(tmp_path))) for rank in range(2)]
    for process in ranks:
        process.start()
    for process in ranks:
        process.join()
    assert [process.exitcode for process in ranks] == [0, 0]
    results: list[Tensor] = [torch.load(tmp_path / f"{rank}.pt", weights_only=True) for rank in range(2)]
    assert results == [load("rouge-l").score(REFERENCES, CANDIDATES).total[:4].mean()] * 2
