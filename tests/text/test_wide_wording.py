"""Statements in British spelling and in wide wording, with the findings and places that they state."""

import pytest

from radreward.text.entities import rule_entities
from radreward.text.sentence_parser import sentence_facts
from radreward.text.spelling import spellings

PLACES = {
    "Opacity at the left lung apex.": "left upper",
    "Opacity in the top of the right lung.": "right upper",
    "Opacity behind the heart.": "left lower",
    "Opacity at the base on the left.": "left lower",
    "Opacity in the right costophrenic angle.": "right lower",
    "Opacity in the left mid-lung.": "left middle",
    "Opacity in the medial segment of the middle lobe.": "right middle",
    "Opacity around the right hilum.": "right perihilar",
    "Opacities at both bases.": "bilateral lower",
    "Opacities in the apices.": "bilateral upper",
    "Opacities in both mid zones.": "bilateral",
}
FINDINGS = {
    "Pulmonary oedema.": ("edema", None),
    "Right haemothorax.": ("hemothorax", "right"),
    "Oesophageal dilatation.": ("esophagus", None),
    "Tumour in the left upper lobe.": ("mass", "left upper"),
    "Surgical emphysema over the left chest wall.": ("subq", "left"),
    "Upper lobe diversion.": ("congestion", None),
    "The heart is bigger than it should be.": ("cardiomegaly", None),
    "Healed tuberculosis of the right apex.": ("granulomatous", None),
    "Tuberculosis of the right apex.": ("tuberculosis", "right upper"),
    "Single pleural plaque on the right.": ("plaque", "right"),
    "Thickening of the left apical pleura.": ("thickening", "left"),
    "The right hilar lymph nodes are enlarged.": ("adenopathy", "right"),
    "Fluid in the left costophrenic angle.": ("effusion", "left"),
    "Chest drain in the left pleural cavity.": ("chesttube", "left"),
    "The right upper lobe has collapsed.": ("collapse", "right upper"),
    "Displaced fracture of the lateral aspect of the right seventh rib.": ("ribfx", "right rib7"),
    "Fractures of ribs 4 to 6 on the left.": ("ribfx", "left"),
    "Healed fractures of the left ribs.": ("oldribfx", "left"),
    "Old healed right rib fractures.": ("oldribfx", "right"),
    "Acute left rib fracture in a 70-year-old man.": ("ribfx", "left"),
    "Fracture of the distal right clavicle.": ("clavfx", "right"),
    "Fracture of the surgical neck of the left humerus.": ("humerusfx", "left"),
    "Wedge fracture at L1.": ("vertfx", "lumbar L1"),
    "Osteoporotic collapse of T9.": ("vertfx", "thoracic T9"),
    "Compression fractures of T8 and T9.": ("vertfx", "thoracic"),
    "Left fourth and fifth rib fractures.": ("ribfx", "left"),
    "Fracture of the left rib 3.": ("ribfx", "left rib3"),
    "ET tube tip in the right main bronchus.": ("ettlow", "right mainstem"),
    "NG tube tip in the oesophagus.": ("ngtmal", "esophagus"),
    "NG tube tip in the left lower lobe bronchus.": ("ngtmal", None),
    "The feeding tube has gone the wrong way, into the left lung.": ("ngtmal", None),
    "Right PICC tip in the SVC.": ("picc", "svc"),  # the side of the arm is no place of the tip
    "Right PICC tip in the right internal jugular vein.": ("piccmal", "jugular"),
    "Central line via the left subclavian vein.": ("cvc", None),
    "Right central line in the right internal jugular vein with its tip in the SVC.": ("cvc", "svc"),
    "Right central line in the right internal jugular vein.": ("cvc", None),
    "Left IJ catheter, tip at the cavoatrial junction.": ("cvc", "cavoatrial"),
    "Gas under the right hemidiaphragm.": ("freeair", None),
}


