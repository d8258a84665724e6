"""Agreement of the findings of two texts, from their facts."""

from hypothesis import given
from hypothesis import strategies as st

from radreward.text.facts import Fact, known_agreement, states_same_finding
from radreward.text.findings import FINDINGS, is_related

FACTS = st.builds(
    Fact,
    st.sampled_from(("effusion", "loculated", "opacity", "consolidation", "pneumonia", "nodule", "mass", "edema")),
    st.sampled_from(("present", "absent", "uncertain")),
    st.sampled_from((None, "left", "left lower", "right")),
    st.sampled_from((None, "mild", "severe")),
    st.sampled_from((None, "worse", "stable")),
)
TEXTS = st.lists(FACTS, max_size=3).map(tuple)


@given(FACTS, FACTS)
def test_the_same_finding_is_symmetric_and_ignores_what_is_left_out(first: Fact, second: Fact) -> None:
    assert states_same_finding(first, first)
    assert states_same_finding(first, second) == states_same_finding(second, first)
    assert states_same_finding(first, first._replace(location=None, severity=None, change=None))


def test_a_contradicting_detail_is_not_the_same_finding() -> None:
    effusion = Fact("effusion", location="left lower", severity="mild", change="worse")
    assert states_same_finding(effusion, Fact("effusion", "uncertain", "left"))
    assert not states_same_finding(effusion, effusion._replace(location="right"))
    assert not states_same_finding(effusion, effusion._replace(severity="severe"))
    assert not states_same_finding(effusion, effusion._replace(change="stable"))
    assert not states_same_finding(effusion, effusion._replace(polarity="absent"))


@given(TEXTS, TEXTS)
def test_known_agreement_of_texts(first: tuple[Fact, ...], second: tuple[Fact, ...]) -> None:
    agreement = known_agreement(first, second)
    assert agreement == known_agreement(second, first)
    assert known_agreement(first, tuple(fact for fact in second if fact.positive)) == agreement
    positive = [[fact for fact in text if fact.positive] for text in (first, second)]
    if agreement == 0.0:
        assert all(not is_related(a.finding, b.finding) for a in positive[0] for b in positive[1])
    if agreement is None and all(positive):
        assert any(is_related(a.finding, b.finding) for a in positive[0] for b in positive[1])
    same = [a.polarity == b.polarity and states_same_finding(a, b) for a in positive[0] for b in positive[1]]
    assert (agreement == 1.0) == any(same)


def test_unrelated_findings_do_not_agree() -> None:
    for key in FINDINGS:
        assert known_agreement((Fact(key),), (Fact(key),)) == 1.0
        if not is_related(key, "gallstones"):
            assert known_agreement((Fact(key),), (Fact("gallstones"),)) == 0.0
