"""Model folder of a relation judge: JSON settings and trained weights as safetensors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from torch import Tensor

from radreward.data.tokenizer import load_tokenizer
from radreward.devices import resolve_device
from radreward.io.artifacts import fingerprint, load_into, load_tensors, save_tensors
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import DIGESTS, check_settings, config_errors, read_config
from radreward.models.backbone import Backbone
from radreward.models.lora import LoRA, merge_lora
from radreward.models.precision import Precision, check_precision
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

CONFIG, WEIGHTS = "judge.json", "model.safetensors"
EMBEDDED_DIR = Path(__file__).with_name("embedded") / "judge"
"""Folder of the judge of the package."""
_CONFIG_FIELDS = {"backbone", "lora", "projection_size", "comparison_size", "training_info"}


class RelationArtifact(NamedTuple):
    """A relation model with the content of its folder."""

    predictor: RelationPredictor
    config: Mapping[str, Any]
    state: Mapping[str, Tensor]
    """Trained weights by name. Adapters are not merged."""
    precision: Precision = "fp32"
    """Precision in which the encoder of the predictor computes."""

    def fingerprint(self) -> str:
        """Return a hash of settings, weights and precision."""
        return fingerprint({**self.config, "training_info": None, DIGESTS: None}, self.state, self.precision)


def make_relation_artifact(
    predictor: RelationPredictor, training_info: Mapping[str, Any] | None = None, as_float16: bool = False
) -> RelationArtifact:
    """Return the content of the folder of a trained model, with its adapters and information about its training."""
    model = predictor.model
    names = model.trainable_names()
    state = {key: value.detach().cpu().contiguous() for key, value in model.state_dict().items() if key in names}
    sizes = {"projection_size": model.projection_size, "comparison_size": model.comparison_size}
    config = {**model.backbone.to_dict(), **sizes, "training_info": dict(training_info or {})}
    return RelationArtifact(predictor, config, {k: v.half() for k, v in state.items()} if as_float16 else state)


def save_relation_artifact(artifact: RelationArtifact, folder: str | Path) -> None:
    """Save atomically: the folder is complete or absent. The backbone is stored by its name.

    Raises:
        InputError: If the folder holds something else, or a weight is not finite.
    """
    with atomic_folder(folder, {CONFIG}, "a judge") as new:
        save_tensors(new / WEIGHTS, artifact.state)
        write_model_settings(new / CONFIG, artifact.config, (WEIGHTS,))


def load_relation_artifact(
    folder: str | Path = EMBEDDED_DIR,
    device: str = "auto",
    allow_download: bool = False,
    precision: Precision = "fp32",
) -> RelationArtifact:
    """Load a model folder, by default the judge of the package. Adapters are merged if this needs no peft.

    Raises:
        InputError: If a file is missing or damaged, a field is invalid, or the device does not compute fast in bf16.
    """
    torch_device = resolve_device(device)
    check_precision(precision, torch_device)
    path = Path(folder, CONFIG)
    config = read_config(path, _CONFIG_FIELDS, files=(WEIGHTS,))
    with config_errors(path):
        backbone = Backbone.from_dict(config, allow_download)
        lora = backbone.lora
        merge = lora is not None and lora.targets != "all-linear"
        backbone.lora = None if merge else lora
        sizes = {name: config[name] for name in ("projection_size", "comparison_size")}
        check_settings(RelationModel, sizes)
        model = RelationModel(backbone, **sizes)
        state = load_tensors(Path(folder, WEIGHTS))
        _load_weights(model, state, lora if merge else None)
        backbone.lora = lora
        tokenizer = load_tokenizer(backbone.name)
    model = model.to(torch_device).eval().requires_grad_(False)
    if precision == "bf16":
        model.in_bfloat16()
    return RelationArtifact(RelationPredictor(model, tokenizer), config, state, precision)


def _load_weights(model: RelationModel, state: Mapping[str, Tensor], lora: LoRA | None) -> None:
    """Load trained weights. With `lora`, merge the adapters into the weights that they adapt."""
    if lora is None:
        load_into(model, state, model.trainable_names())
        return
    layers = lora.target_layers(model.encoder, model.config.model_type)
    if layers is None:
        raise ValueError(f"no layers of this backbone are called {lora.targets}")
    other_weights = merge_lora(layers, lora, state)
    load_into(model, other_weights, [name for name in model.state_dict() if not name.startswith("encoder.")])
