import pytest
import torch

from experiments.ratescore.target_similarity import FINDING_KEYS, NameAttributes, parse_names, target_similarity


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
