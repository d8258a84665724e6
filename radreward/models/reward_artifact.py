"""A trained reward model as a folder: config.json, model.safetensors, calibration.json. No code, no pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.io.atomic import atomic_folder
from radreward.models import CONFIG
from radreward.models.attention import check_length
from radreward.models.backbone import Backbone
from radreward.models.calibration import Calibration
from radreward.models.lora import LoRA, merge_lora
from radreward.models.reward_model import RewardModel
from radreward.prompts.template import TEMPLATES, PromptTemplate, template_class

FORMAT = 1
WEIGHTS, CALIBRATION = "model.safetensors", "calibration.json"
_BACKBONE_FIELDS = ("name", "quantization", "dtype", "attention")
_CONFIG_FIELDS = {"format", "backbone", "lora", "pooling", "hidden", "template", "max_length", "criteria", "training"}


class RewardModelArtifact(NamedTuple):
    """A reward model and all that its scores depend on."""

    model: RewardModel
    template: PromptTemplate
    max_length: int
    """Longest path of a candidate, in tokens."""
    calibration: Calibration | None = None
    training_info: Mapping[str, Any] = {}
    """What is told of its training; nothing depends on it."""
    trained_state: Mapping[str, Tensor] | None = None
    """What training changed, where the model holds it merged into the weights of the backbone."""

    def weights_to_save(self) -> Mapping[str, Tensor]:
        """What training changed, by name: what is saved."""
        return self.model.trained_state() if self.trained_state is None else self.trained_state


def save_reward_model(artifact: RewardModelArtifact, folder: str | Path, as_float16: bool = False) -> None:
    """Write a model; the folder appears whole or not at all.

    Args:
        saved: The model and what belongs to it. Of the weights, only those that were trained are written.
        folder: Where to; an older model there is replaced.
        half: Hold the weights as float16, in half the space.

    Raises:
        InputError: If the folder holds something else than a model, or the template is not one of ours, or a weight is
            not finite (or too large for `half`).
    """
    folder = Path(folder)
    name = type(artifact.template).__name__
    if name not in TEMPLATES or template_class(name) is not type(artifact.template):
        raise InputError(f"{folder}: Expected a template of {', '.join(TEMPLATES)} but got {name}.")
    with atomic_folder(folder, {CONFIG}, "a model") as new:
        state = {key: value.detach().cpu().contiguous() for key, value in artifact.weights_to_save().items()}
        if as_float16:
            state = {key: value.half() for key, value in state.items()}
        if broken := next((key for key, value in state.items() if not torch.isfinite(value).all()), None):
            raise InputError(f"{folder}: Expected {broken!r} to hold finite numbers only, as {state[broken].dtype}.")
        save_file(state, new / WEIGHTS)
        _write(new / CONFIG, _config(artifact, name))
        if artifact.calibration:
            _write(new / CALIBRATION, artifact.calibration.to_dict())


def load_reward_model(
    folder: str | Path, device: str = "cpu", allow_download: bool = False, merge_adapters: bool = False
) -> RewardModelArtifact:
    """Read what `save_model` wrote. Nothing in the folder is executed.

    Args:
        folder: Where the model is.
        device: Where it shall run.
        download: Whether a backbone that is not on this machine may be fetched from the hub; the folder names it.
        merged: For use, not for training: add adapters to the weights they adapt, where that needs no peft.

    Raises:
        InputError: If a file is missing or broken, or a field is not what it should be; names file and field.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"{folder}: Expected the folder of a model but there is none.")
    path = folder / CONFIG
    config = _read(path)
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{path}: Expected `format` to be {FORMAT}.")
    if wrong := sorted(set(config) ^ _CONFIG_FIELDS):
        raise InputError(f"{path}: the field {wrong[0]!r} is missing or unknown.")
    template, max_length = config["template"], config["max_length"]
    if not isinstance(template, str) or template not in TEMPLATES:
        raise InputError(f"{path}: Expected `template` to be one of {', '.join(TEMPLATES)} but got {template!r}.")
    if type(max_length) is not int or max_length < 1:
        raise InputError(f"{path}: Expected `max_length` to be an integer >= 1 but got {max_length!r}.")
    model, layers = _build_model(config, path, allow_download, merge_adapters)
    try:
        check_length(model.config, max_length)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    state = _load_weights(model, folder / WEIGHTS, layers)
    calibration = _load_calibration(folder / CALIBRATION, len(model.criteria))
    kept = None if layers is None else state
    model = model.to(device).eval()
    return RewardModelArtifact(model, template_class(template)(), max_length, calibration, config["training"], kept)


