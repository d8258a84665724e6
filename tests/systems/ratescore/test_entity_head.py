from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_head import EMBEDDED_HEAD, EntityHead


def test_saved_head_gives_the_same_vectors(tmp_path: Path) -> None:
    head = EntityHead(8, 4)
    torch.nn.init.normal_(head.outer.weight)
    head.save(tmp_path / "a" / "head.safetensors")
    x = torch.nn.functional.normalize(torch.randn(3, 8), dim=1)
    torch.testing.assert_close(EntityHead.load(tmp_path / "a" / "head.safetensors")(x), head(x), rtol=0, atol=5e-3)
    with pytest.raises(InputError, match=r"none\.json: Expected a JSON file"):
        EntityHead.load(tmp_path / "none")


def test_embedded_head_separates_sides_and_joins_synonyms() -> None:
    names = ["small left effusion", "small right effusion", "subtle left pleural fluid"]
    plain, trained = (EntityEncoder(name).embed(names).vectors for name in ("embedded", "embedded-entities"))
    torch.testing.assert_close(trained.norm(dim=1), torch.ones(3))
    assert plain[0] @ plain[1] > plain[0] @ plain[2]
    assert trained[0] @ trained[2] > 0.7 > 0.4 > trained[0] @ trained[1]
    assert EntityEncoder().fingerprint != EntityEncoder("embedded-entities").fingerprint
    assert EMBEDDED_HEAD.stat().st_size < 2**20
