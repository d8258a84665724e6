"""Folder of a trained reward model: config.json, model.safetensors, calibration.json."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.io.artifacts import load_tensors, read_json_object, save_tensors, write_json
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import check_settings, config_errors, read_config
from radreward.models import CONFIG
from radreward.models.backbone import Backbone
from radreward.models.calibration import Calibration, calibrated_quality
from radreward.models.lora import merge_lora
from radreward.models.reward_model import RewardModel, build_reward_model
from radreward.models.transformers_attention import check_length
from radreward.prompts.template import TEMPLATES, PromptTemplate, template_class

logger = logging.getLogger(__name__)

WEIGHTS, CALIBRATION = "model.safetensors", "calibration.json"
RULE_SHARE = "rules"
"""Name of `RewardModelArtifact.rule_share` in the file of the calibration."""
FORMAT = 4
"""Version of a saved model: its settings, and the text that it reads."""
_READOUT_FIELDS = ("architecture", "pooling", "head_hidden_size", "predicts_findings")
"""Settings of what follows the encoder, see `RewardModel.settings`."""
_CONFIG_FIELDS = ("backbone", "lora", *_READOUT_FIELDS, "template", "max_length", "criteria", "training_info")


@dataclass(frozen=True, slots=True)
class RewardModelArtifact:
    """A reward model and all that its scores depend on."""

    model: RewardModel
    template: PromptTemplate
    max_length: int
    """Maximum number of tokens of a candidate's path."""
    calibration: Calibration | None = None
    training_info: Mapping[str, Any] = field(default_factory=dict)
    """Training metadata, stored for information only."""
    trained_state: Mapping[str, Tensor] | None = None
    """Trained weights before the adapters were merged into the backbone; None if they were not."""
    finding_weights_calibration: Calibration | None = None
    """Curves of `calibrate_finding_weights`; None if the model does not predict them or had no targets to fit."""
    rule_share: float = 0.0
    """Share of rules in quality and errors, in [0, 1], as far as they decide about the findings."""

    def weights_to_save(self) -> Mapping[str, Tensor]:
        """Return the trained weights by name."""
        return self.model.trained_state() if self.trained_state is None else self.trained_state

    def quality(self, finding_weights: Tensor | None) -> Tensor | None:
        """Return the (n,) quality of candidates from the model's (n, 2) weights, or None if it is not calibrated."""
        if finding_weights is None or self.finding_weights_calibration is None:
            return None
        return calibrated_quality(self.finding_weights_calibration, finding_weights)


def save_reward_model(artifact: RewardModelArtifact, folder: str | Path, as_float16: bool = False) -> None:
    """Save a reward model atomically: the folder is complete or absent.

    Args:
        artifact: The model; only its trained weights are written.
        folder: The folder; an existing model in it is replaced.
        as_float16: Save the weights as float16.

    Raises:
        InputError: If the folder holds something else, the template is not in `TEMPLATES`, or a weight is not finite
            (or too large for float16).
    """
    folder, model = Path(folder), artifact.model
    name = type(artifact.template).__name__
    if name not in TEMPLATES or template_class(name) is not type(artifact.template):
        raise InputError(f"{folder}: Expected a template of {', '.join(TEMPLATES)} but got {name}.")
    config = {
        **_architecture(model),
        **model.backbone.to_dict(),
        "template": name,
        "max_length": artifact.max_length,
        "criteria": model.criteria.to_dict(),
        "training_info": dict(artifact.training_info),
    }
    with atomic_folder(folder, {CONFIG}, "a model") as scratch:
        save_tensors(scratch / WEIGHTS, artifact.weights_to_save(), torch.float16 if as_float16 else None)
        if artifact.calibration:
            weights = artifact.finding_weights_calibration
            curves = {"findings": weights.to_dict()} if weights else {}
            rules = {RULE_SHARE: float(artifact.rule_share)} if artifact.rule_share else {}
            write_json(scratch / CALIBRATION, {**artifact.calibration.to_dict(), **curves, **rules})
        write_model_settings(scratch / CONFIG, config, _files(scratch), FORMAT)


def load_reward_model(
    folder: str | Path, device: str | torch.device = "auto", allow_download: bool = False, merge_adapters: bool = False
) -> RewardModelArtifact:
    """Load a model that `save_reward_model` wrote. Nothing in the folder is executed.

    Args:
        folder: Folder of the model.
        device: Device of the model, see `radreward.devices.resolve_device`.
        allow_download: Allow the download of the backbone, which the folder names, from the Hub.
        merge_adapters: Merge adapters into the backbone, for scoring without peft; adapters that only peft can merge
            remain.

    Raises:
        InputError: If a file is missing or damaged, or a field is wrong. The message names the file and the field.
    """
    folder = Path(folder)
    path, weights = folder / CONFIG, folder / WEIGHTS
    config = read_config(path, _CONFIG_FIELDS, FORMAT, _files(folder))
    with config_errors(path):
        template, max_length = config["template"], config["max_length"]
        if not isinstance(template, str) or template not in TEMPLATES:
            raise InputError(f"Expected `template` to be one of {', '.join(TEMPLATES)} but got {template!r}.")
        if type(max_length) is not int or max_length < 1:
            raise InputError(f"Expected `max_length` to be an integer >= 1 but got {max_length!r}.")
        model, layers = _build_model(config, allow_download, merge_adapters)
        check_length(model.config, max_length)
    state = load_tensors(weights)
    with config_errors(weights):
        if layers is None:
            model.load_trained_state(state)
        else:
            _merge_adapters(model, state, layers)
    calibration, finding_weights_calibration, rule_share = _load_calibrations(folder / CALIBRATION, len(model.criteria))
    return RewardModelArtifact(
        model.to(resolve_device(device)).eval(),
        template_class(template)(),
        max_length,
        calibration,
        config["training_info"],
        None if layers is None else state,
        finding_weights_calibration,
        rule_share,
    )


