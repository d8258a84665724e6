"""Maximum path length of backbones."""

import pytest
from transformers import BertConfig, GPT2Config, LlamaConfig, PreTrainedConfig, RobertaConfig

from radreward.errors import InputError
from radreward.models.attention import check_length


@pytest.mark.parametrize(
    ("config", "positions"),
    [
        (BertConfig(max_position_embeddings=512), 512),
        (RobertaConfig(max_position_embeddings=514, pad_token_id=1), 512),  # its positions begin at 2
        (GPT2Config(n_positions=1024), 1024),
        (LlamaConfig(max_position_embeddings=2048), 2048),
    ],
)
def test_check_length_accepts_exactly_the_positions(config: PreTrainedConfig, positions: int) -> None:
    check_length(config, positions)
    with pytest.raises(InputError, match=f"to be at most {positions}, the positions of this {config.model_type}"):
        check_length(config, positions + 1)
