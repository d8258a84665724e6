from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.systems.ratescore.taggers import RuleTagger, load_tagger
from radreward.types import ENTITY_TYPES

SHORT = {"Abnormality": "A", "Disease": "D", "Non-Abnormality": "a", "Non-Disease": "d", "Anatomy": "@"}


def read(text: str) -> list[str]:
    return [SHORT[entity.type] + ":" + entity.name for entity in RuleTagger().tag([text])[0]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Small left pleural effusion.", ["A:Small left pleural effusion"]),
        ("No pneumothorax, edema or pneumonia.", ["a:pneumothorax", "a:edema", "d:pneumonia"]),
        ("The aorta is mildly tortuous.", ["@:aorta", "A:mildly tortuous"]),
        ("Heart size is within normal limits.", ["@:Heart size", "a:within normal limits"]),
        ("The heart is not enlarged.", ["@:heart", "a:enlarged"]),
        ("The trachea is not midline.", ["@:trachea", "A:midline"]),
        ("Pneumonia cannot be excluded.", ["D:Pneumonia"]),
        ("No change in the right pneumothorax.", ["A:right pneumothorax"]),
        ("The effusion is no longer seen.", ["a:effusion"]),
        ("Interval resolution of edema.", ["a:edema"]),
        ("Atelectasis, consolidation, and edema have resolved.", ["a:Atelectasis", "a:consolidation", "a:edema"]),
        ("Stable cardiomegaly, edema has resolved.", ["A:cardiomegaly", "a:edema"]),
        ("No effusion but there is atelectasis.", ["a:effusion", "A:atelectasis"]),
        ("No effusion, the heart is enlarged.", ["a:effusion", "@:heart", "A:enlarged"]),
        ("No consolidation, mild cardiomegaly.", ["a:consolidation", "A:mild cardiomegaly"]),
        ("No consolidation, large effusion, or nodule.", ["a:consolidation", "a:large effusion", "a:nodule"]),
        ("An ET tube ends above the carina.", ["@:ET tube", "@:carina"]),
        ("A right chest tube overlies surgical clips.", ["@:right chest tube", "@:surgical clips"]),
        ("Cardiac silhouette pulmonary vessels normal.", ["@:Cardiac silhouette", "@:pulmonary vessels", "a:normal"]),
        ("No acute findings.", ["a:acute findings"]),
        ("Findings were discussed.", []),
        ("Opacity in the left upper lobe.", ["A:Opacity", "@:left upper lobe"]),
        ("Clear of focal infiltrates.", ["a:Clear", "a:focal infiltrates"]),
        ("", []),
        ("XXXX.", []),
    ],
)
def test_tag_returns_expected_entities(text: str, expected: list[str]) -> None:
    assert read(text) == expected


@given(
    st.lists(st.sampled_from(["no", "effusion", "left", "mild", "heart", "İ", "normal", ",", "seen", ".", "XXXX", "ß"]))
)
def test_offsets_match_names(words: list[str]) -> None:
    text = " ".join(words)
    (entities,) = RuleTagger().tag([text])
    for entity in entities:
        assert text[entity.start : entity.end] == entity.name
        assert entity.type in ENTITY_TYPES
        assert entity.name.strip()
    for entity, after in zip(entities, entities[1:], strict=False):
        assert entity.end <= after.start


def test_tag_keeps_order_and_number() -> None:
    tagger = RuleTagger()
    assert [len(entities) for entities in tagger.tag(["Clear lungs.", "", "Edema.", "Clear lungs."])] == [2, 0, 1, 2]
    assert tagger.tag([]) == []


def test_saved_tagger_has_the_same_fingerprint(tmp_path: Path) -> None:
    RuleTagger().save_pretrained(tmp_path / "tagger")
    loaded = load_tagger(tmp_path / "tagger")
    assert isinstance(loaded, RuleTagger)
    assert loaded.fingerprint() == RuleTagger().fingerprint()


def test_white_space_changes_only_offsets() -> None:
    (plain,), (spread,) = RuleTagger().tag(["No pleural effusion."]), RuleTagger().tag(["No  pleural \n effusion."])
    assert [entity[:2] for entity in spread] == [entity[:2] for entity in plain]
    assert [(entity.start, entity.end) for entity in spread] == [(4, 22)]


def test_partial_clearing_is_present() -> None:
    assert RuleTagger().tag(["Partial clearing of edema."])[0][0].type == "Abnormality"
    assert RuleTagger().tag(["Clearing of edema."])[0][0].type == "Non-Abnormality"
