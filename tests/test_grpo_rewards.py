"""experiments/radreason/accuracy.py: rewards of fixed answers, and the printed table."""

import json
import math
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.models import Backbone
from radreward.models.generative_evaluator import GenerativeEvaluator
from radreward.models.rollout_engine import Completion, SamplingParams
from radreward.models.transformers_engine import TransformersEngine
from radreward.synthesis import synthesize_files
from radreward.systems.radreason import RadReasonTemplate, format_radreason

SCRIPT = Path(__file__).parents[1] / "experiments" / "radreason" / "accuracy.py"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    backbone = Backbone("tiny-llama", lora=None)
    encoder = ChatPromptEncoder("tiny-llama", RadCliQCriteria(), RadReasonTemplate(include_instruction=False), 900, 60)
    evaluator = GenerativeEvaluator(backbone, backbone.build(causal_lm=True), encoder)
    evaluator.save(tmp_path / "start" / "model")
    for number in range(2):
        trial = tmp_path / "study" / "trials" / str(number)
        evaluator.save(trial / "model")
        record = {"state": "complete", "params": {"components": "both", "seed_everything": number}}
        (trial / "trial.json").write_text(json.dumps(record))
    synthesize_files(tmp_path / "data", RadCliQCriteria(), 6, 2, granularity="plain", max_findings=1)
    synthesize_files(tmp_path / "seen", RadCliQCriteria(), 3, 2, granularity="plain", max_findings=1)
    return tmp_path


def test_table_has_a_row_for_start_and_each_variant(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All answers state no errors; half of the sampled ones are unparsable."""

    def sample(engine: Any, prompts: list[Any], params: SamplingParams) -> list[tuple[Completion, ...]]:
        texts = (format_radreason([0] * 6, "Nothing.", RadCliQCriteria()), "nonsense")
        return [tuple(Completion((), (), texts[n % 2], "stop") for n in range(params.num_completions)) for _ in prompts]

    monkeypatch.setattr(TransformersEngine, "sample", sample)
    files = ("--start", folder / "start", "--study", folder / "study", "--data", folder / "data" / "groups.parquet")
    seen = ("--seen", folder / "seen" / "groups.parquet")
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, (*files, *seen)), "--completions", "2"])
    script = runpy.run_path(str(SCRIPT))
    script["main"]()
    table = capsys.readouterr().out
    lines = table.splitlines()
    assert lines[0].startswith("3 references that are not in"), "equal seeds make equal groups"
    groups = list(script["read_groups"](folder / "data" / "groups.parquet"))[3:]
    counts = [count for group in groups for entry in group.candidates for count in (entry.errors or {}).values()]
    reward = sum(math.exp(-(count**2) / (2 * 0.5**2)) for count in counts) / len(counts)
    exact = sum(count == 0 for count in counts) / len(counts)
    candidates = len(counts) // 6
    assert lines[1] == f"{candidates} candidates with {sum(counts) / candidates:.3f} errors on average"
    row = f"{reward / 2:.3f} | {reward:.3f} | {exact:.3f} | – | 0.000 | 0.000"
    assert f"| start | 1 | {row} |" in table
    target = torch.tensor([list((entry.errors or {}).values()) for group in groups for entry in group.candidates])
    rewards = [[sum(math.exp(-2 * (c - t) ** 2) for t in column.tolist()) for c in range(9)] for column in target.T]
    best = sum(map(max, rewards)) / target.numel()
    assert f"| best constant answer | 1 | {best:.3f} | {best:.3f} | " in table
    row_std = " | ".join(
        [*(f"{value:.3f} ± 0.000" for value in (reward / 2, reward, exact)), "–", *2 * ["0.000 ± 0.000"]]
    )
    assert f"| both | 2 | {row_std} |" in table
    no_difference = "+0.000 | +0.000 to +0.000 | 1.000"
    header, _, differences = table.split("| against start |")[1].splitlines()[:3]
    assert header == " Δ greedy | 95 % | Holm | Δ pairs | 95 % | Holm | Δ sampled | 95 % | Holm |"
    assert differences == f"| both | {no_difference} | {no_difference} | {no_difference} |"


def test_differences_are_means_over_counts_and_pairs(capsys: pytest.CaptureFixture[str]) -> None:
    """Two runs with rewards 0.2 and 0.4 above those of the start, sampled 0.1 above; one pair of four more."""
    script = runpy.run_path(str(SCRIPT))
    answers, sizes = script["AnswersByReference"], np.array([[2.0, 1.0, 2.0], [2.0, 1.0, 2.0], [2.0, 2.0, 2.0]])
    start = answers(sizes * [0.5, 0, 0.5], sizes)
    better = [answers(sizes * [0.5 + gain, 0, 0.6] + [0, 1 / 3, 0], sizes) for gain in (0.2, 0.4)]
    script["print_differences"]("start", {"start": [start], "better": better})
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("| better | +0.300 | +0.300 to +0.300 | 0.250 | +0.250 | ")
    assert row.endswith(" | +0.100 | +0.100 to +0.100 | 0.250 |")
