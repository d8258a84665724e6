"""Mistakes of users are one line with exit code 2; mistakes of this package keep their traceback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQCriteria
from radreward.synthesis import synthesize_files

COMPUTATIONS = {
    "score": "radreward.scoring.score_file",
    "evaluate": "radreward.cli.evaluate._measure",
    "benchmark": "radreward.meta_evaluation.benchmark.run_benchmark",
    "judge-sentences": "radreward.systems.sentence_eval.judges.RelationJudge.judge",
    "judge-sentences --refine": "radreward.systems.sentence_eval.judges.RelationJudge.judge",
    "synthesize": "radreward.synthesis.synthesize_files",
    "synthesize --llm-task=tiers": "radreward.synthesis.llm.generation_job.run_job",
    "fit-regressor": "radreward.scoring.score_file",
}
"""A function per command that computes its results."""
WRONG = {
    "score": ["--num-workers=-1"],
    "evaluate": ["--criteria=nothing"],
    "benchmark": ["--bootstrap=-1"],
    "judge-sentences": ["--judge=chat", "--model=m", "--base-url=http://127.0.0.1:1/v1", "--repetitions=0"],
    "judge-sentences --refine": ["--judge=chat", "--model=m", "--base-url=http://127.0.0.1:1/v1", "--concurrency=0"],
    "synthesize": ["--groups=0"],
    "synthesize --llm-task=tiers": ["--temperature=-1"],
    "fit-regressor": ["--method=guess"],
}
"""Options of the user that only a constructor or the command can refuse."""


@pytest.fixture(scope="module")
def options(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], list[str]]:
    """Return the options of a command that runs."""
    folder = tmp_path_factory.mktemp("inputs")
    groups, pairs = synthesize_files(folder, RadCliQCriteria(), 2), folder / "pairs.jsonl"
    row = {"id": "a", "reference": "Clear lungs. No edema.", "candidate": "Clear lungs.", "rating": 1}
    pairs.write_text(json.dumps(row) + "\n" + json.dumps({**row, "id": "b", "rating": 2}) + "\n")
    inputs = {
        "score": [f"--input={pairs}", "--scorers=bleu-1"],
        "evaluate": [f"--data={groups}", "--scorer=bleu-1", "--criteria=radcliq"],
        "benchmark": [f"--data={pairs}", "--scorers=bleu-1"],
        "judge-sentences": [f"--input={pairs}"],
        "judge-sentences --refine": [f"--input={pairs}", "--scorers=bleu-1"],
        "synthesize": [],
        "synthesize --llm-task=tiers": [f"--reports={pairs}", "--model=m", "--base-url=http://127.0.0.1:1/v1"],
        "fit-regressor": [f"--data={groups}", "--criteria=radcliq"],
    }
    return lambda name: [*name.split(), *inputs[name]]


@pytest.mark.parametrize("kind", [TypeError, ValueError])
@pytest.mark.parametrize("name", COMPUTATIONS)
def test_mistake_of_the_package_keeps_its_traceback(
    name: str,
    kind: type[Exception],
    options: Callable[[str], list[str]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise kind("our mistake")

    monkeypatch.setattr(COMPUTATIONS[name], fail)
    with pytest.raises(kind, match="our mistake"):
        main([*options(name), f"--output={tmp_path / 'out.jsonl'}"])


@pytest.mark.parametrize("name", WRONG)
def test_mistake_of_the_user_is_one_line(
    name: str, options: Callable[[str], list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*options(name), *WRONG[name], f"--output={tmp_path / 'out.jsonl'}"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("radreward: ")
    assert "xpected " in error
    assert error.count("\n") == 1
