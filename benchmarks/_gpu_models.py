"""Models with random weights on a device, and timing, shared by the parts of the benchmark of GPUs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import nn
from transformers import AutoModel, AutoModelForCausalLM, LlamaConfig, PreTrainedConfig

from benchmarks._published_configs import published_config
from benchmarks.training_speed import Case
from radreward.criteria import Criteria, Criterion
from radreward.models import Backbone, EvidenceRewardModel, LoRA, PooledRewardModel
from radreward.models.backbone import DTypeName
from radreward.models.bert import BertEncoder, BertSizes

PEAK = {
    "H100 PCIe": 756e12, "H100 NVL": 835e12, "H100": 989e12, "H200": 989e12, "A100": 312e12, "L40S": 362e12,
    "RTX 4090": 165e12,
}  # fmt: skip
"""Dense bfloat16 FLOP/s that the manufacturers state, by a part of the device's name; the first match counts."""


class Job(NamedTuple):
    """A batch of a training step, with or without gradient checkpointing."""

    case: Case
    checkpointing: bool = False


class Decoding(NamedTuple):
    """Prompts and completions, in tokens."""

    prompts: int
    completions: int
    prompt: int
    new_tokens: int


class Size(NamedTuple):
    """Sizes of the models and of their work."""

    name: str
    decoder: PreTrainedConfig
    encoder: BertSizes
    jobs: tuple[Job, ...]
    decoding: Decoding
    pairs: int
    """Pairs of reports to score."""


def tiny_size() -> Size:
    """Return sizes that a CPU computes in seconds."""
    decoder = LlamaConfig(
        vocab_size=500, hidden_size=64, intermediate_size=224, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=2, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    case = Case(4, 11, 34, 9, rounds=2)
    jobs = (Job(case), Job(case, checkpointing=True), Job(case._replace(peer=False)))
    return Size("tiny", decoder, BertSizes(500, 64, 2, 4, 128, 128, 2, 1e-12, 0), jobs, Decoding(2, 2, 12, 4), 8)


def full_size() -> Size:
    """Return Llama 3 8B and MiniLM, references of 450 tokens with instruction, and four candidates of 90."""
    case = Case(4, 112, 338, 90, groups=1)
    jobs = (
        Job(case),
        Job(case, checkpointing=True),
        Job(case._replace(groups=6), checkpointing=True),
        Job(case._replace(groups=8, peer=False)),  # about as many tokens as the peer has in the first job
    )
    decoder = published_config("meta-llama/Meta-Llama-3-8B")
    decoder.bos_token_id = decoder.eos_token_id = None  # completions have their full length
    minilm = BertSizes(30522, 384, 6, 12, 1536, 512, 2, 1e-12, 0)
    return Size("8B", decoder, minilm, jobs, Decoding(4, 8, 700, 128), 2048)


SIZES = {"tiny": tiny_size, "8B": full_size}


class RandomBackbone(Backbone):
    """Backbone with random weights of a given architecture, created on a device.

    Args:
        architecture: Sizes of the decoder or encoder.
        device: Device of the weights.
        dtype: Type of the weights.
        lora: Adapters to train.
        checkpointing: Recompute activations in the backward pass.
    """

    def __init__(
        self,
        architecture: PreTrainedConfig | BertSizes,
        device: torch.device,
        dtype: DTypeName,
        lora: LoRA | None = None,
        checkpointing: bool = False,
    ) -> None:
        super().__init__("random weights", lora, dtype=dtype, gradient_checkpointing=checkpointing)
        self.architecture, self.device = architecture, device

    def config(self, packed: bool = True) -> PreTrainedConfig | BertSizes:
        """See `Backbone.config`."""
        return self.architecture

    def build(self, packed: bool = True, causal_lm: bool = False) -> nn.Module:
        """See `Backbone.build`."""
        dtype = getattr(torch, self.dtype)
        with self.device:
            if isinstance(self.architecture, BertSizes):
                return BertEncoder(self.architecture).to(dtype)
            auto_class: Any = AutoModelForCausalLM if causal_lm else AutoModel
            return self.prepare(auto_class.from_config(self.architecture, dtype=dtype))


def reward_model(
    architecture: PreTrainedConfig, device: torch.device, dtype: DTypeName, checkpointing: bool = False
) -> PooledRewardModel:
    """Return a model in training, with adapters of rank 16 on queries and values that are not zero."""
    torch.manual_seed(0)
    criteria = Criteria("one", [Criterion("quality", "How good the report is.")])
    lora = LoRA(16, targets=["q_proj", "v_proj"])
    model = PooledRewardModel(RandomBackbone(architecture, device, dtype, lora, checkpointing), criteria).to(device)
    for name, parameter in model.named_parameters():
        if "lora_B" in name:
            nn.init.normal_(parameter, std=0.01)
    return model.train()


def evidence_model(sizes: BertSizes, criteria: Criteria) -> EvidenceRewardModel:
    """Return a model of the evidence of errors, on the CPU."""
    torch.manual_seed(0)
    backbone = RandomBackbone(sizes, torch.device("cpu"), "float32")
    return EvidenceRewardModel(backbone, criteria, predicts_findings=True).eval()


def elapsed_seconds(work: Callable[[], object], device: torch.device) -> float:
    """Return the seconds of a call: of CUDA events on a GPU, CPU time without one."""
    if device.type != "cuda":
        start_time = time.process_time()
        work()
        return time.process_time() - start_time
    event: Any = torch.cuda.Event  # untyped in torch
    start, end = event(enable_timing=True), event(enable_timing=True)
    start.record()
    work()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000


def peak_flops(device: torch.device) -> float | None:
    """Return the peak of a GPU in bfloat16, or None if it is unknown."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else ""
    return next((value for key, value in PEAK.items() if key in name), None)