@pytest.mark.parametrize(("text", "place"), PLACES.items())
def test_a_place_is_read_in_many_words(text: str, place: str) -> None:
    assert [(fact.finding, fact.location) for fact in sentence_facts(text)] == [("opacity", place)]


@pytest.mark.parametrize(("text", "expected"), FINDINGS.items())
def test_a_finding_is_read_with_its_place(text: str, expected: tuple[str, str | None]) -> None:
    assert [(fact.finding, fact.location) for fact in sentence_facts(text)] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "The left pleural cavity is unremarkable.",
        "History of lung cancer.",
        "No oedema.",
        "Tumour markers are pending.",
        "Gastric gas below the left hemidiaphragm.",
        "Normal gas under the diaphragm.",
        "CT is more sensitive for small amounts of free air.",
        "Nondisplaced rib fractures can be missed on plain films.",
        "Small nodules below the resolution of radiography cannot be excluded.",
        "Pleural fluid and pneumothorax are absent.",
        "History: pneumonia.",
        "Both hila have a normal density.",
        "Normal cardiac shadow.",
        "Normal thymic shadow.",
        "CT if pneumothorax remains a clinical concern.",
        "Should a nodule be suspected, CT is advised.",
        "An expiratory film may help where pneumothorax is suspected.",
        "Is there any evidence of pulmonary edema?",
        "Skin folds can mimic pneumothorax.",
        "Overlying hardware may obscure a nodule.",
        "A small rib fracture may be masked.",
        "The sensitivity of this examination for pneumonia is low.",
        "Ultrasound is more accurate for effusions.",
        "Radiographs cannot distinguish pneumonia and edema.",
        "Reason for exam: pneumothorax",
        "Fell from a horse, please exclude rib fractures.",
    ],
)
def test_what_is_no_finding_is_read_as_none(text: str) -> None:
    assert not any(fact.positive for fact in sentence_facts(text))


@pytest.mark.parametrize(
    "text",
    [
        "A small pneumothorax cannot be excluded.",
        "It is difficult to exclude an effusion.",
        "Concerning for pneumonia.",
        "Pneumonia is suspected.",
        "Pneumonia is possible, CT if symptoms persist.",
    ],
)
def test_doubt_about_a_finding_states_it_as_uncertain(text: str) -> None:
    assert [fact.polarity for fact in sentence_facts(text)] == ["uncertain"]


@pytest.mark.parametrize(
    "text",
    [
        "A mass in the superior segment of the right lower lobe.",
        "Nodule in the left lung, CT is more sensitive.",
        "Effusion obscures the diaphragm.",
        "Consolidation, which hides the heart border.",
        "When compared with the prior study there is a new effusion.",
        "Oxygen mask and left pleural effusion.",
        "An obscure opacity in the left base.",
        "Overlying hardware may obscure the left base, small effusion noted.",
        "CT is recommended if clinically indicated, left effusion.",
    ],
)
def test_words_about_methods_hide_no_finding_that_is_stated(text: str) -> None:
    assert [fact.polarity for fact in sentence_facts(text)] == ["present"]


def test_absent_is_no_abnormality_of_a_denied_finding() -> None:
    types = {entity.name: entity.type for entity in rule_entities("Effusion and pneumothorax are absent.")}
    assert types == {"Effusion": "Non-Abnormality", "pneumothorax": "Non-Abnormality"}
    assert [entity.name for entity in rule_entities("The left clavicle is absent.")] == ["left clavicle", "absent"]


def test_an_entity_has_both_spellings() -> None:
    american, british = ([entity.type for entity in rule_entities(f"Mild {name}.")] for name in spellings("edema"))
    assert american == british
    assert american


def test_a_detected_finding_is_stated() -> None:
    assert [fact.finding for fact in sentence_facts("There is interval detection of a nodule.")] == ["nodule"]
    assert sentence_facts("Detection of nodules is limited by motion.") == ()
