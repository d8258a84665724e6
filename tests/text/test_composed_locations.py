"""Places whose side and zone stand apart, places of another finding, and words about something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from radreward.text.composed_locations import with_zone
from radreward.text.findings import FINDINGS
from radreward.text.locations import LOCATIONS
from radreward.text.sentence_parser import sentence_facts

WORDS = st.sampled_from(
    [
        "####",
        "left",
        "right",
        "both",
        "base",
        "bases",
        "upper",
        "lung",
        "of the",
        "on the",
        "worse",
        "clear",
        "is",
        ",",
        ";",
        "apex",
    ]
)


@pytest.mark.parametrize(
    ("text", "finding", "location"),
    [
        ("Nodule in the uppermost part of the lung on the right.", "nodule", "right upper"),
        ("Consolidation in the posterior basal segment on the left.", "consolidation", "left lower"),
        ("Atelectasis at the two bases, worse on the left.", "atelectasis", "bilateral lower"),
        ("Bibasal atelectasis, worse on the left.", "atelectasis", "bilateral lower"),
        ("There is an apical scar on the right.", "scar", "right upper"),
        ("Opacity that silhouettes the left heart border.", "opacity", "left middle"),
        ("Effusion in both costophrenic recesses.", "effusion", "bilateral"),
        ("RT upper zone granuloma.", "granuloma", "right upper"),
        ("Bilat effusions.", "effusion", "bilateral"),
        ("No abnormality on the right, but atelectasis in the left lower zone.", "atelectasis", "left lower"),
        ("The trachea is pushed to the right by an effusion on the left.", "effusion", "left"),
        ("Opacity in the left lung, the right base is clear.", "opacity", "left"),
        ("Fibrosis of both lungs with sparing of the apices.", "fibrosis", "bilateral"),
        ("Scar on the left, and the right apex is normal.", "scar", "left"),
        ("On the right: effusion, basal atelectasis.", "atelectasis", "right lower"),
        ("Right: nodule.", "nodule", "right"),
    ],
)
def test_location_has_the_side_and_the_zone_of_its_words(text: str, finding: str, location: str) -> None:
    assert {fact.location for fact in sentence_facts(text) if fact.finding == finding} == {location}


@pytest.mark.parametrize(
    ("text", "finding", "location"),
    [
        ("Right lower lobe consolidation, suspicious for pneumonia.", "pneumonia", "right lower"),
        ("Left basal opacity compatible with atelectasis/scarring.", "scar", "left lower"),
        ("Right upper lobe mass; abscess cannot be excluded.", "abscess", "right upper"),
        ("Right lower zone pneumonia with a small effusion on the same side.", "effusion", "right"),
        ("Mass at the left hilum with collapse of the upper lobe on that side.", "collapse", "left upper"),
        ("Left effusion and contralateral atelectasis.", "atelectasis", "right"),
        ("Worsening right upper zone consolidation with new cavitation.", "cavity", "right upper"),
        ("Left basal opacity and pneumonia.", "pneumonia", None),
        ("Left basal opacity, no pneumonia.", "pneumonia", None),
    ],
)
def test_finding_has_the_place_of_what_it_explains_or_refers_to(text: str, finding: str, location: str | None) -> None:
    assert {fact.location for fact in sentence_facts(text) if fact.finding == finding} == {location}


@pytest.mark.parametrize(
    ("text", "finding"),
    [
        ("Basal collapse on the left.", "atelectasis"),
        ("Collapse at the base of the right lung.", "atelectasis"),
        ("Collapse of the right lower lobe.", "collapse"),
        ("Perihilar haze.", "opacity"),
    ],
)
def test_name_is_that_of_the_finding_at_its_place(text: str, finding: str) -> None:
    assert [fact.finding for fact in sentence_facts(text)] == [finding]


@given(
    st.lists(WORDS, max_size=12).map(" ".join),
    st.sampled_from([None, *LOCATIONS["lung"]]),
    st.sampled_from(sorted(FINDINGS)),
)
def test_location_is_kept_or_one_that_the_finding_can_have(own: str, location: str | None, finding: str) -> None:
    assert with_zone(finding, location, own) in (location, *FINDINGS[finding].locations)
