from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.entity_head import EMBEDDED_HEAD, EntityHead, fit_head
from radreward.systems.ratescore.role_similarity import entity_attributes, role_target_similarity
from radreward.systems.ratescore.target_similarity import (
    FINDING_KEYS,
    NameAttributes,
    parse_names,
    target_similarity,
)
from radreward.types import Entity


def target(first: str, second: str, base: float = 0.8) -> float:
    return float(target_similarity(parse_names([first, second]), torch.full((2, 2), base))[0, 1])


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        ("pleural effusion", "pleural fluid", 1.0),
        ("left effusion", "right effusion", 0.1),
        ("left effusion", "bilateral effusions", 0.5),
        ("left effusion", "effusion", 0.9),
        ("small effusion", "large effusion", 0.15),
        ("small effusion", "moderate effusion", 0.4),
        ("small effusion", "effusion", 0.92),
        ("opacity", "pneumonia", 0.7),
        ("effusion", "pneumothorax", 0.15),
        ("effusion", "rib fracture", 0.0),
        ("left", "on the left side", 1.0),
        ("left", "right", 0.0),
        ("left effusion", "left", 0.45),
        ("right effusion", "left", 0.0),
        ("heart", "enlarged", 0.8),  # similarity by the encoder
        ("mildly enlarged", "markedly enlarged", 0.8 * 0.15),
    ],
)
def test_target_similarity_of_names(first: str, second: str, value: float) -> None:
    assert target(first, second) == pytest.approx(value, abs=1e-6)
    assert target(second, first) == pytest.approx(value, abs=1e-6)


def test_name_without_finding_has_no_attributes() -> None:
    attributes = parse_names(["heart"])
    assert attributes == NameAttributes(*(torch.tensor([value]) for value in (len(FINDING_KEYS), 0, 0, 0)))
    assert parse_names([]).finding.shape == (0,)


def test_fit_head_approaches_the_targets() -> None:
    names = ["left effusion", "right effusion", "left pleural fluid", "small mass", "large mass", "heart"]
    torch.manual_seed(0)
    vectors = torch.nn.functional.normalize(torch.ones(6, 16) + 0.3 * torch.randn(6, 16), dim=1)
    entities = entity_attributes([Entity(name, "Abnormality", 0, 0) for name in names], [frozenset()] * 6)
    head = fit_head(entities, vectors, steps=40)
    table = role_target_similarity(entities, (vectors @ vectors.T).clamp_min(0))
    before, after = ((x @ x.T - table).pow(2).mean().item() for x in (vectors, head(vectors)))
    assert after < 0.5 * before
    again = fit_head(entities, vectors, steps=40)
    assert all(torch.equal(a, b) for a, b in zip(head.state_dict().values(), again.state_dict().values(), strict=True))


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
    plain, trained = EntityEncoder().encode(names), EntityEncoder("embedded-entities").encode(names)
    torch.testing.assert_close(trained.norm(dim=1), torch.ones(3))
    assert plain[0] @ plain[1] > plain[0] @ plain[2]
    assert trained[0] @ trained[2] > 0.7 > 0.4 > trained[0] @ trained[1]
    assert EntityEncoder().fingerprint != EntityEncoder("embedded-entities").fingerprint
    assert EMBEDDED_HEAD.stat().st_size < 2**20