def _files(folder: Path) -> list[str]:
    """Return the files of a model whose digests are checked; the calibration is optional."""
    return [WEIGHTS, *([CALIBRATION] if (folder / CALIBRATION).is_file() else [])]


def load_initial_weights(model: RewardModel, folder: str | Path) -> None:
    """Load the trained weights of a saved model into a model of the same backbone, adapters and criteria.

    If architecture, pooling or heads differ, only the weights of the backbone are loaded, with a warning. If the models
    differ only in the prediction of finding weights, all other weights are loaded.

    Raises:
        InputError: If the folder cannot be read, or backbone, adapters or criteria differ.
    """
    initial = load_reward_model(folder, "cpu").model
    wanted, saved = _architecture(model), _architecture(initial)
    differing = [name for name, value in wanted.items() if saved[name] != value]
    for name in differing:
        if name not in _READOUT_FIELDS:
            raise InputError(f"{folder}: Expected a model whose {name} is {wanted[name]!r} but got {saved[name]!r}.")
    state, own = initial.trained_state(), model.trained_state()
    if differing == ["predicts_findings"]:
        state = {name: _with_rows_of(value, state.get(name)) for name, value in own.items()}
    elif differing:
        logger.warning(
            "%s: Only the weights of the backbone are loaded; the layers on top keep their initial ones, because %s.",
            folder,
            ", ".join(f"{name} is {wanted[name]!r}, saved {saved[name]!r}" for name in differing),
        )
        state = {name: state[name] if name.startswith("encoder.") else value for name, value in own.items()}
    model.load_trained_state(state)


def _with_rows_of(own: Tensor, saved: Tensor | None) -> Tensor:
    """Return a weight with the saved values of the rows that both have; the last rows predict finding weights."""
    if saved is None or saved.shape == own.shape:
        return own if saved is None else saved
    rows = min(len(own), len(saved))
    return torch.cat([saved[:rows], own[rows:]])


def _architecture(model: RewardModel) -> dict[str, Any]:
    """Return the settings that determine the weights of a model and their meaning."""
    return {
        "backbone": model.backbone.name,
        "lora": model.backbone.to_dict()["lora"],
        **model.settings,
        "criteria": list(model.criteria.tags),
    }


def _build_model(
    config: dict[str, Any], allow_download: bool, merge_adapters: bool
) -> tuple[RewardModel, Mapping[str, nn.Linear] | None]:
    """Return a model without its trained weights, and the layers to merge adapters into if it has no adapters."""
    backbone = Backbone.from_dict(config, allow_download)
    lora = backbone.lora
    settings = {name: config[name] for name in _READOUT_FIELDS}
    check_settings(build_reward_model, settings)
    criteria = Criteria.from_dict(config["criteria"])
    if merge_adapters and lora and lora.targets != "all-linear" and not backbone.quantization:
        backbone.lora = None
        model = build_reward_model(backbone, criteria, **settings)
        backbone.lora = lora
        layers = lora.target_layers(model.encoder, model.config.model_type)
        if layers is not None:
            return model, layers
    return build_reward_model(backbone, criteria, **settings), None


def _merge_adapters(model: RewardModel, state: Mapping[str, Tensor], layers: Mapping[str, nn.Linear]) -> None:
    lora = model.backbone.lora
    if lora is None:
        raise InputError("Expected `lora` settings with adapters.")
    other_weights = merge_lora(layers, lora, state)
    model.encoder.requires_grad_(False)
    model.load_trained_state(other_weights)


def _load_calibrations(path: Path, num_criteria: int) -> tuple[Calibration | None, Calibration | None, float]:
    """Return the curves of the rewards, those of the finding weights, which the file calls `findings`, and `rules`."""
    if not path.is_file():
        return None, None, 0.0
    value = read_json_object(path)
    with config_errors(path):
        calibration = _calibration(value, num_criteria, "one per criterion")
        weights = _calibration(value["findings"], 2, "matched and wrong") if "findings" in value else None
        rule_share = value.get(RULE_SHARE, 0.0)
        if type(rule_share) is not float or not 0 <= rule_share <= 1:
            raise InputError(f"Expected `{RULE_SHARE}` to be a number from 0.0 to 1.0 but got {rule_share!r}.")
    return calibration, weights, rule_share


def _calibration(value: Any, size: int, meaning: str) -> Calibration:
    calibration = Calibration.from_dict(value)
    if len(calibration.curves) != size:
        raise InputError(f"Expected {size} curves, {meaning}, but got {len(calibration.curves)}.")
    return calibration
