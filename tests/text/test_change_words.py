"""Words of change and degree that depend on what stands beside them."""

import pytest

from radreward.text.sentence_parser import sentence_facts


@pytest.mark.parametrize(
    ("sentence", "change"),
    [
        ("Mediastinal lymphadenopathy, increased.", "worse"),
        ("Right pleural effusion, slightly larger.", "worse"),
        ("Right pleural effusion, smaller.", "better"),
        ("The consolidation is gone.", "resolved"),
        ("Right effusion, worse.", "worse"),
        ("Bilateral airspace disease, worse on the right.", None),
        ("Bilateral effusions, greater on the left.", None),
        ("The heart is larger than normal.", None),
        ("The effusion is larger than on the prior film.", "worse"),
    ],
)
def test_change_of_a_sentence(sentence: str, change: str | None) -> None:
    [fact] = sentence_facts(sentence)
    assert fact.change == change


@pytest.mark.parametrize(
    ("sentence", "degree"),
    [
        ("Slightly enlarged cardiac silhouette.", "mild"),
        ("Right effusion, slightly larger.", None),
        ("A little pleural fluid on the left.", "mild"),
        ("Scarring at both bases is more extensive than a year ago.", None),
        ("Extensive scarring at both bases.", "severe"),
    ],
)
def test_degree_of_a_sentence(sentence: str, degree: str | None) -> None:
    [fact] = sentence_facts(sentence)
    assert fact.severity == degree
