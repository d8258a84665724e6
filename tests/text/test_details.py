"""One changed detail in a statement is read as a difference; a detail in other words is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.bone_levels import RIBS, VERTEBRAE, stated_levels
from radreward.text.fact_differences import find_differences
from radreward.text.fact_matching import match_facts
from radreward.text.report_reading import read_report


def details(reference: str, candidate: str) -> set[str]:
    """Return the details of matched findings that differ, and the results of the others."""
    matches = match_facts(read_report(reference).facts, read_report(candidate).facts)
    found = {match.result for match in matches if match.result != "matched"}
    return found | {entry.detail for match in matches if all(match) for entry in find_differences(match)}


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ("Compression fractures of T7, T9 and L2.", "T7 compression fracture.", {"state"}),
        ("Left fourth and fifth rib fractures.", "Left ninth and tenth rib fractures.", {"location"}),
        (
            "Displaced fracture of the right lateral 7th rib.",
            "Displaced fracture of the right lateral 3rd rib.",
            {"location"},
        ),
        ("First rib fracture on the right.", "Seventh rib fracture on the right.", {"location"}),
        ("Lytic lesion of the third left rib.", "Lytic lesion of the tenth left rib.", {"location"}),
        ("Left retrocardiac opacity.", "Left apical opacity.", {"location"}),
        ("Right opacity along the lateral chest wall.", "Right perihilar opacity.", {"location"}),
        ("Peripheral opacities sparing the perihilar lung.", "Perihilar opacities.", {"location"}),
        ("Bibasilar opacities, the right more than the left.", "Bibasilar opacities, worse on the left.", {"location"}),
        ("Left chest tube at the apex.", "Left chest tube at the base.", {"location"}),
        ("Nodule of the superior segment of the lower lobe.", "Nodule of the posterior basal segment.", {"location"}),
        ("Balloon pump just below the aortic arch.", "Balloon pump in the abdominal aorta.", {"location"}),
        ("ICD lead at the right ventricular apex.", "ICD lead in the coronary sinus.", {"location"}),
        ("Tracheostomy tube in satisfactory position.", "Tracheostomy tube is too low.", {"location"}),
        ("NG tube below the left hemidiaphragm.", "NG tube above the left hemidiaphragm.", {"location"}),
        ("PICC tip 1 cm below the cavoatrial junction.", "PICC tip 6 cm below the cavoatrial junction.", {"size"}),
        ("Left pneumothorax with a rim of 1 cm.", "Left pneumothorax with a rim of 3.5 cm.", {"size"}),
        ("An 8 mm opacity at the left base.", "An 8 cm opacity at the left base.", {"size"}),
        ("Three sternal wires are broken.", "Five sternal wires are broken.", {"state"}),
        ("A single nodule.", "Three nodules.", {"state"}),
        ("Edema. This has improved.", "Edema. This has progressed.", {"change"}),
        ("Edema and effusion. Both have decreased.", "Edema and effusion. Both have increased.", {"change"}),
        ("Left effusion. Marked improvement since yesterday.", "Left effusion. Unchanged.", {"change"}),
        ("Large effusion. It has since cleared.", "Large effusion. It has since increased.", {"false"}),
        ("Unchanged granuloma.", "Enlarging granuloma.", {"change"}),
        ("Smooth nodule.", "Lobulated nodule.", {"state"}),
        ("Left lower lobectomy.", "Left pneumonectomy.", {"state"}),
        ("Alveolar edema.", "Interstitial edema.", {"state"}),
        ("Distended small bowel loops.", "Distended large bowel loops.", {"location"}),
        ("Findings are in keeping with pneumonia.", "Findings are not in keeping with pneumonia.", {"missed"}),
        ("Lungs are devoid of nodules.", "Lungs contain nodules.", {"false"}),
        ("The cardiothoracic ratio is 0.45.", "The cardiothoracic ratio is 0.58.", {"false"}),
        ("Dobhoff tube in the stomach.", "Dobhoff tube in the right main bronchus.", {"false"}),
        ("Mild-to-moderate edema.", "Severe edema.", {"severity"}),
        ("Borderline heart size.", "Severe cardiomegaly.", {"severity"}),
        ("Right PICC tip in the SVC.", "Left PICC tip in the SVC.", {"location"}),
        ("Bullet fragment in the left upper lobe.", "Bullet fragment in the left lower lobe.", {"location"}),
        ("Bibasilar opacities. No worsening.", "Bibasilar opacities. Worse.", {"change"}),
        ("Left effusion. Slight increase since yesterday.", "Left effusion. Essentially unchanged.", {"change"}),
    ],
)
def test_changed_detail_differs(reference: str, candidate: str, expected: set[str]) -> None:
    assert expected <= details(reference, candidate)


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("Opacity behind the heart on the left.", "Left retrocardiac opacity."),
        ("Opacity at the right base.", "Right basilar opacity."),
        ("Fracture of the distal left clavicle.", "Fracture of the lateral end of the left clavicle."),
        ("Tracheostomy tube in good position.", "Tracheostomy tube satisfactorily sited."),
        ("ETT 4 cm above the carina.", "ETT 5 cm above the carina."),
        ("ETT previously at 7 cm above the carina, now 3 cm above the carina.", "ETT 3 cm above the carina."),
        ("Right 7th rib fracture, unchanged since June 4th.", "Right 7th rib fracture, unchanged."),
        ("Fracture of the posterior third of the left 7th rib.", "Posterior fracture of the left 7th rib."),
        ("Compression fracture of T8 with normal T9.", "Compression fracture of T8."),
        ("Fractures of the left 4-7th ribs.", "Left fourth through seventh rib fractures."),
        ("Left 5, 6 and 7th rib fractures.", "Fractures of left ribs 5,6,7."),
        ("At least three right rib fractures.", "Right third to sixth rib fractures."),
        ("Nodule has increased by 4 mm, now 12 mm.", "Enlarging nodule of 12 mm."),
        ("Mass within 2 cm of the diaphragm.", "Mass."),
        ("Large left effusion from the base to the apex.", "Large left basal effusion."),
        ("Pulmonary edema, right greater than left.", "Pulmonary edema, more marked on the right."),
        ("Pulmonary edema, worse on the right.", "Pulmonary edema, more on the right."),
        ("Aortic arch calcification.", "Calcification of the descending aorta."),
        ("8 mm nodule in the right upper lobe; CT is suggested.", "8 mm nodule in the right upper lobe."),
        ("Left effusion. It has increased.", "Left effusion has increased."),
        ("Right internal jugular line ends in the SVC.", "Right jugular catheter with its tip in the SVC."),
        ("Apical pneumothorax on the left.", "Left apical pneumothorax."),
        ("Localized pleural thickening.", "Localised pleural thickening."),
        ("Bilateral effusions, the right is larger.", "Bilateral effusions, larger on the right."),
        ("Bilateral effusions, the right is larger.", "Bilateral effusions, right greater than left."),
        ("ETT tip at T3, 4 cm above the carina.", "ETT tip at T4, 4 cm above the carina."),
        ("Nodule overlying the fifth rib on the right.", "Nodule overlying the sixth anterior rib on the right."),
        ("Malpositioned left PICC in unchanged position.", "Malpositioned left PICC."),
        ("Displaced clavicle fracture, unchanged position.", "Displaced clavicle fracture, unchanged."),
        ("Dobhoff tube is in the stomach and not in the bronchial tree.", "Dobhoff tube in the stomach."),
        ("POD 3, effusion is unchanged.", "POD 4, effusion is unchanged."),
        ("Stage 3 lung cancer.", "Stage 4 lung cancer."),
        ("Single frontal image shows cardiomegaly.", "Two frontal images show cardiomegaly."),
        ("Right retrocardiac opacity.", "Retrocardiac opacity on the right."),
        ("Compression fractures, most severe at T8.", "Compression fractures of T7 and T8."),
        ("Multiple left rib fractures including the left fifth rib.", "Left fifth, sixth and seventh rib fractures."),
        ("CT with 5 mm axial images shows a left effusion.", "CT with 1 mm sections shows a left effusion."),
        ("Pneumothorax previously measured 3 cm, now measures 1 cm.", "Pneumothorax measuring 1 cm."),
        ("PICC 5 cm below the carina.", "PICC 1 cm above the cavoatrial junction."),
        ("Part-solid nodule.", "Ground-glass nodule with a solid component."),
        ("Subsolid nodule.", "Ground-glass nodule."),
        ("Lobulated mass.", "Well-defined mass."),
        ("Left subcutaneous emphysema in the neck.", "Left subcutaneous emphysema in the chest wall and neck."),
        ("Left pectoral pacemaker.", "Left pacemaker via the axillary vein."),
        ("PICC tip just above the carina.", "PICC in good position."),
        ("Large right effusion tracking to the apex.", "Large right basal effusion."),
        ("Cardiomegaly with clear lungs bilaterally.", "Cardiomegaly with clear left lung."),
        ("Pacemaker, lungs are clear bilaterally.", "Left-sided pacemaker."),
    ],
)
def test_detail_in_other_words_is_equal(reference: str, candidate: str) -> None:
    assert details(reference, candidate) == set()


def test_change_of_it_belongs_to_a_single_finding() -> None:
    assert [fact.change for fact in read_report("Edema and effusion. It has increased.").facts] == [None, None]
    assert [fact.change for fact in read_report("Edema. It is a portable film.").facts] == [None]
    assert [fact.change for fact in read_report("Edema. Both lungs are clear elsewhere.").facts if fact.positive] == [
        None
    ]


@given(st.sampled_from([RIBS, VERTEBRAE]), st.lists(st.integers(1, 12), min_size=1, max_size=5, unique=True))
def test_levels_are_those_of_a_list(levels: dict[str, tuple[str, int]], numbers: list[int]) -> None:
    names = list(levels)
    words = [names[number - 1].split(" ")[1].lower().replace("rib", "") for number in numbers]
    text = f"ribs {', '.join(words)}" if levels is RIBS else f"fractures of {', '.join(words)}"
    assert len(stated_levels(text)) == len(numbers)


@given(st.integers(1, 11), st.integers(1, 11))
def test_levels_are_those_of_a_range(first: int, last: int) -> None:
    first, last = sorted((first, last + 1))
    for text in (f"ribs {first} to {last}", f"t{first} through t{last}", f"t{first}-{last}"):
        assert len(stated_levels(text)) == last - first + 1


@pytest.mark.parametrize(
    "later",
    [
        "Unchanged cardiac silhouette.",
        "Stable position of the support devices.",
        "Improved inspiration.",
        "Resolved right upper quadrant gas.",
        "This patient has improved clinically.",
        "The findings were discussed with the physician, who reported worsening dyspnea.",
        "All lines are unchanged.",
        "It is larger on the left than the right.",
        "It is unclear whether there is worsening.",
        "This may have increased.",
        "It was new on the film of yesterday.",
        "It is stable to slightly increased.",
        "Stable, normal cardiomediastinal silhouette.",
        "The findings are otherwise unchanged.",
        "This has led to improved oxygenation.",
    ],
)
def test_sentence_about_something_else_is_no_change_of_a_finding(later: str) -> None:
    assert [fact.change for fact in read_report(f"Left effusion. {later}").facts if fact.positive] == [None]


@pytest.mark.parametrize(
    ("reference", "candidate"),
    [
        ("ETT 4 cm above the carina.", "ETT 4 cm above the carina. Endotracheal tube tip 4.5 cm above the carina."),
        ("Left pneumothorax with a rim of 2 cm.", "Left pneumothorax with a rim of 2 cm. Left pneumothorax of 18 mm."),
    ],
)
def test_finding_that_is_measured_twice_is_one(reference: str, candidate: str) -> None:
    assert details(reference, candidate) == set()


def test_both_are_the_findings_of_two_sentences() -> None:
    facts = read_report("Left effusion. Cardiomegaly. Both have increased.").facts
    assert {(fact.finding, fact.change) for fact in facts} == {("effusion", "worse"), ("cardiomegaly", "worse")}
    assert read_report("Left effusion. It has increased.").unread == ()


def test_both_are_the_sides_of_a_bilateral_finding() -> None:
    facts = read_report("Cardiomegaly. There are bilateral effusions. Both have increased.").facts
    assert {(fact.finding, fact.change) for fact in facts} == {("effusion", "worse"), ("cardiomegaly", None)}


def test_sentence_ends_after_a_year() -> None:
    facts = read_report("Right nodule. It is stable since 2015. Left effusion.").facts
    assert {(fact.finding, fact.change) for fact in facts} == {("nodule", "stable"), ("effusion", None)}


@pytest.mark.parametrize(
    ("text", "finding", "polarity"),
    [
        ("Findings are not inconsistent with pneumonia.", "pneumonia", "present"),
        ("Exam is inconsistent with the prior and demonstrates a left pneumothorax.", "pneumothorax", "present"),
        ("Left lung is devoid of markings from a large pneumothorax.", "pneumothorax", "present"),
        ("Findings are not in keeping with edema and favor pneumonia.", "pneumonia", "present"),
        ("Distribution is inconsistent with edema and is suspicious for pneumonia.", "pneumonia", "uncertain"),
        ("Stability argues against malignancy of the left nodule.", "nodule", "present"),
        ("Opacities inconsistent with atelectasis, suggesting pneumonia.", "pneumonia", "uncertain"),
    ],
)
def test_denial_reaches_only_what_it_denies(text: str, finding: str, polarity: str) -> None:
    assert {fact.polarity for fact in read_report(text).facts if fact.finding == finding} == {polarity}


@pytest.mark.parametrize(
    ("text", "finding", "severity"),
    [
        ("Advanced cirrhosis, small right effusion.", "effusion", "mild"),
        ("Low-grade fever, large effusion.", "effusion", "severe"),
        ("Advanced degenerative changes.", "degenerative", "severe"),
    ],
)
def test_degree_of_something_else_is_not_that_of_the_finding(text: str, finding: str, severity: str) -> None:
    assert {fact.severity for fact in read_report(text).facts if fact.finding == finding} == {severity}


@pytest.mark.parametrize(
    "text",
    [
        "Deformity of the left sixth rib secondary to trauma.",
        "Calcium deposits along the spine.",
        "Edema has improved, vascular markings are decreased.",
        "ETT is in the midline.",
    ],
)
def test_words_that_are_no_finding_of_this_kind(text: str) -> None:
    assert {"lytic", "oligemia", "ettlow"}.isdisjoint(fact.finding for fact in read_report(text).facts)


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("ETT in unchanged position, too low.", "ettlow"),
        ("ETT is in the midline but too low.", "ettlow"),
        ("ETT low-lying; recommend withdrawing.", "ettlow"),
        ("ETT has been withdrawn and is now 4 cm above the carina.", "ett"),
        ("Chest tube in the subcutaneous tissues.", "chesttubemal"),
        ("ETT is not in the right main bronchus.", "ett"),
    ],
)
def test_position_of_a_tube(text: str, finding: str) -> None:
    assert [fact.finding for fact in read_report(text).facts] == [finding]


@pytest.mark.parametrize(
    ("words", "levels"),
    [
        ("lesion of t8-10", {"T8", "T9", "T10"}),
        ("lesions of c7 through t2", {"C7", "T1", "T2"}),
        ("ribs 5 and 6, 3 days ago", {"rib5", "rib6"}),
        ("fracture of t8 and 5 mm", {"T8"}),
        ("t1-weighted images", set()),
    ],
)
def test_stated_levels(words: str, levels: set[str]) -> None:
    assert stated_levels(words) == levels
