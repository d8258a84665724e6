import pytest

from radreward.text.entities import rule_entities
from radreward.text.negation import drop_leading_negation, negated_spans


@pytest.mark.parametrize(
    ("text", "negated"),
    [
        ("No edema.", [" edema."]),
        ("Effusion has resolved.", ["effusion "]),
        ("No effusion, mild edema.", [" effusion"]),
        ("No change in edema.", []),
        ("Pneumonia cannot be excluded.", []),
    ],
)
def test_negated_spans(text: str, negated: list[str]) -> None:
    assert [text.lower()[start:end] for start, end in negated_spans(text)] == negated


@pytest.mark.parametrize(
    ("sentence", "statement"),
    [
        ("There is no definite mass.", "There is a mass."),
        ("No edema.", "Edema."),
        ("There are no nodules", "There are nodules"),
        ("Edema, no effusion.", None),
    ],
)
def test_drop_leading_negation(sentence: str, statement: str | None) -> None:
    assert drop_leading_negation(sentence) == statement


@pytest.mark.parametrize(
    ("sentence", "entities"),
    [
        ("Heart is  not clear", [("Heart", "Anatomy"), ("clear", "Abnormality")]),
        ("The process", []),
        ("No acute process", [("acute process", "Non-Abnormality")]),
        ("Possible pneumonia", [("pneumonia", "Disease")]),
    ],
)
def test_rule_entities(sentence: str, entities: list[tuple[str, str]]) -> None:
    predicted = rule_entities(sentence)
    assert [(entity.name, entity.type) for entity in predicted] == entities
    assert all(sentence[entity.start : entity.end] == entity.name for entity in predicted)
