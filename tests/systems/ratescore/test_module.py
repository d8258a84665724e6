"""W and p from a configuration: fitting, report, saving, resuming and validation."""

from __future__ import annotations

import csv
import json
import math
import os
import runpy
import signal
from collections.abc import Iterator, Mapping, Sequence
from multiprocessing import get_context
from pathlib import Path
from shutil import copytree
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from matplotlib.colors import to_rgba
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import radreward.systems.ratescore.module
from radreward.cli import build, main
from radreward.cli.training import TrainingRun
from radreward.criteria import Criteria, load_criteria
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.io.text_tables import escape_markdown
from radreward.modules import MetricTable
from radreward.synthesis import synthesize_files
from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.affinity_matrix import CELL_NAMES
from radreward.systems.ratescore.collator import EntityMatchBatch, EntityMatchCollator
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.fit_report import plot_affinity
from radreward.systems.ratescore.fitting.fit_evaluation import rank_agreement
from radreward.systems.ratescore.fitting.optimizers import GradientOptimizer, NoOptimizer, TPEOptimizer
from radreward.systems.ratescore.fitting.rated_matches import concat_rated
from radreward.systems.ratescore.module import AffinityModule
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.types import Candidate, ReportGroup

CONFIG = Path(__file__).resolve().parents[3] / "experiments" / "ratescore" / "affinity.yaml"
CRITERIA = Criteria("two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}])


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    synthesize_files(folder, load_criteria("radcliq-significance"), 16, per_reference=3, seed=2)
    return folder / "groups.parquet"


@pytest.fixture(scope="module")
def finished(records: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, TrainingRun, MetricTable]:
    """A finished run, its training and its metrics."""
    run = tmp_path_factory.mktemp("finished") / "run"
    training = build(CONFIG, *small(records, run))
    return run, training, training.fit()


def small(records: Path, run: Path, *more: str) -> list[str]:
    return [
        f"run_dir={run}",
        f"data.records={records}",
        "data.batch_size=2",
        "data.collator.encoder.name=tiny-bert",
        "data.collator.encoder.max_length=200",  # its tokens are bytes
        "data.collator.encoder.context=name",
        "model.optimizer.max_steps=8",
        "model.bootstrap_samples=3",
        "model.n_folds=2",
        "trainer.accelerator=cpu",
        "trainer.enable_progress_bar=false",
        "trainer.logger=false",
        *more,
    ]


def command(records: Path, run: Path, *more: str) -> list[str]:
    return ["fit", f"--config={CONFIG}", *(f"--{entry}" for entry in small(records, run, *more))]


def test_run_writes_fit_and_report(finished: tuple[Path, TrainingRun, MetricTable]) -> None:
    run, training, result = finished
    assert isinstance(training.module, AffinityModule)
    assert isinstance(training.module.affinity_optimizer, GradientOptimizer)
    weights = AffinityMatrix.load(run / "model")
    assert weights.to_dict() == training.module.affinity.to_dict()
    assert not torch.equal(weights.weight, AffinityMatrix.from_preset("long").weight)
    results = json.loads((run / "metrics.json").read_text())
    assert results["agreement"] == result
    assert set(result) == {"long", "short", "total"}
    # No worse than the initial weights on the training pairs; entities of random weights allow little more.
    read = concat_rated(training.module.train_matches)
    before, after = (
        rank_agreement(affinity, read)["tau_b"] for affinity in (AffinityMatrix.from_preset("long"), weights)
    )
    assert before is not None
    assert after is not None
    assert after >= before
    numbers = json.loads((run / "affinity.json").read_text())
    assert numbers["fitted"] == weights.to_dict()
    assert numbers["intervals"]["n_resamples"] == 3
    assert len(numbers["cross_validation"]["fitted"]) == 2
    assert sum(map(sum, numbers["type_pair_counts"])) == read.sums.counts.sum().item()
    assert (run / "affinity.png").read_bytes().startswith(b"\x89PNG")
    assert "| Anatomy |" in (run / "affinity.md").read_text()
    card = (run / "model" / "README.md").read_text()
    assert f"- p: {weights.penalty.item()}\n- W: in affinity.safetensors\n" in card
    settings, record = card.split("## Data and training")
    assert "training" not in settings.split("## Settings")[1]
    assert "- weights: last\n" in record
    assert "- seed: 0\n" in record
    assert f"- data {escape_markdown(next(iter(results['data'])))}: " in record
    assert RaTEScore.from_pretrained(run / "model").training_info["data"] == results["data"]


def test_tpe_run_logs_plot_and_steps(records: Path, tmp_path: Path) -> None:
    more = [
        "optimizer=radreward.systems.ratescore.fitting.optimizers.TPEOptimizer",
        "optimizer.n_trials=8",
        "optimizer.n_startup_trials=5",
        "bootstrap_samples=0",
    ]
    settings = [
        entry for entry in small(records, tmp_path) if not entry.startswith(("model.optimizer", "trainer.logger"))
    ]
    training = build(CONFIG, *settings, *(f"model.{entry}" for entry in more))
    assert isinstance(training.module, AffinityModule)
    assert isinstance(training.module.affinity_optimizer, TPEOptimizer)
    training.fit()
    assert training.module.fit_result is not None
    assert training.module.fit_result.evaluations == 8
    board = EventAccumulator(str(next(tmp_path.rglob("events.out.tfevents*")).parent), {"images": 1})
    board.Reload()
    assert board.Tags()["images"] == ["affinity"]
    assert "fit/tau_b" in board.Tags()["scalars"]


def test_saved_model_scores_as_fitted(finished: tuple[Path, TrainingRun, MetricTable], records: Path) -> None:
    run, training, _ = finished
    scorer = RaTEScore.from_pretrained(run / "model")
    assert isinstance(training.module, AffinityModule)
    group = next(iter(read_groups(records, training.module.criteria)))
    texts = [candidate.text for candidate in group.candidates]
    scores = scorer.score([group.reference] * len(texts), texts).total
    collator = training.data.collator  # type: ignore[attr-defined]
    expected = training.module.affinity(collator.collate([group]).matches)
    assert torch.allclose(scores.double(), expected, atol=1e-6)


def _run_until_killed(arguments: list[str], step: int | None) -> None:
    """Run until a step of reading pairs, or until the bootstrap if `step` is None; then kill the process."""
    original = AffinityModule.training_step

    def training_step(self: AffinityModule, batch: EntityMatchBatch, batch_idx: int) -> torch.Tensor:
        if batch_idx == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(self, batch, batch_idx)

    def bootstrap(*arguments: object, **settings: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    AffinityModule.training_step = training_step  # type: ignore[method-assign]
    vars(radreward.systems.ratescore.module)["bootstrap_affinity"] = bootstrap
    main(arguments)


@pytest.mark.parametrize("step", [3, None], ids=["while reading", "in the bootstrap"])
def test_killed_and_resumed_run_equals_uninterrupted_run(
    step: int | None, finished: tuple[Path, TrainingRun, MetricTable], records: Path, tmp_path: Path
) -> None:
    arguments = command(records, tmp_path / "run", "checkpoint_every=2")
    process = get_context("fork").Process(target=_run_until_killed, args=(arguments, step))
    process.start()
    process.join()
    assert process.exitcode == -signal.SIGKILL
    assert not (tmp_path / "run" / "metrics.json").exists()
    assert main([*arguments, "--ckpt-path=last"]) == 0
    for file in ("metrics.json", "affinity.json"):
        expected, again = (json.loads((run / file).read_text()) for run in (finished[0], tmp_path / "run"))
        assert dict(figures(again)) == dict(figures(expected))
    models = [(run / "model" / "affinity.safetensors").read_bytes() for run in (finished[0], tmp_path / "run")]
    assert models[0] == models[1]


def figures(value: object, name: str = "") -> Iterator[tuple[str, object]]:
    """Yield the values of nested JSON by their paths, but no times."""
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from figures(entry, f"{name}/{key}")
    elif not name.endswith("seconds"):
        yield name, value


def test_finished_run_resumes_with_the_same_result(
    finished: tuple[Path, TrainingRun, MetricTable], records: Path, tmp_path: Path
) -> None:
    copytree(finished[0], tmp_path / "run")
    assert build(CONFIG, *small(records, tmp_path / "run"), "ckpt_path=last").fit() == finished[2]


RATED: tuple[dict[str, Any], ...] = tuple(
    {"reference": f"{size} {side} effusion. Heart normal.", "candidate": text, "rating": rating}
    for size in ("Small", "Large", "Moderate", "Trace")
    for side in ("left", "right", "bilateral")
    for text, rating in ((f"{size} {side} effusion.", 4.5), ("No effusion. Heart normal.", 1), ("Heart enlarged.", 0.0))
)


def write(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".csv":
        lines = [list(rows[0]), *(list(row.values()) for row in rows)]
        path.write_text("\n".join(",".join(str(value) for value in line) for line in lines))
    else:
        pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), path)
    return path


@pytest.mark.parametrize("suffix", [".jsonl", ".csv", ".parquet"])
def test_ratings_of_radiologists_are_fitted(suffix: str, tmp_path: Path) -> None:
    rows = RATED if suffix == ".jsonl" else RATED[::3] + RATED[1::3]
    rated = write(tmp_path / f"rated{suffix}", rows)
    training = build(
        CONFIG, *small(rated, tmp_path / "run", "criteria=rating", "model.bootstrap_samples=0", "data.val_split=0.4")
    )
    training.data.setup("fit")
    batches = [*training.data.train_dataloader(), *training.data.val_dataloader()]
    assert sorted(torch.cat([batch.targets for batch in batches]).tolist()) == sorted(row["rating"] for row in rows)
    if suffix == ".jsonl":
        result = training.fit()
        assert result["total"]["tau_b"] is not None
        assert result["total"]["tau_b"] > 0.3


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"rating": None}, r"row 2: no value for criterion 'rating' of rating"),
        ({"rating": math.nan}, r"row 2: field 'rating': Expected a finite number >= 0 but got nan"),
        ({"rating": "good"}, r"row 2: field 'rating': Expected a number but got 'good'"),
        ({"rating": -1}, r"row 2: .*Expected a finite number >= 0 .*-1"),
        ({"candidate": " "}, r"row 2: field 'candidate': Expected a text that is not empty"),
    ],
)
def test_invalid_rating_is_rejected_with_its_row(changed: dict[str, object], message: str, tmp_path: Path) -> None:
    rated = write(tmp_path / "rated.jsonl", [RATED[0], {**RATED[1], **changed}, *RATED[2:]])
    with pytest.raises(InputError, match=rf"rated\.jsonl, {message}"):
        build(CONFIG, *small(rated, tmp_path / "run", "criteria=rating")).fit()


