"""Token-classification models of transformers as taggers, such as Angelakeke/RaTE-NER-Deberta."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from transformers import AutoModelForTokenClassification, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from radreward.data.entity_io import spans_from_iob, split_iob_tag
from radreward.errors import InputError
from radreward.models.sentence_tokenizer import TokenBatch, TokenizedChunk
from radreward.systems.ratescore.taggers.folder import atomic_tagger_folder
from radreward.systems.ratescore.taggers.neural import BatchTagger, EntityDecoder, TokenSpan


class HFTokenClassifier(EntityDecoder):
    """Decodes the tags of a model of transformers, token by token, as its authors do.

    An I where nothing is open belongs to no entity, as in RaTEScore's own decoding; unlike there, an entity that ends
    with the sentence is kept.

    Args:
        model: With tags O, B-TYPE and I-TYPE in `id2label`; types in any case.
        source: Where it comes from, for messages.

    Raises:
        InputError: If it has no tags or one that is none of ours; names the field.
    """

    def __init__(self, model: PreTrainedModel, source: str) -> None:
        super().__init__()
        self.tags = _validate_tags(model.config.id2label, source)
        self.model = model
        self.config = model.config

    def decode(self, batch: TokenBatch, chunks: Sequence[TokenizedChunk]) -> list[list[TokenSpan]]:
        """The entities of each piece, in order, without overlap."""
        best = self.model(**batch._asdict()).logits.argmax(-1).tolist()
        return [
            _token_spans(piece, [self.tags[tag] for tag in row[: len(piece.input_ids)]])
            for piece, row in zip(chunks, best, strict=True)
        ]

    def settings(self) -> dict[str, Any]:
        """Its kind and tags."""
        return {"kind": "pretrained", "tags": self.tags}


class HFTagger(BatchTagger):
    """A tagger by a token-classification model of transformers.

    Args:
        model: The model.
        tokenizer: Its tokenizer.
        source: Where both come from, for messages.
    """

    model: HFTokenClassifier

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, source: str = "model") -> None:
        super().__init__(HFTokenClassifier(model, source), tokenizer)

    @classmethod
    def from_pretrained(cls, name: str | Path, allow_download: bool = False) -> HFTagger:
        """The model of a folder, or of a name on the hub. Nothing in the folder is executed.

        Args:
            name: Folder or name.
            download: Whether what is not on this machine may be fetched from the hub.

        Raises:
            InputError: If it cannot be loaded, or has no tags of ours.
        """
        options: dict[str, Any] = {"local_files_only": not allow_download, "trust_remote_code": False}
        try:
            model = AutoModelForTokenClassification.from_pretrained(str(name), use_safetensors=True, **options)
            tokenizer = AutoTokenizer.from_pretrained(str(name), **options)
        except (OSError, ValueError, ImportError) as error:
            reason = " ".join(str(error).split())[:300].rstrip(".")
            raise InputError(f"{name}: no token-classification model can be loaded from it ({reason}).") from error
        return cls(model, tokenizer, str(name))

    def save_pretrained(self, folder: str | Path) -> None:
        """Write model and tokenizer as transformers does, as safetensors."""
        with atomic_tagger_folder(folder) as new:
            self.model.model.save_pretrained(new, safe_serialization=True)
            self.sentence_tokenizer.tokenizer.save_pretrained(new)


def _validate_tags(labels: Mapping[Any, str] | None, source: str) -> list[str]:
    """The tags in the order of the model's outputs."""
    where = f"{source}: field 'id2label'"
    tags = [labels[number] for number in sorted(labels)] if labels else []
    if not tags or all(tag.startswith("LABEL_") for tag in tags):
        raise InputError(f"{where}: Expected the names of the tags but there are none: not a tagger.")
    for tag in tags:
        try:
            split_iob_tag(tag)
        except ValueError as error:
            raise InputError(f"{where}: {error}.") from error
    if all(tag == "O" for tag in tags):
        raise InputError(f"{where}: Expected tags B-TYPE and I-TYPE but got {tags}.")
    return tags


def _token_spans(chunk: TokenizedChunk, tags: Sequence[str]) -> list[TokenSpan]:
    """Entities of tokens' tags; tokens that stand for no characters are passed over."""
    real = [at for at, (start, end) in enumerate(chunk.offsets) if start < end]
    spans = spans_from_iob([tags[at] for at in real], stray_starts_entity=False)
    return [(real[first], real[behind - 1] + 1, kind) for first, behind, kind in spans]
