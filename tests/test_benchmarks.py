import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.prompts import PlainPairTemplate

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)  # the benchmarks are run from the root of the repository, never installed
    return import_module("benchmarks.__main__")


@pytest.fixture
def speed(runner: ModuleType) -> ModuleType:
    pytest.importorskip("trl")
    return import_module("benchmarks.training_speed")


def test_names_are_the_modules(runner: ModuleType) -> None:
    assert runner.names() == sorted(p.stem for p in (ROOT / "benchmarks").glob("*.py") if not p.stem.startswith("_"))


def test_an_unknown_name_is_an_error_that_lists_the_names(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert runner.run(["nothing"]) == 2
    assert "training_speed" in capsys.readouterr().err


def test_runs_what_is_named(
    runner: ModuleType, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("benchmarks.training_speed.main", lambda: print("ran"))
    assert runner.run(["training_speed", "training_speed"]) == 0
    assert capsys.readouterr().out == "== training_speed\nran\n" * 2


def test_training_speed_at_a_tiny_size(speed: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    case = speed.Case(3, prefix=16, candidate=8, rounds=1, against_peer=1e9)
    speed.main([case], speed.Size(width=32, layers=1, vocabulary=50))
    printed = capsys.readouterr().out
    assert "target 1e+09: MISSED" in printed
    result = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    peer, one_pair, rows, tree, batch = result["variants"].values()
    assert [peer["pairs"], one_pair["pairs"], tree["pairs"]] == [6, 2, 6]
    assert peer["tokens"] == 2 * rows["tokens"]  # each of three candidates is in two pairs
    assert tree["tokens"] - batch["tokens"] == 4  # the instruction of the second group
    assert result["once"] * result["sharing"] == pytest.approx(tree["ratio"])


def test_a_gradient_that_differs_is_noticed(speed: ModuleType, tmp_path: Path) -> None:
    size, case = speed.Size(width=32, layers=1, vocabulary=50), speed.Case(2, prefix=8, candidate=4, rounds=1)
    sides = speed.build(str(tmp_path), size)
    with torch.no_grad():
        sides.ours.head.out.weight.mul_(1.01)
    with pytest.raises(AssertionError, match="differ"):
        speed.measure(case, sides, size.vocabulary)


@pytest.fixture
def tiny() -> RewardModelArtifact:
    torch.manual_seed(0)
    return RewardModelArtifact(RewardModel(Backbone("tiny-bert"), RadCliQCriteria()), PlainPairTemplate(), 2048)


def test_scoring_speed_at_a_tiny_size(
    runner: ModuleType, tiny: RewardModelArtifact, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    scoring = import_module("benchmarks.scoring_speed")
    monkeypatch.setattr(scoring, "BATCH", 4)
    case = scoring.Case(2, 6, spread=0.5, fp32=0, against_peer=1e9, rounds=1)
    references, candidates = scoring.texts(case)
    assert references[::2] == references[1::2]
    assert len(set(references)) == 3
    assert len({len(report.split()) for report in candidates}) > 3
    scoring.main([case], tiny)
    printed = capsys.readouterr().out
    assert "fp32, pairs/s" in printed
    assert "target 1e+09: MISSED" in printed
    result = json.loads(next(line for line in printed.splitlines() if line.startswith("{")))
    assert result["ratio"][scoring.PEER] == 1
    assert result["spearman"] > 0.5


def test_a_total_that_differs_is_noticed(runner: ModuleType, tiny: RewardModelArtifact) -> None:
    scoring = import_module("benchmarks.scoring_speed")
    every = scoring.variants(tiny)
    good = every[scoring.FP32]
    with pytest.raises(AssertionError, match="not close"):
        scoring.measure(scoring.Case(2, 4, rounds=1), {**every, scoring.FP32: lambda r, c: good(r, c) + 1e-2})


def test_score_memory_at_a_tiny_size(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    memory = import_module("benchmarks.score_memory")
    memory.main([memory.Case(".parquet", 4, 9)])
    printed = capsys.readouterr().out
    result = json.loads(printed.splitlines()[0])
    assert min(result["short_bytes"], result["long_bytes"]) > 50 * 2**20  # no process that imports torch has less
    assert result["ratio"] == result["long_bytes"] / result["short_bytes"]
    assert ".parquet" in printed.splitlines()[-2]


def test_startup_of_one_command(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    startup = import_module("benchmarks.startup")
    startup.main([startup.Case(("--help",)), startup.Case(("score", "--help"), job=True)], rounds=1)
    printed = capsys.readouterr().out
    assert 0 < json.loads(printed.splitlines()[0])["cpu_seconds"] < 60
    assert "a whole job" in printed


def test_llama_step_in_small_agrees_with_the_replica(runner: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    import_module("benchmarks.llama_step").main(small=True)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("{")]
    plain, again = (json.loads(line) for line in lines)
    assert (plain["job"]["checkpointing"], again["job"]["checkpointing"]) == (False, True)
    peer, rows, tree, batch = plain["variants"].values()
    assert max(row["error"] for row in (rows, tree, batch)) < 1e-4
    assert peer["tokens"] == 3 * rows["tokens"]  # each of four candidates is in three pairs
    assert peer["tokens"] > rows["tokens"] > tree["tokens"] > batch["tokens"]
    assert tree["mfu"] is None  # of a CPU nobody states a peak
    assert peer["ratio"] == 1


def test_a_replica_with_another_gradient_is_noticed(runner: ModuleType) -> None:
    llama = import_module("benchmarks.llama_step")
    device = torch.device("cpu")
    model = llama.build(llama.SMALL_CONFIG, device, False)
    paths, pairs = llama.draw(llama.SMALL[0].case, 500), llama.pairs_of(llama.SMALL[0].case)
    every = {llama.PEER: llama.peer(model, paths, pairs[1:])}
    every |= {name: llama.own(model, paths, pairs, way) for name, way in llama.PACKINGS.items()}
    with pytest.raises(AssertionError, match="differs by"):
        llama.check(model, every, device)
