"""Taggers by name or folder."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.models.backbone import Backbone
from radreward.models.lora import LoRA
from radreward.systems.ratescore.taggers.base import Tagger
from radreward.systems.ratescore.taggers.folder import CONFIG, FORMAT, WEIGHTS, read_tagger_config
from radreward.systems.ratescore.taggers.hf_tagger import HFTagger
from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
from radreward.systems.ratescore.taggers.neural import NeuralTagger, TaggerModel
from radreward.systems.ratescore.taggers.rule_tagger import RuleTagger
from radreward.systems.ratescore.taggers.span_tagger import SpanTagger

EMBEDDED_TAGGER_DIR = Path(__file__).with_name("embedded")
"""The tagger that comes with the package."""
_MODEL_SETTINGS = {"iob": set[str](), "span": {"hidden", "width"}}
_KEYS = {"format", "kind", "backbone", "lora", "training"}


def load_tagger(name: str | Path, device: str = "cpu", allow_download: bool = False) -> Tagger:
    """A tagger by its name or folder. Nothing in the folder is executed.

    Args:
        name: `rules`, `embedded`, a folder that `save_pretrained` wrote, or the folder or hub name of a
            token-classification model of transformers, such as Angelakeke/RaTE-NER-Deberta.
        device: Where a model shall run.
        download: Whether a backbone that is not on this machine may be fetched from the hub; the folder names it.

    Raises:
        InputError: If there is none, or a file of it cannot be used; names file and field.

    >>> type(load_tagger("rules")).__name__
    'RuleTagger'
    """
    if name == "rules":
        return RuleTagger()
    folder = EMBEDDED_TAGGER_DIR if name == "embedded" else Path(name)
    if not folder.is_dir() and is_hub_name(str(name)):
        return _load_hf_tagger(name, device, allow_download)
    path, config = folder / CONFIG, read_tagger_config(folder)
    if "model_type" in config:
        return _load_hf_tagger(name, device, allow_download)
    if config.get("format") != FORMAT:
        raise InputError(f"{path}: Expected `format` to be {FORMAT}.")
    kind = config.get("kind")
    if kind == "rules":
        return RuleTagger()
    if kind not in _MODEL_SETTINGS:
        raise InputError(f"{path}: Expected `kind` to be one of rules, {', '.join(_MODEL_SETTINGS)} but got {kind!r}.")
    if wrong := sorted(set(config) ^ (_KEYS | _MODEL_SETTINGS[kind])):
        raise InputError(f"{path}: the field {wrong[0]!r} is missing or unknown.")
    model = _build_model(config, path, allow_download)
    _load_weights(model, folder / WEIGHTS)
    return NeuralTagger(model.to(device), load_tokenizer(model.backbone.name))


def is_hub_name(name: str) -> bool:
    """Whether it can be the name of a model on the hub: owner and name.

    >>> is_hub_name("Angelakeke/RaTE-NER-Deberta"), is_hub_name("runs/tagger/model"), is_hub_name("./tagger")
    (True, False, False)
    """
    return re.fullmatch(r"\w[\w.-]*/\w[\w.-]*", name) is not None


def _load_hf_tagger(name: str | Path, device: str, allow_download: bool) -> Tagger:
    tagger = HFTagger.from_pretrained(name, allow_download)
    tagger.model.to(device)
    return tagger


def _build_model(config: dict[str, Any], path: Path, allow_download: bool) -> TaggerModel:
    try:
        lora = config["lora"] and LoRA(**config["lora"])
        backbone = Backbone(lora=lora, local_files_only=not allow_download, **config["backbone"])
        if config["kind"] == "iob":
            return IOBTagger(backbone)
        return SpanTagger(backbone, config["hidden"], config["width"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: a field of backbone, lora, hidden or width is wrong ({error}).") from error


def _load_weights(model: TaggerModel, path: Path) -> None:
    if not path.is_file():
        raise InputError(f"{path}: Expected the weights of the tagger but there is no such file.")
    try:
        state = load_file(path)
    except SafetensorError as error:
        raise InputError(f"{path}: {error}") from error
    names, own = model.trainable_names(), model.state_dict()
    if wrong := sorted(set(state) ^ names):
        raise InputError(f"{path}: Expected the weights of this tagger but {wrong[0]!r} is missing or unknown.")
    for key, value in state.items():
        if value.shape != own[key].shape:
            shapes = f"{tuple(own[key].shape)} but got {tuple(value.shape)}"
            raise InputError(f"{path}: Expected {key!r} of shape {shapes}.")
        if not torch.isfinite(value).all():
            raise InputError(f"{path}: Expected {key!r} to hold finite numbers only.")
    model.load_state_dict(state, strict=False)
