"""Denials that end before a finding that is present, and lists of denials that do not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.normalization import normalize_report
from radreward.text.report_reading import read_report
from radreward.text.sentence_parser import sentence_facts

NAMES = {"pneumothorax": "pneumothorax", "edema": "edema", "pneumonia": "pneumonia", "scoliosis": "scoliosis"}
PRESENT = {
    "effusion": ("effusion", "pleural effusion"),
    "atelectasis": ("atelectasis",),
    "consolidation": ("consolidation",),
    "cardiomegaly": ("cardiomegaly",),
}
STARTS = ("no ", "there is no ", "there is no evidence of ", "without ", "negative for ")
"""Starts of a denial, in lowercase."""
WORDS = (
    "mild ",
    "small ",
    "a small ",
    "moderate right ",
    "bilateral ",
    "chronic ",
    "new small ",
    "only mild ",
    "just ",
)
LINKS = (", ", ", and ", " and ", " (")


def polarities(sentence: str) -> dict[str, str]:
    """Return the polarity of each finding of a sentence."""
    return {fact.finding: fact.polarity for fact in sentence_facts(sentence)}


@given(
    st.sampled_from(STARTS),
    st.lists(st.sampled_from(sorted(NAMES)), min_size=1, max_size=3, unique=True),
    st.sampled_from(LINKS),
    st.sampled_from(WORDS),
    st.sampled_from([(key, name) for key, names in PRESENT.items() for name in names]),
    st.sampled_from(["", " is present", " is again seen", " has increased"]),
)
def test_a_finding_with_a_degree_or_side_after_denied_ones_is_present(
    start: str, denied: list[str], link: str, words: str, finding: tuple[str, str], end: str
) -> None:
    names = " or ".join(filter(None, (", ".join(denied[:-1]), denied[-1])))
    sentence = f"{start}{names}{link}{words}{finding[1]}{end}{')' * (link == ' (')}.".capitalize()
    assert polarities(sentence) == {**dict.fromkeys(denied, "absent"), finding[0]: "present"}


@given(
    st.sampled_from(STARTS),
    st.permutations(sorted(NAMES)),
    st.sampled_from(["", "small ", "large ", "mild ", "right "]),
    st.sampled_from([" is seen", " is identified", ""]),
)
def test_a_list_with_or_denies_all_its_findings(start: str, names: list[str], words: str, end: str) -> None:
    sentence = f"{start}{names[0]}, {words}{names[1]}, {names[2]} or {names[3]}{end}.".capitalize()
    assert polarities(sentence) == dict.fromkeys(names, "absent")


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("There is no pneumothorax and the ETT is in good position.", {"pneumothorax": "absent", "ett": "present"}),
        ("No pneumothorax, right chest tube is in place.", {"pneumothorax": "absent", "chesttube": "present"}),
        (
            "No edema or pneumothorax, cardiomegaly.",
            {"edema": "absent", "pneumothorax": "absent", "cardiomegaly": "present"},
        ),
        (
            "No effusion, minimal left basal atelectasis or scarring.",
            {"effusion": "absent", "atelectasis": "present", "scar": "present"},
        ),
        ("No pneumothorax, ETT 4 cm above the carina.", {"pneumothorax": "absent", "ett": "present"}),
        ("No pneumothorax, a hiatal hernia is seen.", {"pneumothorax": "absent", "hiatal": "present"}),
        (
            "No effusion, no pneumothorax, consolidation.",
            {"effusion": "absent", "pneumothorax": "absent", "consolidation": "absent"},
        ),
        ("No evidence of a mass, an effusion.", {"mass": "absent", "effusion": "absent"}),
        ("No evidence that there is an effusion.", {"effusion": "absent"}),
        ("No left and right effusion.", {"effusion": "absent"}),
        ("No pneumonia in the setting of chronic fibrosis.", {"pneumonia": "absent", "fibrosis": "present"}),
        ("No consolidation on background of emphysema.", {"consolidation": "absent", "emphysema": "present"}),
        ("The lung bases are not well seen due to effusions.", {"effusion": "present"}),
        ("Opacity that was not present on the prior exam.", {"opacity": "present"}),
        ("Effusion not present yesterday.", {"effusion": "present"}),
        ("The effusion is not present.", {"effusion": "absent"}),
        ("There is not just atelectasis.", {"atelectasis": "present"}),
        ("No other abnormality than scarring.", {"scar": "present"}),
        ("No effusion, malignancy cannot be excluded.", {"effusion": "absent"}),
        ("No pneumothorax, although one cannot be excluded.", {"pneumothorax": "uncertain"}),
        ("The pneumothorax has not recurred.", {"pneumothorax": "absent"}),
        ("Pneumothorax is not identified on the frontal radiograph.", {"pneumothorax": "absent"}),
        ("Scarring secondary to resolved pneumonia.", {"scar": "present", "pneumonia": "absent"}),
        ("No acute cardiopulmonary process, stable cardiomegaly.", {"cardiomegaly": "present"}),
        ("No acute disease, mild edema or effusion.", {"edema": "absent", "effusion": "absent"}),
        ("Tip of the nasogastric tube is not seen.", {"ngt": "present"}),
        ("The nasogastric tube is not seen.", {"ngt": "absent"}),
        ("Without a lateral view small effusions cannot be excluded.", {"effusion": "uncertain"}),
    ],
)
def test_the_reach_of_a_denial(sentence: str, expected: dict[str, str]) -> None:
    assert polarities(sentence) == expected


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("Pneumothorax: No. Consolidation: Yes.", {"pneumothorax": "absent", "consolidation": "present"}),
        ("Effusion = no; edema = mild", {"effusion": "absent", "edema": "present"}),
        ("Cardiomegaly (+), effusion (-)", {"cardiomegaly": "present", "effusion": "absent"}),
        ("Effusion: 0. Edema: n.", {"effusion": "absent", "edema": "absent"}),
        ("Pneumonia: unlikely.", {"pneumonia": "absent"}),
        ("Pneumothorax? Yes.", {"pneumothorax": "present"}),
    ],
)
def test_answers_are_about_the_finding_before_them(report: str, expected: dict[str, str]) -> None:
    assert {fact.finding: fact.polarity for fact in read_report(report).facts} == expected


def test_a_label_states_nothing_and_a_finding_before_a_colon_does() -> None:
    report = "Effusion: no evidence of effusion. Right lower lobe nodule: 8 mm, left upper lobe nodule: 5 mm."
    facts = [(fact.finding, fact.polarity, fact.location) for fact in read_report(report).facts]
    assert facts == [
        ("effusion", "absent", None),
        ("nodule", "present", "left upper"),
        ("nodule", "present", "right lower"),
    ]


def test_answers_on_lines_are_about_their_own_line() -> None:
    facts = read_report(normalize_report("Pneumothorax: No\nEffusion: Yes\nEdema: No")).facts
    assert {fact.finding: fact.polarity for fact in facts} == {
        "pneumothorax": "absent",
        "effusion": "present",
        "edema": "absent",
    }
