"""Load taggers by name or folder."""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Any

from radreward.data.tokenizer import load_tokenizer
from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.io.artifacts import load_into, load_tensors, read_json_object
from radreward.io.hub import parse_hub_name
from radreward.io.model_config import check_config, check_settings, config_errors
from radreward.models.backbone import Backbone
from radreward.systems.ratescore.taggers.base import CONFIG_FILE, WEIGHTS_FILE, Tagger
from radreward.systems.ratescore.taggers.iob_tagger import IOBTagger
from radreward.systems.ratescore.taggers.neural import NeuralTagger, TaggerModel
from radreward.systems.ratescore.taggers.rule_tagger import RuleTagger
from radreward.systems.ratescore.taggers.span_tagger import SpanTagger

EMBEDDED_TAGGER_DIR = Path(__file__).with_name("embedded")
"""The tagger that ships with the package."""
_MODEL_SETTINGS: dict[str, set[str]] = {
    "rules": set(),
    "iob": {"backbone", "lora", "training_info"},
    "span": {"backbone", "lora", "training_info", "hidden_size", "width_embedding_dim"},
}


def load_tagger(name: str | Path, device: str = "cpu", allow_download: bool = False) -> Tagger:
    """Load a tagger by name or folder. Nothing in the folder is executed.

    Args:
        name: `rules`, `embedded`, a folder that `save_pretrained` wrote, or the folder or Hub name of a
            token-classification model of transformers, such as Angelakeke/RaTE-NER-Deberta.
        device: Device of the model; the default is the CPU, because `fit` calls taggers in processes that load data.
        allow_download: Download a model or backbone that is not on this machine from the Hub.

    Raises:
        InputError: If the tagger does not exist or a file is invalid. The message names the file and the field.

    >>> type(load_tagger("rules")).__name__
    'RuleTagger'
    """
    if name == "rules":
        return RuleTagger()
    folder = EMBEDDED_TAGGER_DIR if name == "embedded" else Path(name)
    if not folder.is_dir():
        if parse_hub_name(str(name)):
            return _load_hf_tagger(name, device, allow_download)
        raise InputError(f"{folder}: Expected the folder of a tagger but it does not exist.")
    path = folder / CONFIG_FILE
    config = read_json_object(path)
    if "model_type" in config:
        return _load_hf_tagger(name, device, allow_download)
    kind = config.get("kind")
    if not isinstance(kind, str) or kind not in _MODEL_SETTINGS:
        raise InputError(
            f"{path}: Expected `kind` to be one of {', '.join(_MODEL_SETTINGS)} but got {reprlib.repr(kind)}."
        )
    check_config(config, path, {"kind", *_MODEL_SETTINGS[kind]}, files=None if kind == "rules" else (WEIGHTS_FILE,))
    if kind == "rules":
        return RuleTagger()
    with config_errors(path):
        model = _build_model(config, allow_download)
    weights = folder / WEIGHTS_FILE
    state = load_tensors(weights)
    with config_errors(weights):
        load_into(model, state, model.trainable_names())
    return NeuralTagger(model.to(resolve_device(device)), load_tokenizer(model.backbone.name))


def _load_hf_tagger(name: str | Path, device: str, allow_download: bool) -> Tagger:
    from radreward.systems.ratescore.taggers.hf_tagger import HFTagger  # imports transformers

    tagger = HFTagger.from_pretrained(name, allow_download)
    tagger.model.to(resolve_device(device))
    return tagger


def _build_model(config: dict[str, Any], allow_download: bool) -> TaggerModel:
    backbone = Backbone.from_dict(config, allow_download)
    if config["kind"] == "iob":
        return IOBTagger(backbone)
    sizes = {name: config[name] for name in ("hidden_size", "width_embedding_dim")}
    check_settings(SpanTagger, sizes)
    return SpanTagger(backbone, **sizes)
