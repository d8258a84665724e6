"""Benchmarks at small sizes, and the table of their figures."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from benchmarks._figures import Figure
from radreward.criteria import RadCliQCriteria
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact
from radreward.models.precision import has_bfloat16_products
from radreward.prompts import PlainPairTemplate
from radreward.scorers import load

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)  # benchmarks run from the root of the repository and are not installed
    return import_module("benchmarks.__main__")


@pytest.fixture
def speed(runner: ModuleType) -> ModuleType:
    pytest.importorskip("trl")
    return import_module("benchmarks.training_speed")


def test_benchmark_names_are_the_public_modules(runner: ModuleType) -> None:
    names = runner.benchmark_names()
    assert names == sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if not p.stem.startswith("_"))
    assert set(runner.SUITE) < set(names)


def test_run_unknown_name_lists_the_names(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.run(["nothing"]) == 2
    assert "training_speed" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        (Figure("step", 9.4, at_least=10), ["step", "≥", "10", "×", "9.40", "×", "MISSED"]),
        (Figure("step", 10.0, parity="1e-6", at_least=10), ["step", "≥", "10", "×", "10.00", "×", "met", "1e-6"]),
        (Figure("score", 2.5, "s", at_most=3.5), ["score", "≤", "3.5", "s", "2.50", "s", "met"]),
        (Figure("score", 3.6, "s", at_most=3.5), ["score", "≤", "3.5", "s", "3.60", "s", "MISSED"]),
        (Figure("memory", 1234.5, "MiB"), ["memory", "1,234", "MiB"]),
        (Figure("GPU", None, parity="no GPU", at_least=5), ["GPU", "≥", "5", "×", "not", "run", "no", "GPU"]),
    ],
    ids=["too low", "high enough", "low enough", "too high", "without goal", "not run"],
)
def test_run_prints_figures_with_goals(
    runner: ModuleType,
    figure: Figure,
    words: list[str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("benchmarks.synthesis_speed.main", lambda: [figure])
    assert runner.run(["synthesis_speed"]) == 0
    row = capsys.readouterr().out.splitlines()[-2]
    assert row.replace("│", " ").split() == words


def test_run_failed_benchmark_is_a_row_and_the_exit_code(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail() -> list[Figure]:
        raise AssertionError("scores differ")

    monkeypatch.setattr("benchmarks.synthesis_speed.main", fail)
    monkeypatch.setattr("benchmarks.memory_table.main", lambda: [Figure("weights", 2, "GiB")])
    assert runner.run(["synthesis_speed", "memory_table"]) == 1
    *_, failed, ran, _ = capsys.readouterr().out.splitlines()
    assert "FAILED: scores differ" in failed
    assert "2.00 GiB" in ran


@pytest.mark.filterwarnings("ignore::FutureWarning")  # peft uses a name that transformers has deprecated
def test_training_speed_prints_results_and_returns_figures(
    speed: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    sizes = {"instruction": 4, "reference": 12, "candidate": 8, "rounds": 1}
    cases = [
        speed.Case(3, **sizes, against_peer=1e9),
        speed.Case(3, **sizes, adapters=True, bf16=True),
        speed.Case(3, **sizes, peer=False),
    ]
    figures = speed.main(cases, speed.ModelSize(width=32, layers=1, vocabulary=50))
    assert [figure.work.split("against ")[1] for figure in figures] == [speed.PEER, speed.ONE_PAIR, speed.ROWS] * 2 + [
        speed.ROWS
    ]
    assert [figure.verdict for figure in figures if figure.goal] == ["MISSED"]
    assert "LoRA and AdamW, bf16-mixed" in figures[3].work
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    peer, one_pair, rows, tree = results[0]["variants"].values()
    assert [peer["pairs"], one_pair["pairs"], tree["pairs"]] == [6, 2, 6]
    assert peer["tokens"] == 2 * rows["tokens"]  # each of three candidates is in two pairs
    assert rows["tokens"] > tree["tokens"] == tree["positions"]
    assert figures[0].value == pytest.approx(tree["ratio"])
    assert tree["token_ratio"] == peer["positions"] / tree["positions"]
    assert list(results[2]["variants"]) == [speed.ROWS, speed.TREE]


def test_training_speed_different_gradient_raises(speed: ModuleType, tmp_path: Path) -> None:
    size, case = speed.ModelSize(width=32, layers=1, vocabulary=50), speed.Case(2, 2, 6, 4, rounds=1)
    sides = speed.build(str(tmp_path), size)
    with torch.no_grad():
        sides.model.head.out.weight.mul_(1.01)
    with pytest.raises(AssertionError, match="differ"):
        speed.measure(case, sides, size.vocabulary)


@pytest.fixture
def tiny() -> RewardModelArtifact:
    torch.manual_seed(0)
    return RewardModelArtifact(PooledRewardModel(Backbone("tiny-bert"), RadCliQCriteria()), PlainPairTemplate(), 2048)


def test_scoring_speed_prints_results_and_returns_figures(
    runner: ModuleType, tiny: RewardModelArtifact, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scoring = import_module("benchmarks.scoring_speed")
    monkeypatch.setattr(scoring, "BATCHES", (2, 4))
    case = scoring.Case(2, 6, spread=0.5, pairs_per_second=0, against_file_order=1e9, rounds=2)
    references, candidates = scoring.random_reports(case)
    assert references[::2] == references[1::2]
    assert len(set(references)) == 3
    assert len({len(report.split()) for report in candidates}) > 3
    figures = scoring.main([case], tiny)
    precisions = ["fp32", *["bf16"] * has_bfloat16_products()]
    assert [figure.verdict for figure in figures] == ["met", "MISSED", ""] * len(precisions)
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    assert [result["precision"] for result in results] == precisions
    for result in results:
        assert result["against_file_order"][scoring.FILE_ORDER] == 1
        assert max(result["against_sorted"][f"{scoring.SORTED} by {batch}"] for batch in (2, 4)) == 1


def test_scoring_speed_different_total_raises(runner: ModuleType, tiny: RewardModelArtifact) -> None:
    scoring = import_module("benchmarks.scoring_speed")
    variants = scoring.build_variants(tiny, "fp32")
    correct = variants[scoring.SCORER]
    wrong = {**variants, scoring.SCORER: lambda r, c: correct(r, c) + 2e-2}
    with pytest.raises(AssertionError, match="not close"):
        scoring.measure(scoring.Case(2, 4, rounds=1), wrong, "fp32")


def test_sentence_speed_prints_speeds_and_returns_figures(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = import_module("benchmarks.sentence_speed").main(pairs=4, rounds=1)
    assert [figure.unit for figure in figures] == ["pairs/s", "×"]
    assert all(figure.value is not None and figure.value > 0 for figure in figures)
    assert "fp32, pair by pair" in capsys.readouterr().out


def test_score_memory_prints_peaks(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    memory = import_module("benchmarks.score_memory")
    shipped = [memory.ShippedCase("bleu-1", short=1, long=3)]
    figure, reports = memory.main([memory.Case(".parquet", 4, 9)], "bleu-4", shipped)
    printed = capsys.readouterr().out
    assert reports.value == json.loads(printed.splitlines()[1])["ratio"]
    assert 40 < len(next(memory.report_rows(1))["candidate"].split()) < 80
    result = json.loads(printed.splitlines()[0])
    assert min(result["short_bytes"], result["long_bytes"]) > 50 * 2**20  # every process that imports torch has more
    assert figure.value == result["ratio"] == result["long_bytes"] / result["short_bytes"]
    assert ".parquet" in printed.splitlines()[-2]


def test_serve_memory_prints_peaks_of_a_service(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    memory = import_module("benchmarks.serve_memory")
    [figure] = memory.main("bleu-4", short=32, long=70)
    peaks = json.loads(capsys.readouterr().out.splitlines()[0])["bytes"]
    assert figure.value == peaks["70"] / peaks["32"] >= 1
    assert min(peaks.values()) > 20 * 2**20
    with pytest.raises(RuntimeError, match="Expected a service but it ended with code 2"):
        memory.main("no-such-scorer", short=32, long=64)
    with pytest.raises(ValueError, match="Expected `short` to be a multiple of 32 below 64 but got 64"):
        memory.main("bleu-4", short=64, long=64)


def test_memory_benchmarks_write_models_that_score(runner: ModuleType, tmp_path: Path) -> None:
    for name, write in (("score_memory", "write_model"), ("ratescore_memory", "write_scorer")):
        folder = getattr(import_module(f"benchmarks.{name}"), write)(tmp_path / name)
        assert load(folder).score(["Left effusion."], ["Left effusion."]).status == ("ok",)


def test_startup_prints_cpu_seconds(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    startup = import_module("benchmarks.startup")
    figures = startup.main([startup.Case(("--help",)), startup.Case(("score", "--help"), None)], rounds=1)
    assert [figure.goal for figure in figures] == ["≤ 2 s", ""]
    assert 0 < json.loads(capsys.readouterr().out.splitlines()[0])["cpu_seconds"] < 60


def test_study_overhead_leaves_out_training_and_fails_with_its_trials(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    overhead = import_module("benchmarks.study_overhead")
    tiny = ["model.backbone.name=tiny-bert", "trainer.enable_progress_bar=false"]
    processor, wall = overhead.main(trials=1, groups=60, extra=tiny)
    parts = json.loads(capsys.readouterr().out.splitlines()[-1])["parts"]
    assert min(parts[name][0] for name in ("training", "export", "settings and modules", "data")) > 0
    assert wall.value == pytest.approx(sum(parts[name][0] for name in parts if name not in overhead.TRAINING))
    assert processor.goal == "≤ 1 s"
    with pytest.raises(RuntimeError, match=r"Expected 1 complete trials but got \{'FAIL': 1\}"):
        overhead.main(trials=1, groups=4, extra=tiny)  # no group is left for validation


def test_reward_cost_of_generated_pairs_is_positive(runner: ModuleType) -> None:
    cost = import_module("benchmarks.reward_cost")
    pairs = cost.make_pairs(6)
    assert len(pairs) == 6
    assert cost.seconds_per_1000(load("rouge-l"), pairs) > 0