def load_initial_weights(model: RewardModel, folder: str | Path) -> None:
    """Give a model the trained weights of a saved one, to go on from there.

    Raises:
        InputError: If the folder cannot be read, or its model is built in another way or judges by other criteria.
    """
    weights = load_reward_model(folder).model
    for name, value in _architecture(model).items():
        if (other := _architecture(weights)[name]) != value:
            raise InputError(f"{folder}: Expected a model whose {name} is {value!r} but got {other!r}.")
    model.load_trained_state(weights.trained_state())


def _architecture(model: RewardModel) -> dict[str, Any]:
    """What decides which weights a model has, and what they mean."""
    lora = model.backbone.lora
    return {
        "backbone": model.backbone.name,
        "lora": lora and {"r": lora.r, "alpha": lora.alpha, "targets": lora.targets},
        "pooling": model.pooling_name,
        "hidden": model.head_hidden_size,
        "criteria": list(model.criteria.tags),
    }


def _config(artifact: RewardModelArtifact, template: str) -> dict[str, Any]:
    model = artifact.model
    return {
        **_architecture(model),
        "format": FORMAT,
        "backbone": {key: getattr(model.backbone, key) for key in _BACKBONE_FIELDS},
        "template": template,
        "max_length": artifact.max_length,
        "criteria": model.criteria.to_dict(),
        "training": dict(artifact.training_info),
    }


def _build_model(
    config: dict[str, Any], path: Path, allow_download: bool, merge_adapters: bool
) -> tuple[RewardModel, Mapping[str, nn.Linear] | None]:
    """A model without its trained weights, and the layers to merge adapters into, if it has no adapters for that."""
    try:
        lora = config["lora"] and LoRA(**config["lora"])
        backbone = Backbone(lora=lora, local_files_only=not allow_download, **config["backbone"])
        criteria = Criteria.from_dict(config["criteria"])
        layers = None
        if merge_adapters and lora and lora.targets != "all-linear" and not backbone.quantization:
            backbone.lora = None
            model = RewardModel(backbone, criteria, config["pooling"], config["hidden"])
            backbone.lora = lora
            layers = lora.target_layers(model.encoder, model.config.model_type)
            if layers is not None:
                return model, layers
        return RewardModel(backbone, criteria, config["pooling"], config["hidden"]), None
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: a field of backbone, lora, pooling or hidden is wrong ({error}).") from error


def _load_weights(model: RewardModel, path: Path, layers: Mapping[str, nn.Linear] | None) -> dict[str, Tensor]:
    """What training changed; the model has it afterwards, in adapters or merged into `layers`."""
    if not path.is_file():
        raise InputError(f"{path}: Expected the weights of the model but there is no such file.")
    try:
        state = load_file(path)
        lora = model.backbone.lora
        if layers is None or lora is None:
            model.load_trained_state(state)
        else:
            _merge_adapters(model, lora.alpha / lora.r, state, layers)
    except (SafetensorError, ValueError) as error:
        raise InputError(f"{path}: {error}") from error
    if broken := next((name for name, value in state.items() if not torch.isfinite(value).all()), None):
        raise InputError(f"{path}: Expected {broken!r} to hold finite numbers only.")
    return state


def _merge_adapters(
    model: RewardModel, scale: float, state: Mapping[str, Tensor], layers: Mapping[str, nn.Linear]
) -> None:
    inside = "encoder."
    adapters = {name.removeprefix(inside): value for name, value in state.items() if name.startswith(inside)}
    merge_lora(layers, scale, adapters)
    model.encoder.requires_grad_(False)
    model.load_trained_state({name: value for name, value in state.items() if not name.startswith(inside)})


def _load_calibration(path: Path, num_criteria: int) -> Calibration | None:
    if not path.is_file():
        return None
    value = _read(path)
    try:
        calibration = Calibration.from_dict(value)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    if len(calibration.curves) != num_criteria:
        raise InputError(f"{path}: Expected {num_criteria} curves, one a criterion, but got {len(calibration.curves)}.")
    return calibration


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a file of a model but it cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON ({error}).") from error


def _write(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value, indent=2) + "\n", encoding="utf-8")
