import json
from importlib import import_module
from pathlib import Path

import pytest

from radreward.meta_evaluation.rated_pairs_io import read_rated_pairs

ROOT = Path(__file__).resolve().parents[1]


def test_bootstrap_prints_results_and_returns_figures(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    bootstrap = import_module("benchmarks.bootstrap")
    seconds, ratio = bootstrap.main(
        [
            bootstrap.Case(
                scorers=3, targets=2, cases=12, per_case=2, n_resamples=20, loop_correlations=6, loop_resamples=5
            )
        ]
    )
    result = json.loads(capsys.readouterr().out.splitlines()[0])
    assert result["comparisons"] == 3
    assert [seconds.value, ratio.value] == [result["seconds"], result["ratio"]]
    assert result["ratio"] == pytest.approx(result["loop_seconds"] / result["seconds"])


def test_benchmark_memory_evaluates_files_of_rated_pairs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT)
    memory = import_module("benchmarks.benchmark_memory")

    def peak_memory(arguments: list[str]) -> int:
        assert (arguments[0], arguments[-2:]) == ("benchmark", ["rouge-l", "bleu-4"])
        pairs = read_rated_pairs(arguments[1].removeprefix("--data="))
        assert [target.name for target in pairs.targets[:3]] == ["errors", "errors_significant", "rating"]
        assert len(pairs.raters) == 3
        return len(pairs) * 2**20

    monkeypatch.setattr(memory, "peak_memory", peak_memory)
    assert [figure.value for figure in memory.main([8, 12])] == [8, 12]
    results = [json.loads(line) for line in capsys.readouterr().out.splitlines()[:2]]
    assert [entry["ratio"] for entry in results] == [1, 1.5]
