import torch

from experiments.ratescore.head_training import fit_head
from experiments.ratescore.role_similarity import entity_attributes, role_target_similarity
from radreward.types import Entity


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
