"""Scorers as reward functions of verl, called as verl calls them: by keyword, from a file."""

import importlib.util
from pathlib import Path

import pytest

from radreward import load
from radreward.errors import InputError
from radreward.integrations.verl import verl_batch_reward, verl_reward

REFERENCES = ["No edema is seen now.", "Small left effusion.", "Clear lungs."]
COMPLETIONS = ["No edema is seen.", "Large right effusion.", ""]


def test_batch_rewards_are_totals_and_empty_completions_get_the_missing_reward() -> None:
    rewards = verl_batch_reward("rouge-l", missing_reward=-1.0)(
        data_sources=["reports"] * 3, solution_strs=COMPLETIONS, ground_truths=REFERENCES, extra_infos=[None] * 3
    )
    totals = load("rouge-l").score(REFERENCES, COMPLETIONS).total
    assert rewards == [*totals[:2].tolist(), -1.0]


def test_reward_function_in_a_file_scores_one_completion(tmp_path: Path) -> None:
    path = tmp_path / "my_reward.py"
    path.write_text(
        "from radreward.integrations.verl import verl_reward\n"
        'compute_score = verl_reward("chexpert-f1", output="quality")\n'
    )
    spec = importlib.util.spec_from_file_location("custom_module", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    arguments = {"data_source": "reports", "extra_info": {"index": 0}}
    assert module.compute_score(solution_str="Edema.", ground_truth="Edema.", **arguments) == 1.0
    assert module.compute_score(solution_str="The cat sat.", ground_truth="Edema.", **arguments) == 0.0


def test_reference_that_is_no_text_raises() -> None:
    with pytest.raises(InputError, match="Expected `ground_truth` to be the text of the reference report"):
        verl_reward("rouge-l")("reports", "Edema.", None)
