"""Fused kernels of a decoder. No GPU is used: the package that has the kernels is a stand-in."""

import sys
from types import ModuleType
from typing import Any

import pytest
import torch
from transformers.models.llama import modeling_llama

from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.fused_kernels import use_fused_kernels
from radreward.models.tiny_backbones import tiny_model


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Install a package that replaces a class of the architecture, as Liger Kernel does; return its calls."""
    calls: list[dict[str, Any]] = []

    def apply(model: Any, **options: bool) -> None:
        calls.append({"model": model, **options})
        monkeypatch.setattr(modeling_llama, "LlamaMLP", None)

    package, patches = ModuleType("liger_kernel"), ModuleType("liger_kernel.transformers.monkey_patch")
    patches.MODEL_TYPE_TO_APPLY_LIGER_FN = {"llama": apply}  # type: ignore[attr-defined]
    patches._apply_liger_kernel_to_instance = apply  # type: ignore[attr-defined]
    parent = ModuleType("liger_kernel.transformers")
    parent.monkey_patch = patches  # type: ignore[attr-defined]
    for module in (package, parent, patches):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr("radreward.extras.is_installed", lambda package: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    return calls


def test_one_model_is_changed_and_later_ones_are_not(stand_in: list[dict[str, Any]]) -> None:
    before = modeling_llama.LlamaMLP
    Backbone("tiny-llama", lora=None, fused_kernels=True).build()
    [call] = stand_in
    assert type(call.pop("model")) is modeling_llama.LlamaModel
    # Rotation and cross-entropy are functions of the module, so of every model.
    assert call == {"rope": False, "cross_entropy": False, "fused_linear_cross_entropy": False}
    assert modeling_llama.LlamaMLP is before
    Backbone("tiny-llama", lora=None).build()
    assert len(stand_in) == 1


def test_other_models_stay_as_they_are_if_the_package_fails(
    stand_in: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(model: Any, **options: bool) -> None:
        monkeypatch.setattr(modeling_llama, "LlamaMLP", None)
        raise RuntimeError("no kernel")

    patches = sys.modules["liger_kernel.transformers.monkey_patch"]
    monkeypatch.setattr(patches, "_apply_liger_kernel_to_instance", failing)
    before = modeling_llama.LlamaMLP
    with pytest.raises(RuntimeError, match="no kernel"):
        use_fused_kernels(tiny_model("llama"))
    assert modeling_llama.LlamaMLP is before
    assert not stand_in


def test_unknown_architecture_is_named(stand_in: list[dict[str, Any]]) -> None:
    with pytest.raises(InputError, match="fused_kernels: Expected a decoder that Liger Kernel knows but got 'bert'"):
        use_fused_kernels(tiny_model("bert"))
    assert not stand_in


def test_missing_package_and_gpu_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("radreward.extras.is_installed", lambda package: False)
    with pytest.raises(InputError, match=r"fused_kernels needs `liger_kernel`.*radreward\[kernels\]"):
        use_fused_kernels(tiny_model("llama"))
    monkeypatch.setattr("radreward.extras.is_installed", lambda package: True)
    with pytest.raises(InputError, match="fused_kernels: Expected a CUDA GPU but torch found none"):
        use_fused_kernels(tiny_model("llama"))
