"""Scorers as reward functions of TRL, to train a report generator with any metric.

    from trl import GRPOTrainer
    from radreward.integrations.trl import trl_reward

    trainer = GRPOTrainer(model, reward_funcs=trl_reward("ratescore"), train_dataset=dataset, ...)

The dataset needs the columns `prompt` and `reference`. The completion is the candidate.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from torch import Tensor

from radreward.errors import InputError
from radreward.integrations.remote import RemoteScorer
from radreward.integrations.rewards import finite_rewards, loaded_scorer, scorer_rewards, warn_unscored
from radreward.score_outputs import ScoreOutput
from radreward.scorers import Scorer, load

_TRLReward = Callable[..., list[float | None]]
"""TRL's interface: takes prompts, completions and dataset columns by name; returns one reward per completion."""


def trl_reward(
    scorer: Scorer | str | None = None,
    reference_column: str = "reference",
    missing_reward: float | None = None,
    output: ScoreOutput = "total",
    *,
    device: str = "auto",
    url: str | None = None,
    allow_remote: bool = False,
    asynchronous: bool = False,
) -> Callable[..., Any]:
    """Wrap a scorer as a reward function of TRL's trainers: one of its outputs, negated if lower is better.

    Args:
        scorer: A scorer, or its name or folder; with `url`, the name of a metric of the service, None for its only one.
        reference_column: Dataset column with the reference reports.
        missing_reward: Reward of a completion without a score, such as an empty one; None excludes it from its group.
            A warning states the number of such completions and a reason.
        output: "total", "quality" or "errors", the number of errors. The quality is in [0, 1] for every reference and
            1 for a report without errors, so rewards of different prompts have the same scale.
        device: Device of a scorer that is given by its name or folder, see `radreward.devices.resolve_device`.
        url: Address of a running `radreward serve` that scores, see `RemoteScorer`.
        allow_remote: Allow a service on another machine. Requests contain reports.
        asynchronous: Return a coroutine function, which TRL awaits together with other rewards; it scores in a thread.

    Raises:
        ValueError: If there is no such output, or neither scorer nor service.
        InputError: If the scorer is unknown or has no such output. The reward function raises it if the column is
            missing or contains anything but texts.

    >>> reward = trl_reward("bleu-4")
    >>> reward(prompts=["Write."], completions=["No edema is seen now."], reference=["No edema is seen now."])
    [1.0]
    """
    loaded = _loaded(scorer, output, device, url, allow_remote)

    def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        return scorer_rewards(loaded, *_pairs(columns, reference_column, completions), missing_reward, output)

    async def waiting_reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
        return await asyncio.to_thread(reward, prompts, completions, **columns)

    chosen: Callable[..., Any] = waiting_reward if asynchronous else reward
    chosen.__name__ = _name(loaded, scorer)
    return chosen


def _loaded(
    scorer: Scorer | str | None, output: ScoreOutput, device: str, url: str | None, allow_remote: bool
) -> Scorer:
    """Return a scorer: a loaded one, a metric of a service, or one to load on a device."""
    if url is not None and not isinstance(scorer, Scorer):
        return loaded_scorer(RemoteScorer(url, scorer, allow_remote), output)
    if scorer is None or url is not None:
        raise ValueError("Expected `scorer` or `url`, and with `url` at most the name of a metric.")
    return loaded_scorer(
        load(scorer, device=device) if device != "auto" and isinstance(scorer, str) else scorer, output
    )


def trl_criterion_rewards(
    scorer: Scorer | str, reference_column: str = "reference", missing_reward: float | None = None
) -> list[_TRLReward]:
    """Return one reward function per sub-score of a scorer; TRL's `reward_weights` weight them.

    TRL logs each reward by the name of its sub-score. All of them share one call of the scorer per batch.

    Args:
        scorer: A scorer with sub-scores, or its name or folder.
        reference_column: See `trl_reward`.
        missing_reward: See `trl_reward`.

    Raises:
        InputError: If the scorer is unknown or has no sub-scores; see also `trl_reward`.

    >>> rewards = trl_criterion_rewards("er2score")
    >>> rewards[0].__name__
    'significant_false_prediction'
    """
    loaded = loaded_scorer(scorer, "total")
    if not loaded.sub_names:
        raise InputError(
            f"{_name(loaded, scorer)}: Expected a scorer with sub-scores but it has none. Use `trl_reward`."
        )

    @lru_cache(1)
    def score(references: tuple[str, ...], candidates: tuple[str, ...]) -> Tensor:
        scores = loaded.score(references, candidates)
        if scores.sub_scores is None:
            raise InputError(f"{_name(loaded, scorer)}: Expected sub-scores but the scorer returned none.")
        warn_unscored(scores.sub_scores.sum(1).tolist(), scores)
        return scores.sub_scores

    def criterion_reward(index: int, name: str) -> _TRLReward:
        def reward(prompts: Sequence[Any], completions: Sequence[Any], **columns: Any) -> list[float | None]:
            sub_scores = score(*map(tuple, _pairs(columns, reference_column, completions)))
            return finite_rewards(sub_scores[:, index].tolist(), missing_reward)

        reward.__name__ = name
        return reward

    return [criterion_reward(index, name) for index, name in enumerate(loaded.sub_names)]


def _name(loaded: Scorer, scorer: Scorer | str | None) -> str:
    return loaded.title or (scorer if isinstance(scorer, str) else type(scorer).__name__)


def _pairs(columns: dict[str, Any], reference_column: str, completions: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Return the references and the texts of the completions."""
    references = columns.get(reference_column)
    if references is None:
        raise InputError(
            f"Expected a dataset with a column {reference_column!r} of reference reports but it has no such column."
        )
    if len(references) != len(completions) or not all(isinstance(text, str) for text in references):
        raise InputError(f"Expected one text per completion in the column {reference_column!r} but got other values.")
    return list(references), [_completion_text(completion) for completion in completions]


def _completion_text(completion: Any) -> str:
    """Return the text of a completion, which TRL passes as text or as chat messages."""
    if isinstance(completion, str):
        return completion
    return "\n".join(str(message["content"]) for message in completion if message.get("role") == "assistant")
