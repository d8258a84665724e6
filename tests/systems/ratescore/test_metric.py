import multiprocessing
import socket
from pathlib import Path

import pytest
import torch
from torch import distributed

from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.metric import RaTEScoreMetric
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.systems.ratescore.taggers import RuleTagger

REFERENCES = [
    "Small left pleural effusion.",
    "No pneumothorax.",
    "Normal heart size.",
    "Right rib fracture.",
    "Thanks.",
]
CANDIDATES = ["Left pleural effusion.", "Pneumothorax.", "The heart is enlarged.", "Rib fracture.", "Effusion."]


def scorer() -> RaTEScore:
    return RaTEScore(RuleTagger(), EntityEncoder("tiny-bert"), AffinityMatrix.from_preset("long"))


def test_mean_is_independent_of_batches() -> None:
    scores = scorer().score(REFERENCES, CANDIDATES)
    assert scores.sub_scores is not None
    metric = RaTEScoreMetric(scorer())
    metric.update(CANDIDATES[:2], REFERENCES[:2])
    metric.update(CANDIDATES[2:], REFERENCES[2:])
    values = {name: value.item() for name, value in metric.compute().items()}
    assert values["ratescore"] == pytest.approx(scores.total[:4].mean().item(), abs=1e-6)
    assert values["anatomy"] == pytest.approx(scores.sub_scores[:4, 1].mean().item(), abs=1e-6)
    assert values["unscored"] == 1
    assert 1 + sum(values[name] for name in metric.output_names[1:]) == pytest.approx(values["ratescore"], abs=1e-6)


def test_mean_without_scores_is_nan() -> None:
    metric = RaTEScoreMetric(scorer())
    metric.update(["Thanks."], [""])
    values = metric.compute()
    assert values["ratescore"].isnan()
    assert values["unscored"] == 1
    metric.reset()
    metric.update(["Effusion."], ["Effusion."])
    assert metric.compute()["ratescore"] == pytest.approx(1.0)


def test_no_entity_score_has_no_sub_scores() -> None:
    half = RaTEScore(RuleTagger(), EntityEncoder("tiny-bert"), AffinityMatrix.from_preset("long"), no_entity_score=0.5)
    metric = RaTEScoreMetric(half)
    metric.update(["Thanks.", "Effusion."], ["Effusion.", "Effusion."])
    values = metric.compute()
    assert values["ratescore"] == pytest.approx(0.75)
    assert values["abnormality"] == pytest.approx(0.0)


def process(rank: int, port: int, folder: str) -> None:
    distributed.init_process_group("gloo", f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    metric = RaTEScoreMetric(scorer())
    own = slice(0, 3) if rank == 0 else slice(3, 5)  # shares of unequal size
    metric.update(CANDIDATES[own], REFERENCES[own])
    torch.save({name: value.clone() for name, value in metric.compute().items()}, Path(folder) / f"{rank}.pt")
    distributed.destroy_process_group()


def test_two_processes_give_the_overall_mean(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    running = [context.Process(target=process, args=(rank, port, str(tmp_path))) for rank in range(2)]
    for worker in running:
        worker.start()
    for worker in running:
        worker.join()
    assert [worker.exitcode for worker in running] == [0, 0]
    metric = RaTEScoreMetric(scorer())
    metric.update(CANDIDATES, REFERENCES)
    for rank in range(2):
        result = torch.load(tmp_path / f"{rank}.pt", weights_only=True)
        for name, value in metric.compute().items():
            torch.testing.assert_close(result[name], value, rtol=0, atol=1e-6)
