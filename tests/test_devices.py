"""Devices of models. Other devices than the CPU are patched: no test here runs on a GPU."""

from __future__ import annotations

import pytest
import torch

import radreward
from radreward.devices import available_devices, resolve_device
from radreward.errors import InputError


def _patch_devices(monkeypatch: pytest.MonkeyPatch, num_cuda: int, mps: bool) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: num_cuda > 0)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: num_cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)


@pytest.mark.parametrize(
    ("num_cuda", "mps", "available", "best"),
    [
        (2, True, ["cuda:0", "cuda:1", "mps", "cpu"], "cuda"),
        (0, True, ["mps", "cpu"], "mps"),
        (0, False, ["cpu"], "cpu"),
    ],
)
def test_auto_on_patched_machine_is_cuda_then_mps_then_cpu(
    monkeypatch: pytest.MonkeyPatch, num_cuda: int, mps: bool, available: list[str], best: str
) -> None:
    _patch_devices(monkeypatch, num_cuda, mps)
    assert available_devices() == available
    assert resolve_device() == resolve_device("auto") == torch.device(best)


@pytest.mark.parametrize("device", ["cuda:99", "gpu", "xpu:7", "meta"])
def test_missing_device_raises_with_devices_of_machine(monkeypatch: pytest.MonkeyPatch, device: str) -> None:
    _patch_devices(monkeypatch, 0, False)
    expected = "that computes but got 'meta'" if device == "meta" else rf"of this machine \(cpu\) but got '{device}'"
    with pytest.raises(InputError, match=f"device: Expected .*{expected}"):
        resolve_device(device)


@pytest.mark.parametrize("name", ["er2score", "ratescore", "sentence-eval", "green", "bertscore", "bleu-2"])
def test_load_resolves_device_of_every_model(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    _patch_devices(monkeypatch, 0, False)
    with pytest.raises(InputError, match="device: Expected auto or a device"):
        radreward.load(name, device="xpu:7")
    references, candidates = ["Small left pleural effusion."], ["No pleural effusion."]
    by_device = [radreward.load(name, **settings).score(references, candidates) for settings in ({}, {"device": "cpu"})]
    assert by_device[0].total.tolist() == by_device[1].total.tolist()
