"""Scorers as reward functions, also in TRL's trainer."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from radreward.data.tokenizer import byte_tokenizer
from radreward.errors import InputError
from radreward.integrations.trl import trl_criterion_rewards, trl_reward
from radreward.models.tiny_backbones import tiny_model
from radreward.scorers import load
from radreward.scorers.stateless import StatelessScorer
from radreward.types import Scores
from tests.integrations.running_service import served


class Letters(StatelessScorer):
    """Number of letters of the reference missing from the candidate."""

    title = "letters"
    higher_is_better = False

    config_name = ""

    def compute_totals(self, references: Sequence[str], candidates: Sequence[str]) -> Sequence[float]:
        pairs = zip(references, candidates, strict=True)
        return [float(len(set(reference) - set(candidate))) for reference, candidate in pairs]


def test_rewards_are_totals_negated_if_lower_is_better() -> None:
    reward = trl_reward(Letters())
    chat = [{"role": "assistant", "content": "abc"}]
    rewards = reward(prompts=[""] * 3, completions=["ab", chat, "x"], reference=["abc"] * 3, trainer_state=None)
    assert rewards == [-1.0, 0.0, -3.0]
    assert getattr(reward, "__name__", "") == "letters"


def test_rewards_may_be_qualities() -> None:
    references = ["Pneumothorax. Edema."] * 3
    completions = ["Pneumothorax. Edema.", "Pneumothorax.", "The cat sat on the mat."]
    reward = trl_reward("chexpert-f1", output="quality")
    assert reward(prompts=[""] * 3, completions=completions, reference=references) == [1.0, pytest.approx(5 / 7), None]
    with pytest.raises(InputError, match="letters: Expected a scorer with the output quality but it has only total"):
        trl_reward(Letters(), output="quality")
    with pytest.raises(ValueError, match="to be total, quality, errors but got 'best'"):
        trl_reward(Letters(), output="best")  # type: ignore[arg-type]  # tests the check


def test_rewards_may_be_negated_numbers_of_errors() -> None:
    references, completions = (
        ["Mild edema. No effusion."] * 2,
        ["Mild edema. No effusion.", "Mild edema. Large effusion."],
    )
    right, wrong = trl_reward("er2score", output="errors")(
        prompts=[""] * 2, completions=completions, reference=references
    )
    assert right is not None
    assert wrong is not None
    assert wrong < -0.5 < right <= 0


@pytest.mark.parametrize("missing_reward", [None, -9.0])
def test_unscorable_completion_gets_missing_reward_and_warning(
    missing_reward: float | None, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        rewards = trl_reward(Letters(), missing_reward=missing_reward)(
            prompts=["", ""], completions=["", "a"], reference=["a"] * 2
        )
    assert rewards == [missing_reward, 0.0]
    assert "1 of 2 completions have no score: empty candidate" in caplog.text


def test_criterion_rewards_are_the_sub_scores_of_one_call(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    scorer = load("ratescore")
    calls: list[Sequence[str]] = []
    score = scorer.score

    def counted(references: Sequence[str], candidates: Sequence[str]) -> Scores:
        calls.append(references)
        return score(references, candidates)

    monkeypatch.setattr(scorer, "score", counted)
    references, completions = ["Mild edema."] * 3, ["Mild edema.", "Large left effusion.", ""]
    rewards = trl_criterion_rewards(scorer, missing_reward=-1.0)
    values = [reward(prompts=[""] * 3, completions=completions, reference=references) for reward in rewards]
    assert len(calls) == 1
    assert caplog.messages == ["1 of 3 completions have no score: empty candidate."]
    assert [reward.__name__ for reward in rewards] == list(scorer.sub_names)
    expected = score(references, completions).sub_scores
    assert expected is not None
    assert [row[:2] for row in values] == expected[:2].T.tolist()
    assert {row[2] for row in values} == {-1.0}
    with pytest.raises(InputError, match="letters: Expected a scorer with sub-scores"):
        trl_criterion_rewards(Letters())


def test_missing_column_raises_input_error() -> None:
    reward = trl_reward(Letters(), reference_column="report")
    with pytest.raises(InputError, match="a column 'report'"):
        reward(prompts=[""], completions=["a"], reference=["a"])
    with pytest.raises(InputError, match="one text per completion"):
        reward(prompts=[""], completions=["a"], report=[None])


def test_scorer_loaded_by_name() -> None:
    reward = trl_reward("bleu-4")
    equal, different = reward(
        prompts=["", ""],
        completions=["no pleural effusion is seen", "a lamp"],
        reference=["no pleural effusion is seen"] * 2,
    )
    assert equal is not None
    assert different is not None
    assert equal > different


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore::UserWarning")
def test_generator_trained_against_scorer_here_and_in_a_service_in_trl(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    from datasets import Dataset
    from trl.trainer.grpo_config import GRPOConfig
    from trl.trainer.grpo_trainer import GRPOTrainer

    model = tiny_model("llama", causal_lm=True)
    before = {name: value.clone() for name, value in model.named_parameters()}
    references = ["abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"] * 4  # a random model hits some
    remote = Letters()
    remote.title = "remote letters"
    with served({"letters": remote}, 4) as url:
        waiting = trl_reward(url=url, missing_reward=-62.0, asynchronous=True)
        trainer: Any = GRPOTrainer(
            model=model,
            reward_funcs=[trl_reward(Letters(), missing_reward=-62.0), waiting],
            args=GRPOConfig(
                output_dir=str(tmp_path),
                max_steps=3,
                num_generations=8,
                per_device_train_batch_size=8,
                max_completion_length=8,
                learning_rate=1e-2,
                logging_steps=1,
                use_cpu=True,
                bf16=False,
                activation_checkpointing=False,
                report_to="none",
                disable_tqdm=True,
                save_strategy="no",
            ),
            train_dataset=Dataset.from_dict({"prompt": ["Write: "] * 4, "reference": references}),
            processing_class=byte_tokenizer(encoder=False),
        )
        trainer.train()
    logged = [entry for entry in trainer.state.log_history if "rewards/letters/mean" in entry]
    assert len(logged) == 3
    assert all(entry["rewards/letters/mean"] == entry["rewards/remote letters/mean"] for entry in logged)
    assert all(-62 <= entry["rewards/letters/mean"] <= 0 for entry in logged)
    assert any(not torch.equal(before[name], value) for name, value in model.named_parameters())