def test_file_without_ratings_is_rejected(tmp_path: Path) -> None:
    rows = [{"reference": row["reference"], "candidate": row["candidate"]} for row in RATED]
    rated = write(tmp_path / "rated.csv", rows)
    with pytest.raises(InputError, match=r"rated\.csv, row 1: no value for criterion 'rating' of rating"):
        build(CONFIG, *small(rated, tmp_path / "run", "criteria=rating")).fit()


@pytest.mark.parametrize(
    ("rows", "more", "message"),
    [
        ([{**row, "rating": 3} for row in RATED], [], "Expected pairs with different targets .* 1 different values"),
        ([{**row, "candidate": "Thank you."} for row in RATED], [], ".* 0 have entities on both sides and 0 different"),
        (RATED, ["model.n_folds=20"], r"Expected at least 20 references for 20 folds but got \d+"),
    ],
)
def test_unusable_pairs_are_rejected_with_file_and_setting(
    rows: Sequence[Mapping[str, object]], more: list[str], message: str, tmp_path: Path
) -> None:
    rated = write(tmp_path / "rated.jsonl", rows)
    with pytest.raises(InputError, match=rf"rated\.jsonl: {message}.*model\.n_folds is \d+"):
        build(CONFIG, *small(rated, tmp_path / "run", "criteria=rating", *more)).fit()


