"""The table of relations between findings."""

import pytest

from radreward.text.finding_relations import MEANT_BY_VAGUE_NAME, SAME_CARE, SHOWN_BY_SIGN
from radreward.text.findings import FINDINGS, ancestors, can_mean_same, is_related, means_same_care, remove_related
from radreward.text.section_files import read_sections


@pytest.mark.parametrize("table", [SHOWN_BY_SIGN, MEANT_BY_VAGUE_NAME], ids=["shows", "vague"])
def test_relations_name_findings_that_are_no_kinds_of_each_other(table: dict[str, frozenset[str]]) -> None:
    for name, meanings in table.items():
        assert {name, *meanings} <= FINDINGS.keys()
        assert not [key for key in meanings if name in ancestors(key) or key in ancestors(name)]


def test_every_name_has_one_line_per_section() -> None:
    for section, lines in read_sections("relations.txt").items():
        names = [line.split(" | ")[0] for line in lines]
        assert len(set(names)) == len(names), section


def test_relations_are_symmetric_and_vague_names_do_not_contradict_denials() -> None:
    for first in FINDINGS:
        for second in FINDINGS:
            assert is_related(first, second) == is_related(second, first)
            assert can_mean_same(first, second) == can_mean_same(second, first)
            assert means_same_care(first, second) == means_same_care(second, first)
            assert can_mean_same(first, second) or not is_related(first, second)
    assert not is_related("opacity", "mass")
    assert remove_related(["kerley", "edema", "opacity", "mass"]) == ["kerley", "opacity", "mass"]


def test_same_care_pairs_can_mean_the_same() -> None:
    for pair in SAME_CARE:
        first, second = sorted(pair)
        assert can_mean_same(first, second)
        assert means_same_care(first, second)
