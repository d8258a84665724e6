"""W and p from a configuration: fitted, told, saved; stopped and continued; refused where the data do not fit."""

from __future__ import annotations

import json
import os
import signal
from multiprocessing import get_context
from pathlib import Path

import pytest
import torch
import yaml

from radreward.affinity import AffinityWeights
from radreward.affinity.entities import Entities, EntityBatch
from radreward.affinity.fitting import GradientFit, TPEFit
from radreward.cli import build, main
from radreward.criteria import Criteria, load_criteria
from radreward.errors import InputError
from radreward.modules.affinity import AffinityModule, agreement_of, joined
from radreward.synthesis import synthesize_files
from radreward.types import Candidate, ReportGroup

CONFIG = Path(__file__).resolve().parents[2] / "experiments" / "ratescore" / "affinity.yaml"
CRITERIA = Criteria("two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}])


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    synthesize_files(folder, load_criteria("radcliq-significance"), 60, per_reference=3)
    return folder / "groups.parquet"


def small(records: Path, run: Path, *more: str) -> list[str]:
    return [
        f"run={run}",
        f"data.records={records}",
        "data.groups_per_batch=4",
        "data.collator.encoder.name=tiny-bert",
        "data.collator.encoder.max_length=200",  # its tokens are bytes
        "data.collator.encoder.context=type",
        "model.samples=3",
        "model.folds=2",
        "trainer.accelerator=cpu",
        "trainer.enable_progress_bar=false",
        *more,
    ]


def command(records: Path, run: Path, *more: str) -> list[str]:
    return ["fit", f"--config={CONFIG}", *(f"--{entry}" for entry in small(records, run, *more))]


@pytest.mark.parametrize("method", ["GradientFit", "TPEFit"])
def test_a_run_fits_and_tells(method: str, records: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    more = [f"model.method=radreward.affinity.fitting.{method}"]
    more += (
        ["model.method.trials=20", "model.method.startup=5"] if method == "TPEFit" else ["model.method.temperature=0.5"]
    )
    training = build(CONFIG, *small(records, run, *more))
    assert isinstance(training.module, AffinityModule)
    assert isinstance(training.module.method, TPEFit if method == "TPEFit" else GradientFit)
    result = training.fit()

    weights = AffinityWeights.load(run / "model")
    assert weights.to_dict() == training.module.weights.to_dict()
    assert not torch.equal(weights.weight, AffinityWeights.from_preset("long").weight)
    told = json.loads((run / "metrics.json").read_text())
    assert told["agreement"] == result
    assert set(result) == {"long", "short", "total"}
    # At least as good as the start by the pairs it was fitted to and chosen by; these were not all of the references.
    read = joined(training.module.read)
    before, after = (agreement_of(made, read)["tau_b"] for made in (AffinityWeights.from_preset("long"), weights))
    assert before is not None
    assert after is not None
    assert after > before
    numbers = json.loads((run / "affinity.json").read_text())
    assert numbers["fitted"] == weights.to_dict()
    assert numbers["intervals"]["samples"] == 3
    assert len(numbers["cross_validation"]["fitted"]) == 2
    assert sum(map(sum, numbers["matches"])) == read.sums.counts.sum().item()
    assert (run / "affinity.png").read_bytes().startswith(b"\x89PNG")
    assert "| Anatomy |" in (run / "affinity.md").read_text()
    assert (run / "model" / "ratescore.json").is_file()


def test_the_saved_model_scores_as_it_was_fitted(records: Path, tmp_path: Path) -> None:
    from radreward.data.records import read_groups
    from radreward.scorers.ratescore import RaTEScore

    training = build(CONFIG, *small(records, tmp_path / "run", "model.samples=0"))
    training.fit()
    scorer = RaTEScore.from_pretrained(tmp_path / "run" / "model")
    group = next(iter(read_groups(str(records), training.module.criteria)))  # type: ignore[arg-type]
    texts = [candidate.text for candidate in group.candidates]
    scores = scorer.score([group.reference] * len(texts), texts).total
    collator = training.data.collator  # type: ignore[attr-defined]
    expected = training.module.weights(collator.collate([group]).matches)  # type: ignore[operator]
    assert torch.allclose(scores.double(), expected, atol=1e-6)


def _killed(arguments: list[str], step: int) -> None:
    original = AffinityModule.training_step

    def training_step(self: AffinityModule, batch: EntityBatch, batch_index: int) -> torch.Tensor:
        if batch_index == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, batch, batch_index)

    AffinityModule.training_step = training_step  # type: ignore[method-assign]
    main(arguments)


def test_killed_and_continued_is_as_if_never_killed(records: Path, tmp_path: Path) -> None:
    build(CONFIG, *small(records, tmp_path / "whole", "model.samples=0")).fit()
    broken = command(records, tmp_path / "broken", "model.samples=0", "checkpoint_every=2")
    process = get_context("fork").Process(target=_killed, args=(broken, 5))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert main([*broken, "--ckpt_path=last"]) == 0
    for file in ("metrics.json", "affinity.json"):
        whole, again = (json.loads((tmp_path / name / file).read_text()) for name in ("whole", "broken"))
        for told in (whole, again):
            told.pop("fit", None)  # seconds
        assert whole == again


def test_a_finished_run_can_be_continued_and_tells_the_same(records: Path, tmp_path: Path) -> None:
    arguments = small(records, tmp_path / "run", "model.samples=0")
    first = build(CONFIG, *arguments).fit()
    assert build(CONFIG, *arguments, "ckpt_path=last").fit() == first


def test_another_start_is_taken(records: Path, tmp_path: Path) -> None:
    AffinityWeights(torch.ones(5, 5), 0.5).save(tmp_path / "start")
    module = AffinityModule(CRITERIA)
    module.start_from(tmp_path / "start")
    assert torch.unique(module.start.weight).tolist() == [1.0]
    assert module.weights.penalty.item() == 0.5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["trainer.max_epochs=2"], "max_epochs: Expected 1"),
        (["data.collator=radreward.data.packed_groups.PackedGroups"], "Expected Entities"),
        (["data.collator.encoder.max_length=3"], "group 'synthetic-.*at most 3 tokens"),
    ],
)
def test_what_does_not_fit_is_refused(more: list[str], message: str, records: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        build(CONFIG, *small(records, tmp_path / "run"), *more).fit()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"inner": 0.6}, "`inner`"), ({"folds": 1}, "`folds` to be >= 2"), ({"samples": -1}, "`samples` to be >= 0")],
)
def test_settings_out_of_range_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AffinityModule(CRITERIA, **arguments)  # type: ignore[arg-type]


def test_candidates_without_known_errors_are_named() -> None:
    collator = Entities(CRITERIA)
    for errors, message in ((None, "group 'first', candidate 2: Expected errors"), ({"tone": 1}, "candidate 2: ")):
        known = Candidate("No effusion.", {"tone": 0, "length": 0})
        group = ReportGroup("first", "Effusion.", (known, Candidate("Effusion.", errors)))
        with pytest.raises(InputError, match=message):
            collator.length(group)


def test_quality_is_the_weighted_total() -> None:
    group = ReportGroup(
        "first",
        "Small effusion.",
        tuple(Candidate(text, {"tone": number, "length": 1}) for number, text in enumerate(["No effusion.", "Mass."])),
    )
    batch = Entities(CRITERIA).collate([group, group])
    assert batch.quality.tolist() == [-1.0, -2.0, -1.0, -2.0]
    assert batch.group.tolist() == [0, 0, 1, 1]
    assert batch.matches.pairs == 4
    assert batch.ids == ("first", "first")


def test_the_configuration_names_what_exists() -> None:
    settings = yaml.safe_load(CONFIG.read_text())
    assert settings["model"]["class_path"] == f"{AffinityModule.__module__}.AffinityModule"
