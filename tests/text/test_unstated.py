"""Cues of findings that are mentioned and not stated."""

import re

import pytest

from radreward.synthesis.report_prose import _SENTENCES
from radreward.text.lexicon import lowercase_same_length
from radreward.text.sentence_parser import sentence_facts
from radreward.text.unstated import _PARTS, _SECTIONS, unstated_names

SENTENCES = (
    *(sentence for sentences in _SENTENCES.values() for sentence in sentences),
    "A portable film misses a small effusion.",
    "The patient is suspected of pneumonia.",
    "Is there a pneumothorax?",
    "CT is useful when a nodule is possible.",
    "A skin fold imitates a pneumothorax.",
    "A skin fold is mistaken for a pneumothorax.",
    "Heart failure is unlikely.",
    "Pneumothorax is considered unlikely.",
    "The lungs are unlikely to be the source of edema.",
    "Please place a chest drain.",
    "Ultrasound would better show any pleural fluid.",
    "Apparent enlargement of the heart is due to expiration.",
    "Widening of the mediastinum may be due to the technique.",
    "Opacity at the right base represents breast tissue.",
    "The nodule was the nipple.",
    "The effusion is obscured by the overlying arm.",
    "Is there a pneumothorax after the procedure.",
    "Any pneumothorax?",
    "Check NG tube position.",
    "Cough, rule in or out infection.",
    "We doubt pneumonia.",
    "Lung resection is planned for next week.",
    "A central line will be placed.",
    "Lung cancer screening.",
    "Nasogastric tube placement requested.",
    "The apparent enlargement of the heart is projectional.",
    "The apparent nodule is a vessel seen end on.",
    "The pleural cavities are dry.",
    "Normal bowel gas.",
    "The case goes to the tumour board.",
    "The hilar shadows are normal.",
    "The azygos shadow is small.",
    "Muscle shadows are equal.",
    "Diaphragmatic shadows are smooth.",
    "Shadow of the left breast.",
    "Normal thymic shadow.",
    "Normal thoracic kyphosis.",
    "Lung density is uniform.",
    "Site of the previous chest tube.",
    "There used to be a pneumothorax.",
    "I do not believe that there is an effusion.",
    "The film fails to demonstrate an effusion.",
    "Request form mentions an effusion.",
    "Follow-up after pneumonia.",
    "Eval for effusion.",
    "Swan neck deformity.",
    "Patient with prior pneumonia; lungs now clear.",
    "Compared with yesterday, when an effusion was present, the lungs are clear.",
    "The patient needs a chest tube.",
    "The patient will undergo chest tube placement.",
    "Advise a radiograph after nasogastric tube placement.",
    "F/u PTX.",
    "Please correlate clinically for pneumonia.",
    "Treated for pneumonia.",
    "Venous obstruction: superior vena cava syndrome suspected clinically.",
    "Lymphoma, follow-up visit.",
    "Under the assumption of pneumonia, follow-up is advised.",
    "Compared to the prior study, which showed an effusion, the lungs are clear.",
    "The prior study showed a large right effusion.",
    "On the prior CT there was a nodule, not visible today.",
    "A small effusion was seen on the previous study.",
    "Attempted right subclavian line.",
    "Right subclavian line attempt.",
    "The suspected nodule is not confirmed.",
    "Pneumonia: unlikely.",
    "Awaiting lobectomy.",
    "Pneumonia is not favoured.",
    "Pulmonary oedema cannot account for these changes.",
    "A pneumothorax was seen on the prior film.",
    "Chest tube insertion is advised.",
    "No air after chest tube removal.",
    "Summation of rib shadows.",
    "Lack of an effusion.",
    "Splenic sequestration.",
    "It is impossible to tell whether there is a pneumothorax.",
    "Artefact is favoured over pneumonia.",
    "The appearance favors an artefact over pneumonia.",
    "Father had lung cancer.",
    "The pneumothorax is not visible today.",
    "PICC line planned.",
    "The cause is other rather than pneumonia.",
    "Vascular congestion is within normal limits.",
    "The lung volumes are low normal.",
    "ECG clips on the skin.",
    "The spine curvature is maintained.",
    "Postoperative changes of the cervical spine.",
    "The appearance is more typical of an artefact than of pneumonia.",
)
CUES = [
    line
    for title in _SECTIONS
    if title not in {"no report", "normal or past", "operations", "parts", "transient"}
    for line in _SECTIONS[title]
]


@pytest.mark.parametrize("cue", CUES)
def test_each_cue_stands_in_a_sentence_that_states_no_finding(cue: str) -> None:
    pattern = re.compile(
        re.sub(r"<(\w+)>", lambda part: _PARTS[part[1]], cue.replace("#+", r"\w[\w ]*").replace("<=#", "<="))
    )
    sentences = [sentence for sentence in SENTENCES if pattern.search(lowercase_same_length(sentence))]
    assert sentences
    assert not any(fact.positive for sentence in sentences for fact in sentence_facts(sentence))


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ("Consolidation is unlikely to be pneumonia.", ["consolidation"]),
        ("Small effusion, which is unlikely to be loculated.", ["effusion"]),
        ("Opacity is due to pneumonia.", ["opacity", "pneumonia"]),
        ("The nodule is in the right apex.", ["nodule"]),
        ("Mass in contact with the pleura.", ["mass"]),
        ("The chest tube is to be removed.", ["chesttube"]),
    ],
)
def test_findings_beside_such_words_are_stated(sentence: str, stated: list[str]) -> None:
    assert [fact.finding for fact in sentence_facts(sentence) if fact.positive] == stated


def test_a_cause_of_what_cannot_be_assessed_is_stated() -> None:
    spans = [(0, 4), (35, 41)]
    assert unstated_names("#### cannot be assessed because of ######.", spans, ["mass", "edema"]) == [True, False]


@pytest.mark.parametrize(
    ("sentence", "finding"),
    [
        ("The effusion could explain the dyspnoea.", "effusion"),
        ("The effusion does not explain the hypoxia.", "effusion"),
        ("Drainage of the left effusion is planned.", "effusion"),
        ("Biopsy of the nodule is scheduled.", "nodule"),
        ("Follow-up of the left effusion requested.", "effusion"),
        ("Awaiting drainage of the effusion.", "effusion"),
        ("For the effusion, drain insertion is recommended.", "effusion"),
        ("A nodule was seen on the prior film and is unchanged.", "nodule"),
        ("The effusion was present previously and is now larger.", "effusion"),
        ("There is no doubt a pneumothorax.", "pneumothorax"),
        ("Family informed of the pneumothorax.", "pneumothorax"),
        ("Small effusion, pneumonia unlikely.", "effusion"),
        ("The prior study showed a nodule, which is unchanged.", "nodule"),
        ("Patient with prior pneumonia, now worse.", "pneumonia"),
        ("Bibasilar atelectasis, pneumonia less likely.", "atelectasis"),
        ("Atelectasis is present and pneumonia is considered less likely.", "atelectasis"),
        ("The heart is enlarged, failure not favoured.", "cardiomegaly"),
        ("Increased lung density at the left base.", "opacity"),
    ],
)
def test_no_cue_hides_a_present_finding(sentence: str, finding: str) -> None:
    assert [(fact.finding, fact.polarity) for fact in sentence_facts(sentence)] == [(finding, "present")]
