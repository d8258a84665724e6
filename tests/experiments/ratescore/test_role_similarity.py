import pytest
import torch

from experiments.ratescore.role_similarity import entity_attributes, role_target_similarity
from experiments.ratescore.target_similarity import parse_names, target_similarity
from radreward.types import Entity

HEART = frozenset({"cardiomegaly"})


def target(first: tuple[str, str], second: tuple[str, str], base: float = 0.8, parts: bool = False) -> float:
    entities = [Entity(*fields, 0, 0) for fields in (first, second)]
    attributes = entity_attributes(entities, [HEART if parts else frozenset()] * 2)
    table = role_target_similarity(attributes, torch.full((2, 2), base))
    assert torch.equal(table, table.T)
    assert table.diagonal().tolist() == [1, 1]
    return float(table[0, 1])


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (("heart", "Anatomy"), ("cardiac silhouette", "Anatomy"), 0.8),  # similarity by the encoder
        (("left base", "Anatomy"), ("right base", "Anatomy"), 0.8 * 0.15),
        (("left", "Anatomy"), ("heart", "Anatomy"), 0.8 * 0.8),
        (("left", "Anatomy"), ("left effusion", "Abnormality"), 0.55),
        (("right", "Anatomy"), ("left effusion", "Abnormality"), 0.4 * 0.05),
        (("heart", "Anatomy"), ("effusion", "Abnormality"), 0.4),
        (("effusion", "Non-Abnormality"), ("effusion", "Abnormality"), 0.35),
        (("effusion", "Non-Abnormality"), ("pneumothorax", "Abnormality"), 0.15),
        (("effusion", "Non-Abnormality"), ("pleural fluid", "Non-Abnormality"), 0.3 + 0.7 * 0.8),
        (("clear", "Non-Abnormality"), ("normal", "Non-Abnormality"), 0.8),
        (("clear", "Non-Abnormality"), ("heart", "Anatomy"), 0.8),
    ],
)
def test_target_similarity_by_role(first: tuple[str, str], second: tuple[str, str], value: float) -> None:
    assert target(first, second) == pytest.approx(value, abs=1e-6)
    assert target(second, first) == pytest.approx(value, abs=1e-6)


def test_target_of_part_and_finding() -> None:
    assert target(("enlarged", "Abnormality"), ("cardiomegaly", "Abnormality"), parts=True) == pytest.approx(0.75)
    mild = ("mildly enlarged", "Abnormality"), ("severe cardiomegaly", "Abnormality")
    assert target(*mild, parts=True) == pytest.approx(0.75 * 0.2)
    assert target(("heart", "Anatomy"), ("cardiomegaly", "Abnormality"), parts=True) == pytest.approx(0.6)


def test_present_findings_use_name_similarity() -> None:
    names = ["left effusion", "right effusion", "small mass", "large mass"]
    entities = entity_attributes([Entity(name, "Abnormality", 0, 0) for name in names], [frozenset()] * 4)
    base = torch.full((4, 4), 0.6)
    expected = target_similarity(parse_names(names), base).fill_diagonal_(1.0)
    assert torch.equal(role_target_similarity(entities, base), expected)
