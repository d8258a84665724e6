"""Fixtures: a small reward module, a batch for it, and the folder of a backbone that can be quantized."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from transformers import AutoModel, LlamaConfig

from radreward.criteria import Criteria
from radreward.data.collators.reward import RewardCollator
from radreward.data.tokenizer import byte_tokenizer
from radreward.models import Backbone, LoRA
from radreward.modules import RewardModule
from radreward.objectives import Objective
from radreward.types import Candidate, ReportGroup, RewardTrainingBatch

CRITERIA = Criteria("two", [{"name": "tone", "description": "Rude."}, {"name": "length", "description": "Long."}])


@pytest.fixture
def groups() -> list[ReportGroup]:
    texts = [
        ("a lamp", {"tone": 0, "length": 0}),
        ("a big lamp", {"tone": 1, "length": 2}),
        ("no", {"tone": 0, "length": 1}),
    ]
    candidates = tuple(Candidate(text, errors) for text, errors in texts)
    return [ReportGroup("first", "a lamp here", candidates), ReportGroup("second", "no lamp", candidates[:2])]


@pytest.fixture
def batch(groups: list[ReportGroup]) -> RewardTrainingBatch:
    return RewardCollator(CRITERIA, "tiny-llama").collate(groups)


@pytest.fixture
def known_findings(batch: RewardTrainingBatch) -> RewardTrainingBatch:
    weights = torch.tensor([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0], [1.0, 0.0], [torch.nan, torch.nan]])
    return batch._replace(targets=batch.targets._replace(finding_weights=weights))


@pytest.fixture
def module() -> Callable[..., RewardModule]:
    """Return a factory of modules; those with different seeds differ only in the weights of the head."""

    def make(
        objective: Objective | None = None,
        seed: int = 0,
        backbone: Backbone | None = None,
        criteria: Criteria = CRITERIA,
    ) -> RewardModule:
        torch.manual_seed(seed)
        return RewardModule(criteria, backbone or Backbone("tiny-llama", LoRA(4)), objective, head_hidden_size=4)

    return make


@pytest.fixture(scope="session")
def tiny_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a backbone in the format of the Hub; its rows have 64 weights, the block size of 4-bit quantization."""
    folder = tmp_path_factory.mktemp("backbone")
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=260, hidden_size=64, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4
    )
    AutoModel.from_config(config).save_pretrained(folder)
    byte_tokenizer(encoder=False).save_pretrained(folder)
    return folder
