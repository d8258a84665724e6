"""Tokenizer of the embedded backbone without transformers, whose import takes longer than scoring a small file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from radreward.io.artifacts import read_json_object


class EmbeddedTokenizer:
    """Tokenizer of a BERT encoder, with the names and results of transformers, as far as encoders need them.

    Args:
        folder: Folder with tokenizer.json and tokenizer_config.json.
    """

    is_fast = True
    bos_token_id = eos_token_id = None

    def __init__(self, folder: str | Path) -> None:
        self.name_or_path = str(folder)
        self.backend_tokenizer = Tokenizer.from_file(str(Path(folder, "tokenizer.json")))
        self.backend_tokenizer.no_padding()
        self.backend_tokenizer.no_truncation()
        config = read_json_object(Path(folder, "tokenizer_config.json"))
        self.model_max_length = int(config["model_max_length"])
        names = (f"{role}_token" for role in ("cls", "sep", "pad", "unk", "mask"))
        self.all_special_ids = [self.backend_tokenizer.token_to_id(config[name]) for name in names]
        self.cls_token_id, self.sep_token_id, self.pad_token_id = self.all_special_ids[:3]

    def __call__(
        self,
        text: str | Sequence[str],
        *,
        add_special_tokens: bool = True,
        split_special_tokens: bool = False,
        return_offsets_mapping: bool = False,
        truncation: bool = False,
        max_length: int | None = None,
        verbose: bool = True,
    ) -> dict[str, Any]:
        """Return `input_ids` and, if requested, `offset_mapping` of a text, or a list of these for several texts.

        Args:
            text: One text or several.
            add_special_tokens: Start with cls, end with sep.
            split_special_tokens: Read "[SEP]" in a text as ordinary characters.
            return_offsets_mapping: Return start and end of each token; (0, 0) for special tokens.
            truncation: Truncate to `max_length` tokens, special tokens included.
            max_length: See `truncation`.
            verbose: Accepted for transformers, which warns of long texts.
        """
        texts = [text] if isinstance(text, str) else list(text)
        self.backend_tokenizer.encode_special_tokens = split_special_tokens
        columns: dict[str, list[Any]] = {"input_ids": []}
        if return_offsets_mapping:
            columns["offset_mapping"] = []
        for encoding in self.backend_tokenizer.encode_batch(texts, add_special_tokens=add_special_tokens):
            size = len(encoding)
            first, rest = size, size  # tokens [0, first) and [rest, size) remain
            if truncation and max_length is not None and size > max_length:
                rest = size - add_special_tokens  # the last special token remains
                first = max_length - (size - rest)
            # Each attribute of an encoding is a new list of all its tokens.
            for name, column in columns.items():
                values = encoding.ids if name == "input_ids" else encoding.offsets
                column.append(values[:first] + values[rest:])
        return {name: rows[0] if isinstance(text, str) else rows for name, rows in columns.items()}

    def encode(self, text: str, **options: Any) -> list[int]:
        """Return the token ids of a text; options as for a call."""
        ids: list[int] = self(text, **options)["input_ids"]
        return ids

    def get_special_tokens_mask(self, token_ids: Sequence[int], already_has_special_tokens: bool = True) -> list[int]:
        """Return 1 for special tokens, 0 for others."""
        return [int(token in self.all_special_ids) for token in token_ids]
