"""Words of change and degree that depend on what stands beside them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
        ("The chest infection on the left is clearing up.", "better"),
        ("The pneumonia is clearing.", "better"),
        ("The pneumonia is spreading.", "worse"),
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


@pytest.mark.parametrize(
    "sentence",
    [
        "The left chest tube is out.",
        "Swan-Ganz catheter withdrawn.",
        "The pacemaker was explanted.",
        "The swallowed coin has passed.",
        "The collapsed lobe has re-expanded.",
        "The haemothorax has been evacuated.",
        "The mediastinal shift has corrected.",
        "Kerley lines have gone.",
        "Enlargement of the heart has regressed completely.",
    ],
)
def test_what_is_gone_is_absent(sentence: str) -> None:
    [fact] = sentence_facts(sentence)
    assert (fact.polarity, fact.change) == ("absent", "resolved")


@pytest.mark.parametrize(
    "sentence",
    [
        "The chest tube is out of position.",
        "The endotracheal tube has been withdrawn by 2 cm.",
        "The ET tube was withdrawn 3 cm.",
        "The PICC has been pulled back.",
        "Pneumothorax after the tube was withdrawn.",
    ],
)
def test_a_moved_device_is_present(sentence: str) -> None:
    assert [fact.polarity for fact in sentence_facts(sentence)] == ["present"]


def test_a_patient_who_clears_secretions_does_not_improve() -> None:
    [fact] = sentence_facts("The patient is clearing secretions, pneumonia unchanged.")
    assert (fact.finding, fact.polarity, fact.change) == ("pneumonia", "present", "stable")


@given(
    st.sampled_from(["not", "not fully", "not yet been", "never been", "hardly", "only partly", "incompletely"]),
    st.sampled_from(["cleared", "drained", "evacuated", "resected", "removed", "withdrawn", "retrieved", "resolved"]),
    st.sampled_from(["effusion", "chest tube", "mass", "haemothorax"]),
)
def test_what_has_not_happened_leaves_the_finding(words: str, done: str, name: str) -> None:
    for text in (f"The {name} has {words} {done}.", f"The {name} should be {done}.", f"The {name} needs to be {done}."):
        assert [fact.polarity for fact in sentence_facts(text)] == ["present"], text


@pytest.mark.parametrize(
    ("sentence", "finding", "polarity", "change"),
    [
        ("No appreciable decrease in the left effusion.", "effusion", "present", "stable"),
        ("Not significantly improved right consolidation.", "consolidation", "present", "stable"),
        ("No evidence that the pneumothorax has resolved.", "pneumothorax", "present", None),
        ("No resolution of the pneumonia.", "pneumonia", "present", None),
        ("No interval enlargement of the left upper lobe mass.", "mass", "present", "stable"),
        ("The effusion has almost entirely resolved.", "effusion", "present", "better"),
        ("Resolution of the pneumonia is incomplete.", "pneumonia", "present", "better"),
        ("Complete clearing of the edema.", "edema", "absent", "resolved"),
        ("Follow-up radiograph to ensure resolution of the pneumonia.", "pneumonia", "present", None),
        ("The effusion is no longer layering.", "effusion", "present", None),
        ("Left lower lobe pneumonia, no longer as dense.", "pneumonia", "present", None),
        ("The effusion is no longer clearly seen.", "effusion", "absent", "resolved"),
        ("No longer is there an effusion.", "effusion", "absent", "resolved"),
        ("No worsening edema.", "edema", "absent", "worse"),
    ],
)
def test_denied_and_partial_changes(sentence: str, finding: str, polarity: str, change: str | None) -> None:
    [fact] = sentence_facts(sentence)
    assert (fact.finding, fact.polarity, fact.change) == (finding, polarity, change)
