"""A model that judges in text, with all that its answers depend on, as a folder: JSON, safetensors, tokenizer."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from radreward._lazy_imports import import_object
from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.collators.reward import PromptTooLongError
from radreward.errors import InputError
from radreward.io.atomic import atomic_folder
from radreward.models.attention import check_length
from radreward.models.backbone import Backbone
from radreward.models.lora import LoRA
from radreward.models.transformers_engine import TransformersEngine
from radreward.prompts.generative_template import GenerativeTemplate

FORMAT = 1
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer"
TEMPLATES = {
    "green.json": "radreward.systems.green.prompt.GreenTemplate",
    "radreason.json": "radreward.systems.radreason.prompt.RadReasonTemplate",
}
"""The file of settings by which a folder is known, and the layout of its answers."""
_BACKBONE_FIELDS = ("name", "quantization", "dtype", "attention")
_CONFIG_FIELDS = {
    "format",
    "backbone",
    "lora",
    "trained",
    "template",
    "criteria",
    "max_length",
    "max_answer",
    "chat",
    "training",
}


class GenerativeEvaluator:
    """A model that judges in text.

    Args:
        backbone: What it is made of.
        model: Its language model, adapters in place.
        questions: How it is asked, by which criteria, and how long.
        training: What is told of its training; nothing depends on it.

    Raises:
        InputError: If the model has no positions for the longest prompt and answer.
    """

    def __init__(
        self,
        backbone: Backbone,
        model: nn.Module,
        prompt_encoder: ChatPromptEncoder,
        training_info: Mapping[str, Any] | None = None,
    ) -> None:
        self.backbone, self.model, self.prompt_encoder = backbone, model, prompt_encoder
        self.training_info = dict(training_info or {})
        config: Any = model.config
        check_length(config, prompt_encoder.max_length + prompt_encoder.max_answer_length)

    @property
    def template(self) -> GenerativeTemplate:
        """How it is asked and answers."""
        return require_generative_template(self.prompt_encoder)

    def generate(
        self, references: Sequence[str], candidates: Sequence[str], truncate: bool = False, batch_size: int = 64
    ) -> list[GeneratedAnswer]:
        """Its likeliest answer for each pair of reports, in their order; equal pairs are answered once.

        Args:
            references: Texts.
            candidates: As many.
            cut: Whether both reports of a prompt that is too long are cut; otherwise it gets no answer.
            batch_size: Most answers that are decoded together.
        """
        pairs = list(dict.fromkeys(zip(references, candidates, strict=True)))
        found: dict[tuple[str, str], GeneratedAnswer] = {}
        prompts, asked = [], []
        for pair in pairs:
            try:
                prompt, was_cut = self.prompt_encoder.encode(*pair, truncate)
            except PromptTooLongError as error:
                found[pair] = GeneratedAnswer(None, "", str(error), False)
                continue
            prompts.append(prompt)
            asked.append((pair, was_cut))
        engine = TransformersEngine(self.model, self.prompt_encoder.tokenizer, batch_size)
        end = self.template.stop_string(self.prompt_encoder.criteria)
        made = engine.greedy(prompts, self.prompt_encoder.max_answer_length, (end,) if end else ())
        for (pair, was_cut), completion in zip(asked, made, strict=True):
            found[pair] = GeneratedAnswer(completion.text, completion.finish_reason, None, was_cut)
        return [found[pair] for pair in zip(references, candidates, strict=True)]

    def trained_state(self) -> dict[str, Tensor]:
        """What training changed, by name; nothing where all is frozen."""
        return {
            name: value.detach().cpu().contiguous()
            for name, value in self.model.named_parameters()
            if value.requires_grad
        }

    def fingerprint(self) -> str:
        """Changes with anything that answers depend on; of a backbone that was not trained its name is told."""
        settings = {**self._config(True), "training": None}
        digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        for name, value in sorted(self.trained_state().items()):
            digest.update(name.encode() + value.view(torch.uint8).numpy().tobytes())
        return digest.hexdigest()

    def save(self, folder: str | Path, as_float16: bool = False) -> None:
        """Write it; the folder appears whole or not at all.

        Args:
            folder: Where to; an older one there is replaced.
            half: Hold the weights as float16.

        Raises:
            InputError: If the folder holds something else, the layout is not one of ours, or a weight is not finite.
        """
        folder = Path(folder)
        kind = type(self.template)
        name = next((name for name, path in TEMPLATES.items() if path == f"{kind.__module__}.{kind.__name__}"), None)
        if name is None:
            expected = ", ".join(path.rpartition(".")[2] for path in TEMPLATES.values())
            raise InputError(f"{folder}: Expected a template of {expected} but got {type(self.template).__name__}.")
        state = {key: value.half() if as_float16 else value for key, value in self.trained_state().items()}
        if broken := next((key for key, value in state.items() if not torch.isfinite(value).all()), None):
            raise InputError(f"{folder}: Expected {broken!r} to hold finite numbers only, as {state[broken].dtype}.")
        with atomic_folder(folder, TEMPLATES, "a model that explains") as new:
            save_file(state, new / WEIGHTS)
            self.prompt_encoder.tokenizer.save_pretrained(new / TOKENIZER)
            text = json.dumps(self._config(bool(state)), indent=2)
            (new / name).write_text(text + "\n", encoding="utf-8")

    def _config(self, trained: bool) -> dict[str, Any]:
        lora, questions = self.backbone.lora, self.prompt_encoder
        return {
            "format": FORMAT,
            "backbone": {key: getattr(self.backbone, key) for key in _BACKBONE_FIELDS},
            "lora": lora and {key: getattr(lora, key) for key in ("r", "alpha", "targets")},
            "trained": trained,
            "template": self.template.to_dict(),
            "criteria": questions.criteria.to_dict(),
            "max_length": questions.max_length,
            "max_answer": questions.max_answer_length,
            "chat": questions.chat_template,
            "training": self.training_info,
        }


class GeneratedAnswer(NamedTuple):
    """What was answered about two reports."""

    text: str | None
    """None where nothing could be asked."""
    finish_reason: str
    """As of `Completion`."""
    skip_reason: str | None
    """Why nothing could be asked."""
    truncated: bool
    """Whether the reports were cut to fit."""


def require_generative_template(prompt_encoder: ChatPromptEncoder) -> GenerativeTemplate:
    """The layout of questions that have answers."""
    template = prompt_encoder.template
    if not isinstance(template, GenerativeTemplate):
        raise TypeError(f"Expected an GenerativeTemplate but got {type(template).__name__}.")
    return template


def load_generative_evaluator(
    folder: str | Path, device: str = "cpu", allow_download: bool = False
) -> GenerativeEvaluator:
    """Read what `GenerativeEvaluator.save` wrote. Nothing in the folder is executed.

    Args:
        folder: Where it is.
        device: Where it shall run.
        download: Whether a backbone that is not on this machine may be fetched from the hub; the folder names it.

    Raises:
        InputError: If a file is missing or broken, or a field is not what it should be; names file and field.
    """
    folder = Path(folder)
    path = next((folder / name for name in TEMPLATES if (folder / name).is_file()), None)
    if path is None:
        raise InputError(f"{folder}: Expected a folder with {' or '.join(TEMPLATES)}.")
    config = _read(path)
    try:
        lora = config["lora"] and LoRA(**config["lora"])
        backbone = Backbone(lora=lora, local_files_only=not allow_download, **config["backbone"])
        template = import_object(TEMPLATES[path.name])(**config["template"])
        limits = {key: config[key] for key in ("max_length", "max_answer", "chat")}
        questions = ChatPromptEncoder(
            str(folder / TOKENIZER), Criteria.from_dict(config["criteria"]), template, **limits
        )
        model = backbone.build(causal_lm=True)
        if not config["trained"]:
            model.requires_grad_(False)
        _load_weights(model, folder / WEIGHTS)
        return GenerativeEvaluator(backbone, model.to(device).eval(), questions, config["training"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise InputError(f"{path}: a field is wrong ({error}).") from error


def _read(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON ({error}).") from error
    if not isinstance(config, dict) or config.get("format") != FORMAT:
        raise InputError(f"{path}: Expected `format` to be {FORMAT}.")
    if wrong := sorted(set(config) ^ _CONFIG_FIELDS):
        raise InputError(f"{path}: the field {wrong[0]!r} is missing or unknown.")
    return config


def _load_weights(model: nn.Module, path: Path) -> None:
    """Give a model the weights of a file, which must be those that it trains.

    Raises:
        InputError: If they are not, or one is of another shape or not finite.
    """
    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path.name}: cannot be read ({error}).") from error
    own = {name: value for name, value in model.named_parameters() if value.requires_grad}
    if different := sorted(set(own) ^ set(state)):
        raise InputError(f"{path.name}: {different[0]!r} is missing or unknown.")
    with torch.no_grad():
        for name, value in state.items():
            if own[name].shape != value.shape:
                shapes = f"{tuple(value.shape)}, not {tuple(own[name].shape)}"
                raise InputError(f"{path.name}: {name!r} has the shape {shapes}.")
            if not torch.isfinite(value).all():
                raise InputError(f"{path.name}: Expected {name!r} to hold finite numbers only.")
            own[name].copy_(value)
