"""Devices out of place or with a broken part, and old fractures, are other findings than those that they come from."""

from collections.abc import Iterable

import pytest

from radreward.text.facts import Fact
from radreward.text.findings import BROKEN, DISPLACED, FINDINGS, stated_finding
from radreward.text.report_reading import read_report

FRACTURES = sorted(
    key for key, finding in FINDINGS.items() if (finding.parent, finding.equals_parent) == ("fracture", True)
)


def keys(facts: Iterable[Fact]) -> list[str]:
    return [fact.finding for fact in facts if fact.positive]


@pytest.mark.parametrize("device", sorted(DISPLACED))
@pytest.mark.parametrize(
    "sentence", ["The {} is malpositioned.", "Malposition of the {}.", "The {} is in an abnormal position."]
)
def test_displaced_device_is_another_finding(device: str, sentence: str) -> None:
    name = FINDINGS[device].plain_names[0]
    assert keys(read_report(sentence.format(name)).facts) == [DISPLACED[device]]


@pytest.mark.parametrize("device", sorted(DISPLACED))
@pytest.mark.parametrize("sentence", ["The {} is not malpositioned.", "The {} is in a good position."])
def test_device_in_place_is_the_device(device: str, sentence: str) -> None:
    name = FINDINGS[device].plain_names[0]
    assert keys(read_report(sentence.format(name)).facts) == [device]


@pytest.mark.parametrize(
    ("sentence", "finding"),
    [
        ("ICD with a broken lead.", BROKEN["pacemaker"]),
        ("One of the sternal wires is broken.", BROKEN["sternotomy"]),
        ("Sternal wires are intact.", "sternotomy"),
        ("Broken chest port.", "port"),
    ],
)
def test_broken_part_is_another_finding_of_some_devices(sentence: str, finding: str) -> None:
    assert finding in keys(read_report(sentence).facts)


@pytest.mark.parametrize("fracture", FRACTURES)
def test_old_fracture_is_another_finding(fracture: str) -> None:
    name = FINDINGS[fracture].plain_names[0]
    old = stated_finding(fracture, None, is_healed=True)
    assert old in ("oldribfx", "oldvertfx", "oldfx")
    for sentence in (f"Healed {name}.", f"The {name} is old."):
        assert old in keys(read_report(sentence).facts)
    assert keys(read_report(f"Acute {name}.").facts) == [fracture]
    assert keys(read_report(f"{name.capitalize()} in a 75-year-old woman.").facts) == [fracture]
