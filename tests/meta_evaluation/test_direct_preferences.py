from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.cli import main
from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.meta_evaluation.benchmark import BenchmarkSettings, run_benchmark
from radreward.meta_evaluation.direct_preferences import directly_preferred, parse_verdict
from radreward.meta_evaluation.preferences import Preference, PreferredCandidate
from radreward.meta_evaluation.rated_pairs import RatedPairs
from radreward.scorers import load

CHOICES: tuple[PreferredCandidate, ...] = ("a", "b", "a", "equal", "b")
PREFERENCES = [
    Preference(
        id=str(n), reference="Edema.", candidate_a=f"Edema {n}.", candidate_b="Clear.", preferred=p, group=str(n)
    )
    for n, p in enumerate(CHOICES)
]


class ScriptedChatModel(ChatModel):
    """Stand-in for a language model: returns fixed answers and keeps the requests."""

    model_id = "scripted"

    def __init__(self, answers: Sequence[str]) -> None:
        super().__init__()
        self.answers, self.requests = answers, list[ChatRequest]()

    def _generate(self, requests: Sequence[ChatRequest], on_response: Callable[[int, ChatResponse], None]) -> None:
        self.requests += requests
        for index, text in enumerate(self.answers):
            on_response(index, ChatResponse(text, "stop", None, None, "ok"))


ANSWERS = ["A names it.\nA is better.", "A is better", "Both are fine.", "equal.", "**B is better**"]


def test_scripted_verdicts_are_scores() -> None:
    model = ScriptedChatModel(ANSWERS)
    first, second = directly_preferred(PREFERENCES, model)
    assert first[:2].tolist() == [1, 1]
    assert np.isnan(first).tolist() == np.isnan(second).tolist() == [False, False, True, False, False]
    assert (first[3:].tolist(), second[3:].tolist()) == ([0, 0], [0, 1])
    user = model.requests[0].messages[1].content
    assert "<reference>\nEdema.\n</reference>\n<candidate-a>\nEdema 0.\n</candidate-a>" in user


@given(st.text(max_size=200))
def test_parse_verdict_never_raises(text: str) -> None:
    assert all(np.isnan(value) or value in (0, 1) for value in parse_verdict(text))


@pytest.mark.parametrize("text", ["", "A is better. Or B is better.", "B is better\nI am not sure.", "unequal"])
def test_answer_without_verdict_has_no_scores(text: str) -> None:
    assert np.isnan(parse_verdict(text)).all()


def test_benchmark_with_scripted_model_has_a_row_of_direct_comparisons(tmp_path: Path) -> None:
    loaders = {"bleu-1": lambda: load("bleu-1")}
    model = ScriptedChatModel(ANSWERS)
    result = run_benchmark(
        RatedPairs([]), loaders, tmp_path, BenchmarkSettings(0, 0), (), PREFERENCES, direct_judge=model
    )
    preferences: Any = result.sections["preferences"]
    rows = {row["scorer"]: row for row in preferences}
    assert list(rows) == ["bleu-1", "direct comparison"]
    direct = rows["direct comparison"]
    assert (direct["n"], direct["accuracy"], direct["unscored"]) == (4, 0.75, 1)


def test_direct_judge_without_preferences_raises(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["benchmark", "--scorers", "bleu-1", "--data", "x.jsonl", "--direct-judge", "m", "--output"]
    assert main([*command, str(tmp_path / "out")]) == 2
    assert "--direct-judge: Expected --preferences" in capsys.readouterr().err
