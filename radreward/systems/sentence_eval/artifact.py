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
from radreward.io.atomic import new_folder
from radreward.models.backbone import Backbone
from radreward.models.lora import LoRA, merge
from radreward.systems.sentence_eval.model import RelationModel, Relations

CONFIG, WEIGHTS = "judge.json", "model.safetensors"
FORMAT = 1
SHIPPED = Path(__file__).with_name("embedded") / "judge"
"""The judge that comes with the package."""
_BACKBONE = ("name", "quantization", "dtype", "attention")
_KEYS = {"format", "backbone", "lora", "width", "hidden", "training"}
_ENCODER = "encoder."


class SavedRelations(NamedTuple):
    """A model of relations, and what is written of it."""

    relations: Relations
    config: Mapping[str, Any]
    state: Mapping[str, Tensor]
    """What training changed, by name."""

    def fingerprint(self) -> str:
        """Changes with anything that relations depend on."""
        digest = hashlib.sha256(json.dumps({**self.config, "training": None}, sort_keys=True).encode())
        for name, value in sorted(self.state.items()):
            digest.update(name.encode() + value.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()


def saved_relations(
    relations: Relations, training: Mapping[str, Any] | None = None, half: bool = False
) -> SavedRelations:
    """What is to be written of a model that was trained.

    Args:
        relations: The model, with its adapters.
        training: What is told of the training; nothing depends on it.
        half: Hold the weights as float16.
    """
    model = relations.model
    backbone, names = model.backbone, model.trained_names()
    state = {key: value.detach().cpu().contiguous() for key, value in model.state_dict().items() if key in names}
    config = {
        "format": FORMAT,
        "backbone": {key: getattr(backbone, key) for key in _BACKBONE},
        "lora": backbone.lora and {key: getattr(backbone.lora, key) for key in ("r", "alpha", "targets")},
        "width": model.width,
        "hidden": model.hidden,
        "training": dict(training or {}),
    }
    return SavedRelations(relations, config, {k: v.half() for k, v in state.items()} if half else state)


def save_relations(saved: SavedRelations, folder: str | Path) -> None:
    """Write a model of relations; the folder appears whole or not at all.

    Of the backbone its name is kept, not its weights.

    Raises:
        InputError: If the folder holds something else, or a weight is not finite.
    """
    if broken := next((key for key, value in saved.state.items() if not torch.isfinite(value).all()), None):
        raise InputError(f"{folder}: Expected {broken!r} to hold finite numbers only.")
    with new_folder(folder, {CONFIG}, "a judge") as new:
        save_file(dict(saved.state), new / WEIGHTS)
        (new / CONFIG).write_text(json.dumps(dict(saved.config), indent=2) + "\n", encoding="utf-8")


def load_relations(folder: str | Path = SHIPPED, device: str = "cpu", download: bool = False) -> SavedRelations:
    """Read what `save_relations` wrote, its adapters merged into the weights where that needs no peft.

    Args:
        folder: Where it is.
        device: Where it shall run.
        download: Whether a backbone that is not on this machine may be fetched from the hub; the folder names it.

    Raises:
        InputError: If a file is missing or broken, or a field is not what it should be; names file and field.
    """
    path = Path(folder, CONFIG)
    config = _config(path)
    try:
        lora = config["lora"] and LoRA(**config["lora"])
        merged = lora and lora.targets != "all-linear"
        backbone = Backbone(lora=None if merged else lora, local_files_only=not download, **config["backbone"])
        model = RelationModel(backbone, config["width"], config["hidden"])
        state = _state(Path(folder, WEIGHTS))
        _load(model, state, lora if merged else None)
        backbone.lora = lora or None
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: settings or weights are wrong ({error}).") from error
    tokenizer = load_tokenizer(backbone.name)
    model = model.to(device).eval().requires_grad_(False)
    return SavedRelations(Relations(model, tokenizer), config, state)


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a file of a judge but it cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON ({error}).") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{path}: Expected `format` to be {FORMAT}.")
    if wrong := sorted(set(config) ^ _KEYS):
        raise InputError(f"{path}: the field {wrong[0]!r} is missing or unknown.")
    return config


def _state(path: Path) -> dict[str, Tensor]:
    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path}: Expected weights as safetensors ({error}).") from error
    if broken := next((name for name, value in state.items() if not torch.isfinite(value).all()), None):
        raise InputError(f"{path}: Expected {broken!r} to hold finite numbers only.")
    return state


def _load(model: RelationModel, state: Mapping[str, Tensor], lora: LoRA | None) -> None:
    """Give a model what was trained; with `lora`, adapters go into the weights that they adapt."""
    rest = dict(state)
    if lora is not None:
        layers = lora.layers(model.encoder, model.config.model_type)
        if layers is None:
            raise ValueError(f"no layers of this backbone are called {lora.targets}")
        merge(
            layers,
            lora.alpha / lora.r,
            {k.removeprefix(_ENCODER): rest.pop(k) for k in state if k.startswith(_ENCODER)},
        )
        own = {name: value for name, value in model.state_dict().items() if not name.startswith(_ENCODER)}
    else:
        names = model.trained_names()
        own = {name: value for name, value in model.state_dict().items() if name in names}
    if wrong := sorted(set(rest) ^ set(own)):
        raise ValueError(f"{wrong[0]!r} is missing or unknown")
    if bent := next((name for name, value in rest.items() if value.shape != own[name].shape), None):
        raise ValueError(f"{bent!r} has the shape {tuple(rest[bent].shape)}, not {tuple(own[bent].shape)}")
    model.load_state_dict(rest, strict=False)