def test_load_initial_weights_replaces_the_preset(records: Path, tmp_path: Path) -> None:
    AffinityMatrix(torch.ones(5, 5), 0.5).save(tmp_path / "start")
    module = AffinityModule(CRITERIA)
    module.load_initial_weights(tmp_path / "start")
    assert torch.unique(module.initial.weight).tolist() == [1.0]
    assert module.affinity.penalty.item() == 0.5


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["trainer.max_epochs=2"], "max_epochs: Expected 1 to read"),
        (["data.collator=radreward.data.collators.reward.RewardCollator"], "Expected EntityMatchCollator"),
        (["data.collator.encoder.max_length=3"], "group 'synthetic-.*at most 3 tokens"),
    ],
)
def test_invalid_setup_is_rejected(more: list[str], message: str, records: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        build(CONFIG, *small(records, tmp_path / "run"), *more).fit()


def test_given_w_and_p_have_no_cross_validated_metric() -> None:
    assert "final/cross_validated" in AffinityModule(CRITERIA).hparam_metrics
    assert "final/cross_validated" not in AffinityModule(CRITERIA, NoOptimizer()).hparam_metrics


def test_plot_greys_types_without_a_match_and_scales_by_the_others() -> None:
    weight = torch.full((5, 5), 0.5)
    weight[0, 1] = 1.0
    counts = torch.ones(5, 5)
    counts[0, 1] = 0
    axis = plot_affinity(AffinityMatrix(weight, 0.5), counts).axes[0]
    image = axis.images[0]
    assert image.get_clim() == (0.0, 0.5)
    drawn = image.get_array()
    assert drawn is not None
    assert image.to_rgba(drawn)[0, 1].tolist() == pytest.approx(to_rgba("lightgrey"))
    assert axis.texts[1].get_text() == "–\n(0)"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"early_stopping_split": 0.6}, "`early_stopping_split`"),
        ({"n_folds": 1}, "`n_folds` to be >= 2"),
        ({"bootstrap_samples": -1}, "`bootstrap_samples` to be >= 0"),
    ],
)
def test_settings_out_of_range_are_rejected(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        AffinityModule(CRITERIA, **arguments)  # type: ignore[arg-type]


def test_candidate_without_errors_is_rejected() -> None:
    collator = EntityMatchCollator(CRITERIA)
    for errors, message in (
        (None, "group 'first', candidate 2: Expected error counts"),
        ({"tone": 1}, "candidate 2: "),
    ):
        complete = Candidate("No effusion.", {"tone": 0, "length": 0})
        group = ReportGroup("first", "Effusion.", (complete, Candidate("Effusion.", errors)))
        with pytest.raises(InputError, match=message):
            collator.length(group)


def test_targets_are_the_weighted_total() -> None:
    group = ReportGroup(
        "first",
        "Small effusion.",
        tuple(Candidate(text, {"tone": number, "length": 1}) for number, text in enumerate(["No effusion.", "Mass."])),
    )
    batch = EntityMatchCollator(CRITERIA).collate([group, group])
    assert batch.targets.tolist() == [-1.0, -2.0, -1.0, -2.0]
    assert batch.group.tolist() == [0, 0, 1, 1]
    assert batch.matches.num_pairs == 4
    assert batch.ids == ("first", "first")


def test_reports_have_the_same_form_in_fitting_and_in_use() -> None:
    def group(space: str) -> ReportGroup:
        texts = (f"Small{space}left{space}effusion.", f"No{space}effusion.", f"Rib{space}fracture.")
        candidates = tuple(Candidate(text, {"tone": 1, "length": 1}) for text in texts[1:])
        return ReportGroup("first", texts[0], candidates)

    collator = EntityMatchCollator(CRITERIA)
    plain, spaced = (collator.collate([group(space)]).matches for space in (" ", "\u00a0\n\u00ad "))
    assert plain.cosine.tolist() == spaced.cosine.tolist()
    assert plain.query_type.tolist() == spaced.query_type.tolist()


def test_cached_matches_equal_computed_ones_and_are_not_computed_again(tmp_path: Path) -> None:
    groups = [
        ReportGroup(str(number), row["reference"], (Candidate(row["candidate"], {"tone": 0, "length": 1}),))
        for number, row in enumerate(RATED)
    ]
    cached = EntityMatchCollator(CRITERIA, cache_path=str(tmp_path / "matches.sqlite"))
    first = cached.collate(groups).matches
    for computed in (EntityMatchCollator(CRITERIA).collate(groups).matches, cached.collate(groups).matches):
        assert computed.num_pairs == first.num_pairs
        assert all(torch.equal(left, right) for left, right in zip(computed[:-1], first[:-1], strict=True))

    def unreachable(sentences: Sequence[str]) -> None:
        raise AssertionError("tagged again")

    again = EntityMatchCollator(CRITERIA, cache_path=str(tmp_path / "matches.sqlite"))
    again._caching_tagger.tag = unreachable  # type: ignore[method-assign, assignment]
    assert torch.equal(again.collate(groups).matches.cosine, first.cosine)
    other = EntityMatchCollator(
        CRITERIA, "rules", EntityEncoder("tiny-bert", max_length=200), cache_path=again.cache_path
    )
    assert not torch.equal(other.collate(groups).matches.cosine, first.cosine)


def test_study_searches_w_and_p_and_is_compared_with_the_gradient_fit(
    finished: tuple[Path, TrainingRun, MetricTable],
    records: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(CONFIG.parents[2])
    settings = [entry for entry in small(records, tmp_path) if not entry.startswith(("run_dir", "model."))]
    settings += [f"data.collator.cache_path={tmp_path / 'matches.sqlite'}", "model.n_folds=2"]
    study = tmp_path / "study"
    arguments = ["tune", f"--config={CONFIG.with_name('affinity-tpe.yaml')}", f"--run-dir={study}", *settings]
    assert main([*arguments, "--trials=2"]) == 0
    rows = list(csv.DictReader((study / "trials.csv").read_text().splitlines()))
    assert len(rows) == 2
    for row in rows:
        fitted = AffinityMatrix.load(study / "trials" / row["trial"] / "model")
        sampled = torch.tensor([float(row[f"model.weights.W.{name}"]) for name in CELL_NAMES], dtype=torch.float64)
        assert torch.allclose(fitted.weight.flatten(), sampled / sampled.max())
        assert fitted.penalty.item() == pytest.approx(float(row["model.weights.penalty"]))
    run = study / "trials" / rows[0]["trial"]
    assert "W and p were given: no fold is held out." in (run / "affinity.md").read_text()
    assert json.loads((run / "affinity.json").read_text())["cross_validation"] is None
    agreement = json.loads((run / "metrics.json").read_text())["agreement"]
    assert {"cross_validated" in values for values in agreement.values()} == {False}
    assert "importances    none from 2 complete trials" in capsys.readouterr().out
    monkeypatch.setattr("sys.argv", ["compare_fits", str(finished[0]), str(study)])
    runpy.run_path(str(CONFIG.with_name("compare_fits.py")), run_name="__main__")
    table = capsys.readouterr().out
    best = max(rows, key=lambda row: float(row["train_tau"]))["trial"]
    assert [name in table for name in ("published, long", finished[0].name, f"study, trial {best}")] == [True] * 3
