from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.openi.codes import FINDING_OF_CODE, ZONE_OF_QUALIFIER, MeSHCode
from experiments.openi.studies import (
    Study,
    errors_from_codes,
    groups_from_codes,
    read_openi,
    split_studies,
    weights_from_codes,
    write_coded_groups,
)
from radreward.criteria import Criteria, Criterion, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.data.records import read_groups
from radreward.data.split import is_held_out
from radreward.errors import InputError
from radreward.text.findings import FINDINGS

HEADER = "uid,MeSH,Problems,findings,impression\n"
SMALL = (
    HEADER
    + "1,normal,normal,Clear  lungs.,Nothing new.\n"
    + "2,Pleural Effusion/left/small;Cardiomegaly/mild,x,Fluid on the left.,\n"
    + "3,Technical Quality of Image Unsatisfactory ;No Indexing,x,,Poor film.\n"
    + "4,normal,normal, ,\n"
)
EFFUSION = ("pleural effusion", "left", "small")


def study(*paths: tuple[str, ...], name: str = "1") -> Study:
    return Study(name, f"Report {name}.", paths)


def nonzero(errors: Mapping[str, float]) -> dict[str, float]:
    return {tag: count for tag, count in errors.items() if count and not tag.startswith(("sig", "insig"))}


def many(count: int = 60) -> list[Study]:
    heads = ["opacity", "cardiomegaly", "scoliosis"]
    return [
        study(*((head, "left") for at, head in enumerate(heads) if index % 4 > at), name=str(index))
        for index in range(count)
    ]


