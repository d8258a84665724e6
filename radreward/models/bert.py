"""BERT in plain PyTorch, so that scoring with the embedded backbone does not import transformers (3 s of CPU time)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from radreward.errors import InputError
from radreward.io.artifacts import load_tensors, read_json_object
from radreward.models.node_attention import NodeLayout, attention, node_attention

if TYPE_CHECKING:
    from transformers import PreTrainedConfig

BackboneConfig: TypeAlias = "PreTrainedConfig | BertSizes"
"""Architecture of a backbone, without weights."""


@dataclass(frozen=True, slots=True)
class BertSizes:
    """Sizes of a BERT encoder, under the names of transformers."""

    model_type: ClassVar = "bert"
    vocab_size: int
    hidden_size: int
    num_hidden_layers: int
    num_attention_heads: int
    intermediate_size: int
    max_position_embeddings: int
    type_vocab_size: int
    layer_norm_eps: float
    pad_token_id: int

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Return the sizes in a folder's config.json.

        Raises:
            InputError: If the file is not that of a BERT encoder with GELU and learned absolute positions.
        """
        path = Path(folder, "config.json")
        values = read_json_object(path)
        expected = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
        for name, value in expected.items():
            if values.get(name, value) != value:
                raise InputError(f"{path}: Expected `{name}` to be {value!r} but got {values[name]!r}.")
        if missing := [field.name for field in fields(cls) if field.name not in values]:
            raise InputError(f"{path}: Expected the field `{missing[0]}`.")
        return cls(**{field.name: values[field.name] for field in fields(cls)})


class BertOutput(NamedTuple):
    """Hidden states of B sequences of L tokens."""

    last_hidden_state: Tensor
    """(B, L, H)."""
    hidden_states: tuple[Tensor, ...] | None
    """The embeddings and the output of each layer, (B, L, H) each, if requested."""


class BertEncoder(nn.Module):
    """BERT without pooler and dropout (Devlin et al. 2019); its weights have the names of transformers' `BertModel`.

    Args:
        config: Sizes of the encoder.

    >>> encoder = BertEncoder(BertSizes(9, 8, 2, 2, 16, 4, 2, 1e-12, 0))
    >>> encoder(torch.tensor([[1, 2, 3]])).last_hidden_state.shape
    torch.Size([1, 3, 8])
    """

    def __init__(self, config: BertSizes) -> None:
        super().__init__()
        self.config = config
        size = config.hidden_size
        self.embeddings = nn.ModuleDict(
            {
                "word_embeddings": _embedding(config.vocab_size, size, config.pad_token_id),
                "position_embeddings": _embedding(config.max_position_embeddings, size),
                "token_type_embeddings": _embedding(config.type_vocab_size, size),
                "LayerNorm": nn.LayerNorm(size, config.layer_norm_eps),
            }
        )
        layers = nn.ModuleList(_BertLayer(config) for _ in range(config.num_hidden_layers))
        self.encoder = nn.ModuleDict({"layer": layers})

    @classmethod
    def load(cls, folder: str | Path, dtype: torch.dtype = torch.float32) -> Self:
        """Return the encoder in a folder with config.json and model.safetensors.

        Raises:
            InputError: If a file or a weight is missing or wrong.
        """
        with torch.device("meta"):  # weights are read, not initialized
            encoder = cls(BertSizes.load(folder))
        path = Path(folder, "model.safetensors")
        weights = {name.removeprefix("bert."): value.to(dtype) for name, value in load_tensors(path).items()}
        unused = {"embeddings.position_ids"} | {name for name in weights if name.startswith(("pooler.", "cls."))}
        try:
            encoder.load_state_dict({k: v for k, v in weights.items() if k not in unused}, assign=True)
        except RuntimeError as error:
            raise InputError(
                f"{path}: Expected the weights of a BERT encoder. {' '.join(str(error).split())}"
            ) from error
        return encoder

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        node_layout: NodeLayout | None = None,
        output_hidden_states: bool = False,
    ) -> BertOutput:
        """Return the hidden states.

        Args:
            input_ids: (B, L).
            attention_mask: (B, L), 0 at padding; by default there is none.
            position_ids: (B, L); by default 0, 1, …
            node_layout: Nodes of one row, see `node_attention`; replaces `attention_mask`.
            output_hidden_states: Return the states of all layers.
        """
        embeddings: Any = self.embeddings
        if position_ids is None:
            position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)
        types = torch.zeros_like(position_ids)
        states = embeddings.word_embeddings(input_ids) + embeddings.token_type_embeddings(types)
        states = embeddings.LayerNorm(states + embeddings.position_embeddings(position_ids))
        mask = None
        if node_layout is None and attention_mask is not None and not attention_mask.all():
            mask = states.new_zeros(attention_mask.shape).masked_fill_(attention_mask == 0, -torch.inf)[:, None, None]
        layers: Any = self.encoder["layer"]
        all_states = [states]
        for layer in layers:
            states = layer(states, mask, node_layout)
            if output_hidden_states:
                all_states.append(states)
        return BertOutput(states, tuple(all_states) if output_hidden_states else None)


class _BertLayer(nn.Module):
    """Self-attention and feed-forward network, each added to its input and normalized."""

    def __init__(self, config: BertSizes) -> None:
        super().__init__()
        size, inner = config.hidden_size, config.intermediate_size
        self.num_heads = config.num_attention_heads

        def residual(inputs: int) -> nn.ModuleDict:
            return nn.ModuleDict(
                {"dense": nn.Linear(inputs, size), "LayerNorm": nn.LayerNorm(size, config.layer_norm_eps)}
            )

        projections = nn.ModuleDict({name: nn.Linear(size, size) for name in ("query", "key", "value")})
        self.attention = nn.ModuleDict({"self": projections, "output": residual(size)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(size, inner)})
        self.output = residual(inner)

    def forward(self, states: Tensor, mask: Tensor | None, layout: NodeLayout | None) -> Tensor:
        """Map (B, L, H) states to (B, L, H) states; see `BertEncoder.forward`."""
        attention_part: Any = self.attention
        projections, attended_output, output = attention_part["self"], attention_part["output"], self.output
        heads = (*states.shape[:2], self.num_heads, -1)
        query, key, value = (
            projections[name](states).view(heads).transpose(1, 2) for name in ("query", "key", "value")
        )
        if layout is None:
            attended = attention(query, key, value, mask).transpose(1, 2)
        else:
            attended = node_attention(query, key, value, layout)
        states = attended_output["LayerNorm"](attended_output["dense"](attended.flatten(2)) + states)
        inner = F.gelu(self.intermediate["dense"](states))
        result: Tensor = output["LayerNorm"](output["dense"](inner) + states)
        return result


def _embedding(rows: int, size: int, padding: int | None = None) -> nn.Embedding:
    # The constructor's random numbers would import torch's compiler on the device "meta".
    return nn.Embedding(rows, size, padding, _weight=torch.zeros(rows, size))
