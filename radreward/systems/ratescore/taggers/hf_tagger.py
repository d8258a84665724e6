"""Token-classification models of transformers as taggers, such as Angelakeke/RaTE-NER-Deberta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForTokenClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from radreward.data.iob import spans_from_iob, split_iob_tag
from radreward.errors import InputError
from radreward.io.atomic import atomic_folder
from radreward.io.hub import LOADING_ERRORS, hub_error_reason, pretrained_options
from radreward.models.sentence_tokenizer import TokenBatch, TokenizedChunk
from radreward.systems.ratescore.taggers.base import CONFIG_FILE
from radreward.systems.ratescore.taggers.deberta import limit_relative_positions
from radreward.systems.ratescore.taggers.neural import BatchTagger, EntityDecoder, TokenSpan


class HFTokenClassifier(EntityDecoder):
    """Decodes IOB tags token by token, as the reference implementation does.

    An I tag without an open entity is ignored, as in the reference implementation. An entity that ends with the
    sentence is kept, but not in the reference implementation.

    Args:
        model: Model with tags O, B-TYPE and I-TYPE in `id2label`; types in any letter case.
        source: Name or folder of the model, for messages.

    Raises:
        InputError: If the model has no tags or an unknown tag. The message names the field.
    """

    def __init__(self, model: PreTrainedModel, source: str) -> None:
        super().__init__()
        self.tags = _validate_tags(model.config.id2label, source)
        limit_relative_positions(model)
        self.model = model
        self.config = model.config

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """Return the entities of each chunk, in order, without overlap."""
        best = self.model(**batch._asdict()).logits.argmax(-1).tolist()
        return [
            _token_spans(chunk, [self.tags[tag] for tag in row[: len(chunk.input_ids)]])
            for chunk, row in zip(chunks, best, strict=True)
        ]

    def settings(self) -> dict[str, Any]:
        """Return kind and tags."""
        return {"kind": "pretrained", "tags": self.tags}


class HFTagger(BatchTagger[HFTokenClassifier]):
    """A tagger from a token-classification model of transformers. `source` is its name in messages."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str = "model") -> None:
        super().__init__(HFTokenClassifier(model, source), tokenizer)

    @classmethod
    def from_pretrained(cls, name: str | Path, allow_download: bool = False) -> HFTagger:
        """Load a model by folder or Hub name. Nothing in the folder is executed.

        Raises:
            InputError: If the model cannot be loaded, or its tags are unknown.
        """
        try:
            model = AutoModelForTokenClassification.from_pretrained(
                str(name), **pretrained_options(name, not allow_download)
            )
            tokenizer = AutoTokenizer.from_pretrained(
                str(name), trust_remote_code=False, local_files_only=not allow_download
            )
        except LOADING_ERRORS as error:
            reason = hub_error_reason(error)
            raise InputError(f"{name}: cannot be loaded as a token-classification model ({reason}).") from error
        return cls(model, tokenizer, str(name))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write model and tokenizer in the format of transformers, as safetensors."""
        tokenizer: Any = self.sentence_tokenizer.tokenizer
        with atomic_folder(folder, {CONFIG_FILE}, "a tagger") as scratch:
            self.model.model.save_pretrained(scratch, safe_serialization=True)
            tokenizer.save_pretrained(scratch)


def _validate_tags(labels: Mapping[Any, str] | None, source: str) -> list[str]:
    """Return the tags in the order of the model's outputs."""
    field = f"{source}: field 'id2label'"
    tags = [labels[number] for number in sorted(labels)] if labels else []
    if not tags or all(tag.startswith("LABEL_") for tag in tags):
        raise InputError(f"{field}: Expected the names of tags but got none. Choose a model that tags entities.")
    for tag in tags:
        try:
            split_iob_tag(tag)
        except ValueError as error:
            raise InputError(f"{field}: {error}.") from error
    if all(tag == "O" for tag in tags):
        raise InputError(f"{field}: Expected tags B-TYPE and I-TYPE but got {tags}.")
    return tags


def _token_spans(chunk: TokenizedChunk, tags: Sequence[str]) -> list[TokenSpan]:
    """Return the entities of token tags. Tokens without characters are ignored."""
    tokens = [token for token, (start, end) in enumerate(chunk.offsets) if start < end]
    spans = spans_from_iob([tags[token] for token in tokens], stray_starts_entity=False)
    return [(tokens[first], tokens[stop - 1] + 1, kind) for first, stop, kind in spans]
