"""Scorers as reward functions of verl.

Write them to a file of your own, and set `custom_reward_function.path` of verl to this file:

    from radreward.integrations.verl import verl_reward

    compute_score = verl_reward("ratescore", output="quality")

The reference report is the `ground_truth` of verl's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from radreward.errors import InputError
from radreward.integrations.rewards import loaded_scorer, scorer_rewards
from radreward.score_outputs import ScoreOutput
from radreward.scorers import Scorer

_VerlReward = Callable[..., float]
"""Interface of verl's default reward managers: one completion."""
_VerlBatchReward = Callable[..., list[float]]
"""Interface of verl's reward manager `batch`: all completions."""


def verl_reward(scorer: Scorer | str, missing_reward: float = 0.0, output: ScoreOutput = "total") -> _VerlReward:
    """Wrap a scorer as a reward function of verl for one completion; `verl_batch_reward` is faster.

    Args:
        scorer: A scorer, or its name or folder.
        missing_reward: Reward of a completion without a score, such as an empty one. Choose a low value, so that such a
            completion is not worth more than a bad one. A warning states their number and a reason.
        output: "total", negated if lower is better; "quality", in [0, 1]; or "errors", the negated number of errors.

    Raises:
        ValueError: If there is no such output.
        InputError: If the scorer is unknown or has no such output. The reward function raises it if a reference is no
            text.

    >>> verl_reward("bleu-4")("reports", "No edema is seen now.", "No edema is seen now.")
    1.0
    """
    batch_reward = verl_batch_reward(scorer, missing_reward, output)

    def compute_score(
        data_source: str, solution_str: str, ground_truth: str, extra_info: Mapping[str, Any] | None = None
    ) -> float:
        return batch_reward([data_source], [solution_str], [ground_truth], [extra_info])[0]

    return compute_score


def verl_batch_reward(
    scorer: Scorer | str, missing_reward: float = 0.0, output: ScoreOutput = "total"
) -> _VerlBatchReward:
    """Wrap a scorer as a reward function of verl's reward manager `batch`, which passes all completions at once.

    Arguments and errors are those of `verl_reward`.

    >>> reward = verl_batch_reward("bleu-4")
    >>> reward(["reports"], ["No edema is seen now."], ["No edema is seen now."], [None])
    [1.0]
    """
    loaded = loaded_scorer(scorer, output)

    def compute_score(
        data_sources: Sequence[str],
        solution_strs: Sequence[str],
        ground_truths: Sequence[str],
        extra_infos: Sequence[Mapping[str, Any] | None] | None = None,
    ) -> list[float]:
        if not all(isinstance(text, str) for text in ground_truths):
            raise InputError("Expected `ground_truth` to be the text of the reference report in every row of the data.")
        rewards = scorer_rewards(loaded, list(ground_truths), list(solution_strs), missing_reward, output)
        return [missing_reward if reward is None else reward for reward in rewards]

    return compute_score
