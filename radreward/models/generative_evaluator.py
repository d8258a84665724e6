"""Generative evaluator: a language model with its prompt settings, saved as JSON, safetensors and tokenizer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from radreward._lazy_imports import import_object
from radreward.criteria import Criteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.prompt_encoder import PromptTooLongError
from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.io.artifacts import fingerprint, load_into, load_tensors, save_tensors
from radreward.io.atomic import atomic_folder
from radreward.io.model_card import write_model_settings
from radreward.io.model_config import check_settings, config_errors, read_config
from radreward.models.backbone import Backbone
from radreward.models.transformers_attention import check_length
from radreward.models.transformers_engine import TransformersEngine
from radreward.prompts.generative_template import GenerativeTemplate

WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer"
_TEMPLATE_CLASSES = {
    "green.json": "radreward.systems.green.prompt.GreenTemplate",
    "radreason.json": "radreward.systems.radreason.prompt.RadReasonTemplate",
}
"""Settings file that identifies a folder, and import path of its template; no other code is loaded for a folder."""
_ENCODER_FIELDS = ("max_length", "max_answer_length", "chat_template")
_CONFIG_FIELDS = ("backbone", "lora", "has_weights", "template", "criteria", *_ENCODER_FIELDS, "training_info")


class GenerativeEvaluator:
    """A language model that answers prompts about pairs of reports.

    Args:
        backbone: The backbone.
        model: Its causal language model, with adapters.
        prompt_encoder: Template, criteria and length limits of the prompts.
        training_info: Training metadata, stored for information only.

    Raises:
        InputError: If the model has too few positions for the longest prompt and answer.
    """

    def __init__(
        self,
        backbone: Backbone,
        model: nn.Module,
        prompt_encoder: ChatPromptEncoder,
        training_info: Mapping[str, Any] | None = None,
    ) -> None:
        self.backbone = backbone
        self.model = model
        self.prompt_encoder = prompt_encoder
        self.training_info = dict(training_info or {})
        config: Any = model.config
        check_length(config, prompt_encoder.max_length + prompt_encoder.max_answer_length)

    @property
    def template(self) -> GenerativeTemplate:
        """Template of prompts and answers."""
        return self.prompt_encoder.template

    def generate(
        self, references: Sequence[str], candidates: Sequence[str], truncate: bool = False, batch_size: int = 64
    ) -> list[GeneratedAnswer]:
        """Return the greedy answer for each pair of reports, in order; equal pairs are answered once.

        Args:
            references: Texts.
            candidates: As many texts.
            truncate: Truncate both reports of a prompt that is too long; by default it gets no answer.
            batch_size: Maximum number of answers that are decoded together.
        """
        answers: dict[tuple[str, str], GeneratedAnswer] = {}
        prompts = []
        pending = []
        for pair in dict.fromkeys(zip(references, candidates, strict=True)):
            try:
                prompt, truncated = self.prompt_encoder.encode(*pair, truncate)
            except PromptTooLongError as error:
                answers[pair] = GeneratedAnswer(None, "", str(error), False)
                continue
            prompts.append(prompt.segments)
            pending.append((pair, truncated))
        engine = TransformersEngine(self.model, self.prompt_encoder.tokenizer, batch_size)
        completions = engine.greedy(prompts, self.prompt_encoder.max_answer_length, self.prompt_encoder.stop_strings)
        for (pair, truncated), completion in zip(pending, completions, strict=True):
            answers[pair] = GeneratedAnswer(completion.text, completion.finish_reason, None, truncated)
        return [answers[pair] for pair in zip(references, candidates, strict=True)]

    def trained_state(self) -> dict[str, Tensor]:
        """Return the trainable weights by name; none if all are frozen."""
        return {
            name: value.detach().cpu().contiguous()
            for name, value in self.model.named_parameters()
            if value.requires_grad
        }

    def fingerprint(self) -> str:
        """Return a hash of everything that answers depend on; a frozen backbone is identified by name."""
        return fingerprint({**self._config(True), "training_info": None}, self.trained_state())

    def save(self, folder: str | Path, as_float16: bool = False) -> None:
        """Save atomically: the folder is complete or absent.

        Args:
            folder: The folder; an existing evaluator in it is replaced.
            as_float16: Save the weights as float16.

        Raises:
            InputError: If the folder holds something else, the template is unknown, or a weight is not finite.
        """
        name = settings_file_of(self.template)
        state = self.trained_state()
        with atomic_folder(folder, _TEMPLATE_CLASSES, "a generative evaluator") as scratch:
            save_tensors(scratch / WEIGHTS, state, torch.float16 if as_float16 else None)
            self.prompt_encoder.tokenizer.save_pretrained(scratch / TOKENIZER, save_jinja_files=False)
            write_model_settings(scratch / name, self._config(bool(state)), (WEIGHTS, TOKENIZER))

    def _config(self, has_weights: bool) -> dict[str, Any]:
        return {
            **self.backbone.to_dict(),
            "has_weights": has_weights,
            "template": self.template.to_dict(),
            "criteria": self.prompt_encoder.criteria.to_dict(),
            **{key: getattr(self.prompt_encoder, key) for key in _ENCODER_FIELDS},
            "training_info": self.training_info,
        }


class GeneratedAnswer(NamedTuple):
    """Answer about a pair of reports."""

    text: str | None
    """None if the prompt was skipped."""
    finish_reason: str
    """See `Completion`."""
    skip_reason: str | None
    """Reason why the prompt was skipped."""
    truncated: bool
    """True if the reports were truncated."""


def settings_file_of(template: GenerativeTemplate) -> str:
    """Return the name of the settings file of an evaluator with this template.

    Raises:
        InputError: If a template of this class cannot be saved.
    """
    path = f"{type(template).__module__}.{type(template).__name__}"
    names = [name for name, known in _TEMPLATE_CLASSES.items() if known == path]
    if not names:
        expected = " or ".join(known.rpartition(".")[2] for known in _TEMPLATE_CLASSES.values())
        raise InputError(
            f"template: Expected {expected} but got {type(template).__name__}: a saved model stores the name of its "
            "template."
        )
    return names[0]


def find_evaluator_settings(folder: str | Path) -> Path | None:
    """Return the settings file of a saved evaluator, or None if the folder holds none."""
    return next((Path(folder, name) for name in _TEMPLATE_CLASSES if Path(folder, name).is_file()), None)


def load_generative_evaluator(
    folder: str | Path, device: str = "auto", allow_download: bool = False
) -> GenerativeEvaluator:
    """Load what `GenerativeEvaluator.save` wrote. Nothing in the folder is executed.

    Args:
        folder: Folder of the evaluator.
        device: Device of the model, see `radreward.devices.resolve_device`.
        allow_download: Allow the download of the backbone, which the folder names, from the Hub.

    Raises:
        InputError: If a file is missing or damaged, or a field is wrong. The message names the file and the field.
    """
    folder = Path(folder)
    path, weights = find_evaluator_settings(folder), folder / WEIGHTS
    if path is None:
        raise InputError(f"{folder}: Expected a folder with {' or '.join(_TEMPLATE_CLASSES)}.")
    config = read_config(path, _CONFIG_FIELDS, files=(WEIGHTS, TOKENIZER))
    with config_errors(path):
        backbone = Backbone.from_dict(config, allow_download)
        template_class = import_object(_TEMPLATE_CLASSES[path.name])
        check_settings(template_class, config["template"], "template")
        template = template_class(**config["template"])
        criteria = Criteria.from_dict(config["criteria"])
        settings = {key: config[key] for key in _ENCODER_FIELDS}
        check_settings(ChatPromptEncoder, settings)
        encoder = ChatPromptEncoder(str(folder / TOKENIZER), criteria, template, **settings)
        model = backbone.build(causal_lm=True)
        if type(config["has_weights"]) is not bool:
            raise InputError(f"Expected `has_weights` to be true or false but got {config['has_weights']!r}.")
        if not config["has_weights"]:
            model.requires_grad_(False)
        evaluator = GenerativeEvaluator(
            backbone, model.to(resolve_device(device)).eval(), encoder, config["training_info"]
        )
    state = load_tensors(weights)
    with config_errors(weights):
        load_into(model, state, [name for name, value in model.named_parameters() if value.requires_grad])
    return evaluator
