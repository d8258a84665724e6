"""Findings in the usual words of reports: lists of states, nouns beside a body part, dropped words, normal limits."""

import pytest

from radreward.text.sentence_parser import sentence_facts

FINDINGS = {
    "Tortuous calcified aorta.": {"tortuous", "aorticcalc"},
    "A mildly dilated and tortuous thoracic aorta.": {"aneurysm", "tortuous"},
    "Aortic calcification and tortuosity are unchanged.": {"aorticcalc", "tortuous"},
    "Calcifications and ectasia/unfolding of the aorta.": {"aorticcalc", "tortuous"},
    "Mild tortuosity descending aorta.": {"tortuous"},
    "Slight elevation left hemidiaphragm.": {"elevdia"},
    "Hemidiaphragm eventration on the left.": {"eventration"},
    "The lungs are clear but hyperexpanded.": {"hyperinflation"},
    "Hyperinflated but clear lungs.": {"hyperinflation"},
    "Hyperexpanded, clear lungs.": {"hyperinflation"},
    "Overexpanded appearing lungs.": {"hyperinflation"},
    "The left lung is hyperinflated.": {"hyperinflation"},
    "Lung volumes are slightly decreased.": {"hypoinflation"},
    "The heart is borderline in size.": {"cardiomegaly"},
    "Heart size is upper limits of normal or mildly enlarged.": {"cardiomegaly"},
    "Mild prominence of the central pulmonary vasculature.": {"congestion"},
    "Vascular prominence without edema.": {"congestion", "edema"},
    "Stable mediastinal prominence.": {"widemed"},
    "Left paratracheal fullness.": {"paratracheal"},
    "Mild fullness to the left hilum.": {"hilar"},
    "Pulmonary artery prominence.": {"pulmhtn"},
    "Old fracture deformities of two left ribs.": {"oldribfx"},
    "Contour deformity of the left 8th rib.": {"oldribfx"},
    "Old healed clavicular fracture on the left.": {"oldfx"},
    "Loss of height of a midthoracic vertebral body.": {"vertfx"},
    "Mild dextrocurvature of the lumbar spine.": {"scoliosis"},
    "Acromioclavicular joint degenerative changes.": {"shoulder"},
    "A calcified left hilar lymph node.": {"calcnodes"},
    "Calcified hilar and mediastinal lymph nodes.": {"calcnodes"},
    "Prosthetic left shoulder.": {"shoulderrepl"},
    "Anterior cervical fusion.": {"hardware"},
    "Lung volumes are low and increased opacity is seen at the left base.": {"hypoinflation", "opacity"},
    "Clips overlie the left axilla.": {"clips"},
}
NO_FINDINGS = (
    "Heart size is borderline normal.",
    "Lung volumes are low normal.",
    "Lung volumes have decreased.",
    "Vascular engorgement appears within normal limits.",
    "ECG clips over the chest.",
    "Lung volumes are increased compared with the last film.",
    "Postsurgical changes of the right breast.",
    "The curvature of the spine is normal and the spine curvature is maintained.",
    "Mild prominence of the mediastinal fat.",
    "Cortical irregularity of the left sixth rib.",
    "There is fluid and the costophrenic angles are clear.",
)


@pytest.mark.parametrize("sentence", FINDINGS)
def test_usual_wording_is_read(sentence: str) -> None:
    assert {fact.finding for fact in sentence_facts(sentence)} == FINDINGS[sentence]


@pytest.mark.parametrize("sentence", NO_FINDINGS)
def test_normal_limits_and_changes_state_no_finding(sentence: str) -> None:
    assert not any(fact.positive for fact in sentence_facts(sentence))


@pytest.mark.parametrize(
    ("sentence", "finding"),
    [
        ("Heart size is mildly enlarged, pulmonary vascularity within normal limits.", "cardiomegaly"),
        ("The hila are prominent and the heart is normal in size.", "hilar"),
        ("The pulmonary vasculature is prominent and the mediastinum is normal.", "congestion"),
        ("There is mild vascular prominence and the heart size is normal.", "congestion"),
        ("Mild edema and the soft tissues are normal.", "edema"),
        ("There are degenerative changes and the shoulders are normal.", "degenerative"),
        ("Right basal opacity, heart size is within normal limits.", "opacity"),
    ],
)
def test_state_belongs_to_the_part_beside_it(sentence: str, finding: str) -> None:
    assert {fact.finding for fact in sentence_facts(sentence) if fact.positive} == {finding}


@pytest.mark.parametrize("words", ["compression fracture ", "compression deformity, ", "completely collapsed "])
def test_repeated_words_that_can_be_split_in_many_ways_are_read_in_time(words: str) -> None:
    # the time limit of all tests ends what tries every split
    assert "effusion" in {fact.finding for fact in sentence_facts(f"{words * 40}small left effusion.")}
