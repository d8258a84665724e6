"""One changed detail in a statement is read as a difference; a detail in other words is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.bone_levels import RIBS, VERTEBRAE, number_of_levels
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
        ("Left effusion. It has increased.", "Left effusion has increased."),
        ("Right internal jugular line ends in the SVC.", "Right jugular catheter with its tip in the SVC."),
        ("Apical pneumothorax on the left.", "Left apical pneumothorax."),
        ("Localized pleural thickening.", "Localised pleural thickening."),
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
def test_number_of_levels_is_that_of_a_list(levels: dict[str, tuple[str, int]], numbers: list[int]) -> None:
    names = list(levels)
    words = [names[number - 1].split(" ")[1].lower().replace("rib", "") for number in numbers]
    text = f"ribs {', '.join(words)}" if levels is RIBS else f"fractures of {', '.join(words)}"
    assert number_of_levels(text) == len(numbers)


@given(st.integers(1, 11), st.integers(1, 11))
def test_number_of_levels_is_that_of_a_range(first: int, last: int) -> None:
    first, last = sorted((first, last + 1))
    for text in (f"ribs {first} to {last}", f"t{first} through t{last}", f"t{first}-{last}"):
        assert number_of_levels(text) == last - first + 1