def test_read_openi_parses_text_and_codes_and_logs_skipped_studies(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "reports.csv"
    path.write_text(SMALL)
    with caplog.at_level(logging.WARNING):
        studies = list(read_openi(path))
    assert studies == [
        Study("1", "Clear lungs. Nothing new.", ()),
        Study("2", "Fluid on the left.", (("pleural effusion", "left", "small"), ("cardiomegaly", "mild"))),
        Study("3", "Poor film.", ()),
    ]
    assert "Skipped 1 studies" in caplog.text


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("uid,MeSH,findings\n1,normal,Clear.\n", "row 1: field 'impression': Expected a column of texts"),
        ("MeSH,findings,impression\nnormal,Clear.,\n", "row 1: field 'uid'"),
        (HEADER + ",normal,,Clear.,\n", "row 1: field 'uid'"),
        (HEADER + "1,normal,,Clear.,\n1,normal,,Clear.,\n", "row 2: field 'uid': Expected a new uid"),
        (HEADER + "1,normal,,Clear.\n", "row 1: Expected as many fields"),
    ],
)
def test_read_openi_invalid_row_is_reported(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "reports.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"reports\.csv, {problem}"):
        list(read_openi(path))


@pytest.mark.parametrize(
    ("reference", "candidate", "expected"),
    [
        ([EFFUSION], [EFFUSION], {}),
        ([EFFUSION], [], {"omission": 1}),
        ([], [EFFUSION, EFFUSION], {"false_prediction": 2}),
        ([EFFUSION], [("pleural effusion", "right", "small")], {"incorrect_location": 1}),
        ([EFFUSION], [("pleural effusion", "right", "large")], {"incorrect_location": 1, "incorrect_severity": 1}),
        ([EFFUSION], [("pleural effusion", "left", "base", "round")], {}),  # a detail that one of both states
        ([("pleural effusion", "small")], [("pleural effusion", "mild")], {}),
        ([("opacity", "lung")], [("density", "lung")], {}),
        ([("lung", "hypoinflation")], [("lung", "hyperdistention")], {"omission": 1, "false_prediction": 1}),
        # The second code of the reference matches exactly; the first is omitted.
        ([("opacity", "right"), ("opacity", "left")], [("opacity", "left")], {"omission": 1}),
    ],
)
def test_errors_from_codes_expected_counts(
    reference: list[tuple[str, ...]], candidate: list[tuple[str, ...]], expected: dict[str, float]
) -> None:
    assert nonzero(errors_from_codes(study(*reference), study(*candidate))) == expected


@pytest.mark.parametrize(
    ("path", "significant"),
    [
        (("pneumothorax", "left"), True),
        (("calcified granuloma", "lung"), False),
        (("fractures, bone", "ribs"), True),
        (("fractures, bone", "ribs", "healed"), False),
        (("aorta", "tortuous"), False),
        (("pulmonary atelectasis", "base"), False),
        (("pleural effusion", "left"), True),
        (EFFUSION, False),
        (("lung", "hypoinflation", "left"), False),
        (("lung", "obscured"), True),
    ],
)
def test_is_significant_expected(path: tuple[str, ...], significant: bool) -> None:
    errors = errors_from_codes(study(path), study())
    assert errors["significant_omission"] == significant
    assert errors["insignificant_omission"] == (not significant)


def test_codes_name_findings_of_the_vocabulary() -> None:
    assert FINDINGS.keys() >= set(FINDING_OF_CODE.values())


PATHS = st.lists(
    st.tuples(
        st.sampled_from(["opacity", "scoliosis", "nodule"]),
        st.sampled_from(["left", "right", "base"]),
        st.sampled_from(["mild", "severe", "lung"]),
    ),
    max_size=4,
)


@given(PATHS, PATHS)
def test_errors_from_codes_satisfy_invariants(first: list[tuple[str, ...]], second: list[tuple[str, ...]]) -> None:
    errors, reverse = (errors_from_codes(study(*a), study(*b)) for a, b in ((first, second), (second, first)))
    assert errors["false_prediction"] - errors["omission"] == len(second) - len(first)
    assert (errors["false_prediction"], errors["omission"]) == (reverse["omission"], reverse["false_prediction"])
    for tag in RadCliQCriteria().tags:
        assert errors[tag] == errors[f"significant_{tag}"] + errors[f"insignificant_{tag}"]
    assert errors["incorrect_comparison"] == errors["omission_of_comparison"] == 0
    assert not any(errors_from_codes(study(*first), study(*first)).values())
    first_heads, second_heads = (Counter(head for head, *_ in paths) for paths in (first, second))
    assert errors["omission"] == (first_heads - second_heads).total()


def test_codes_separate_location_severity_and_description() -> None:
    code = MeSHCode.of_path(("opacity", "left", "base", "small", "large", "patchy"))
    assert study(("opacity", "left", "base", "small", "large", "patchy")).codes == {"opacity": [code]}
    assert code.locations == {"left", "base"}
    assert code.severity == "mild"


@pytest.mark.parametrize("criteria", [RadCliQCriteria(), RadCliQSignificanceCriteria()])
def test_groups_from_codes_have_distinct_candidates_and_totals(criteria: Criteria) -> None:
    studies = many()
    groups = list(groups_from_codes(studies, criteria, 4, 50, seed=3))
    assert groups == list(groups_from_codes(studies, criteria, 4, 50, seed=3))
    assert groups != list(groups_from_codes(studies, criteria, 4, 50, seed=4))
    assert len({group.id for group in groups}) == 50
    by_text = {entry.text: entry for entry in studies}
    systems = set()
    for group in groups:
        texts = [entry.text for entry in group.candidates]
        assert len(set(texts) - {group.reference}) == 4
        totals = set()
        for entry in group.candidates:
            assert entry.errors is not None
            counts = errors_from_codes(by_text[group.reference], by_text[entry.text])
            assert entry.errors == {tag: counts[tag] for tag in criteria.tags}
            totals.add(criteria.total(criteria.target_rewards(criteria.to_tensor(entry.errors))).item())
            if entry.system == "shared finding":
                assert by_text[group.reference].codes.keys() & by_text[entry.text].codes.keys()
            if entry.system == "normal":
                assert not by_text[entry.text].codes
            systems.add(entry.system)
        assert len(totals) > 1
    assert systems == {"shared finding", "normal", "random"}


def test_groups_from_codes_similar_studies_or_unknown_criteria_raise() -> None:
    with pytest.raises(InputError, match="studies that differ enough"):
        list(groups_from_codes([study(name=str(index)) for index in range(20)], RadCliQCriteria()))
    with pytest.raises(InputError, match="0 studies gave none"):
        list(groups_from_codes([], RadCliQCriteria()))
    with pytest.raises(InputError, match="but got 'grammar'"):
        groups_from_codes(many(), Criteria("own", [Criterion("grammar", "Bad.")]))
    with pytest.raises(ValueError, match="`candidates_per_reference` to be >= 2"):
        groups_from_codes(many(), RadCliQCriteria(), 1)
    with pytest.raises(ValueError, match="`num_groups` to be >= 1"):
        groups_from_codes(many(), RadCliQCriteria(), num_groups=0)


def test_split_studies_assigns_equal_texts_to_one_split_in_any_order() -> None:
    studies = many(200) + [entry._replace(id=f"again {entry.id}") for entry in many(200)]
    train, test = split_studies(studies, 0.25, seed=1)
    assert not {entry.text for entry in train} & {entry.text for entry in test}
    assert len(train) + len(test) == 400
    assert 60 < len(test) < 140
    assert {entry.id for entry in split_studies(studies[::-1], 0.25, seed=1)[1]} == {entry.id for entry in test}


def write_csv(path: Path, studies: list[Study]) -> None:
    rows = (f"{s.id},{';'.join('/'.join(p) for p in s.code_paths)},,{s.text},\n" for s in studies)
    path.write_text(HEADER + "".join(rows))


def test_write_coded_groups_files_share_no_text(tmp_path: Path) -> None:
    write_csv(tmp_path / "reports.csv", many(200))
    paths = write_coded_groups(tmp_path / "reports.csv", tmp_path / "out", RadCliQCriteria(), 50, 3)
    train, test = ([*read_groups(path, RadCliQCriteria())] for path in paths)
    assert [path.name for path in paths] == ["train.parquet", "test.parquet"]
    assert (len(train), len(test)) == (40, 10)
    texts = [{text for g in part for text in (g.reference, *(c.text for c in g.candidates))} for part in (train, test)]
    assert not texts[0] & texts[1]
    with pytest.raises(ValueError, match="`num_groups` to be >= 2"):
        write_coded_groups(tmp_path / "reports.csv", tmp_path / "out", RadCliQCriteria(), 1, 3)


@pytest.mark.data
def test_read_openi_real_reports(openi_csv: Path) -> None:
    studies = list(read_openi(openi_csv))
    assert len(studies) > 2000
    assert all(entry.text == " ".join(entry.text.split()) for entry in studies)
    assert not any(head.startswith(("normal", "technical", "no ind")) for entry in studies for head in entry.codes)
    train, test = split_studies(studies, 0.2)
    for part in (train, test):
        assert len(list(groups_from_codes(part, RadCliQSignificanceCriteria(), 4, 100))) == 100


def test_train_split_can_be_split_again_with_the_same_seed() -> None:
    train, _ = split_studies([Study(str(n), f"Report {n}.") for n in range(400)], 0.2, 0)
    assert sum(is_held_out(study.text, 0.1, 0) for study in train) > 10


@pytest.mark.parametrize(
    ("path", "location"),
    [
        (("pleural effusion", "left"), "left"),
        (("opacity", "lung", "upper lobe", "right"), "right upper"),
        (("opacity", "lung", "lingula"), None),  # no side is coded
        (("opacity", "lung", "base", "bilateral"), "bilateral lower"),
        (("pleural effusion", "base", "left"), "left"),  # effusions have no zones
        (("cardiomegaly", "mild"), None),
    ],
)
def test_fact_of_a_code_has_its_place(path: tuple[str, ...], location: str | None) -> None:
    fact = MeSHCode.of_path(path).fact
    assert fact
    assert fact.location == location


def test_every_coded_finding_is_a_fact() -> None:
    for heading, qualifier in FINDING_OF_CODE:
        for zone in ZONE_OF_QUALIFIER:
            fact = MeSHCode(heading, frozenset({zone, "left"} | ({qualifier} if qualifier else set()))).fact
            assert fact
            assert fact.location is None or fact.location in FINDINGS[fact.finding].locations
    assert MeSHCode("lung").fact is None


def test_weights_of_codes_are_the_share_of_what_is_right() -> None:
    reference = study(EFFUSION, ("cardiomegaly", "mild"))
    for candidate, matched, wrong in (
        (reference, 0.75, 0.0),
        (study(("cardiomegaly", "mild"), name="2"), 0.5, 0.25),
        (study(EFFUSION, ("cardiomegaly", "mild"), ("pneumothorax", "left"), name="2"), 0.75, 1.0),
        (study(("lung",), name="2"), 0.0, 0.75),  # a code without a finding is left out
    ):
        assert weights_from_codes(reference, candidate) == (matched, wrong)
    assert weights_from_codes(study(), study(name="2")) == (0.0, 0.0)


def test_candidates_of_groups_have_the_weights_of_their_codes() -> None:
    studies = [
        study(EFFUSION, name="1"),
        study(name="2"),
        study(("cardiomegaly",), name="3"),
        study(EFFUSION, name="4"),
    ]
    by_text = {entry.text: entry for entry in studies}
    for group in groups_from_codes(studies, RadCliQCriteria(), 3, 5):
        for candidate in group.candidates:
            expected = weights_from_codes(by_text[group.reference], by_text[candidate.text])
            assert candidate.finding_weights == expected
