"""The folder of a judge of relations: settings as JSON, what was trained as safetensors. No code, no pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.io.atomic import atomic_folder
from radreward.models.backbone import Backbone
from radreward.models.lora import LoRA, merge_lora
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

CONFIG, WEIGHTS = "judge.json", "model.safetensors"
FORMAT = 1
EMBEDDED_DIR = Path(__file__).with_name("embedded") / "judge"
"""The judge that comes with the package."""
_BACKBONE_FIELDS = ("name", "quantization", "dtype", "attention")
_CONFIG_KEYS = {"format", "backbone", "lora", "width", "hidden", "training"}
_ENCODER_PREFIX = "encoder."


class RelationArtifact(NamedTuple):
    """A model of relations, and what is written of it."""

    predictor: RelationPredictor
    config: Mapping[str, Any]
    state: Mapping[str, Tensor]
    """What training changed, by name."""

    def fingerprint(self) -> str:
        """Changes with anything that relations depend on."""
        digest = hashlib.sha256(json.dumps({**self.config, "training": None}, sort_keys=True).encode())
        for name, value in sorted(self.state.items()):
            digest.update(name.encode() + value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def make_relation_artifact(
    predictor: RelationPredictor, training_info: Mapping[str, Any] | None = None, as_float16: bool = False
) -> RelationArtifact:
    """What is to be written of a model that was trained.

    Args:
        relations: The model, with its adapters.
        training: What is told of the training; nothing depends on it.
        half: Hold the weights as float16.
    """
    model = predictor.model
    backbone, names = model.backbone, model.trainable_keys()
    state = {key: value.detach().cpu().contiguous() for key, value in model.state_dict().items() if key in names}
    config = {
        "format": FORMAT,
        "backbone": {key: getattr(backbone, key) for key in _BACKBONE_FIELDS},
        "lora": backbone.lora and {key: getattr(backbone.lora, key) for key in ("r", "alpha", "targets")},
        "width": model.projection_size,
        "hidden": model.comparison_size,
        "training": dict(training_info or {}),
    }
    return RelationArtifact(predictor, config, {k: v.half() for k, v in state.items()} if as_float16 else state)


def save_relation_artifact(artifact: RelationArtifact, folder: str | Path) -> None:
    """Write a model of relations; the folder appears whole or not at all.

    Of the backbone its name is kept, not its weights.

    Raises:
        InputError: If the folder holds something else, or a weight is not finite.
    """
    if broken := next((key for key, value in artifact.state.items() if not torch.isfinite(value).all()), None):
        raise InputError(f"{folder}: Expected {broken!r} to hold finite numbers only.")
    with atomic_folder(folder, {CONFIG}, "a judge") as new:
        save_file(dict(artifact.state), new / WEIGHTS)
        (new / CONFIG).write_text(json.dumps(dict(artifact.config), indent=2) + "\n", encoding="utf-8")


def load_relation_artifact(
    folder: str | Path = EMBEDDED_DIR, device: str = "cpu", allow_download: bool = False
) -> RelationArtifact:
    """Read what `save_relations` wrote, its adapters merged into the weights where that needs no peft.

    Args:
        folder: Where it is.
        device: Where it shall run.
        download: Whether a backbone that is not on this machine may be fetched from the hub; the folder names it.

    Raises:
        InputError: If a file is missing or broken, or a field is not what it should be; names file and field.
    """
    path = Path(folder, CONFIG)
    config = _read_config(path)
    try:
        lora = config["lora"] and LoRA(**config["lora"])
        merged = lora and lora.targets != "all-linear"
        backbone = Backbone(lora=None if merged else lora, local_files_only=not allow_download, **config["backbone"])
        model = RelationModel(backbone, config["width"], config["hidden"])
        state = _read_weights(Path(folder, WEIGHTS))
        _load_weights(model, state, lora if merged else None)
        backbone.lora = lora or None
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: settings or weights are wrong ({error}).") from error
    tokenizer = load_tokenizer(backbone.name)
    model = model.to(device).eval().requires_grad_(False)
    return RelationArtifact(RelationPredictor(model, tokenizer), config, state)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a file of a judge but it cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON ({error}).") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{path}: Expected `format` to be {FORMAT}.")
    if wrong := sorted(set(config) ^ _CONFIG_KEYS):
        raise InputError(f"{path}: the field {wrong[0]!r} is missing or unknown.")
    return config


def _read_weights(path: Path) -> dict[str, Tensor]:
    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: Expected weights as safetensors ({error}).") from error
    if broken := next((name for name, value in state.items() if not torch.isfinite(value).all()), None):
        raise InputError(f"{path}: Expected {broken!r} to hold finite numbers only.")
    return state


def _load_weights(model: RelationModel, state: Mapping[str, Tensor], lora: LoRA | None) -> None:
    """Give a model what was trained; with `lora`, adapters go into the weights that they adapt."""
    rest = dict(state)
    if lora is not None:
        layers = lora.target_layers(model.encoder, model.config.model_type)
        if layers is None:
            raise ValueError(f"no layers of this backbone are called {lora.targets}")
        merge_lora(
            layers,
            lora.alpha / lora.r,
            {k.removeprefix(_ENCODER_PREFIX): rest.pop(k) for k in state if k.startswith(_ENCODER_PREFIX)},
        )
        own = {name: value for name, value in model.state_dict().items() if not name.startswith(_ENCODER_PREFIX)}
    else:
        names = model.trainable_keys()
        own = {name: value for name, value in model.state_dict().items() if name in names}
    if wrong := sorted(set(rest) ^ set(own)):
        raise ValueError(f"{wrong[0]!r} is missing or unknown")
    if bent := next((name for name, value in rest.items() if value.shape != own[name].shape), None):
        raise ValueError(f"{bent!r} has the shape {tuple(rest[bent].shape)}, not {tuple(own[bent].shape)}")
    model.load_state_dict(rest, strict=False)
