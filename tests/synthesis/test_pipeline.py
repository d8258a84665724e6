import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.criteria import Criteria, MRScore, RadCliQ, RadCliQSignificance
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.synthesis import synthesize, synthesize_files
from radreward.synthesis.annotate import LONGEST, annotate
from radreward.synthesis.differences import count_errors, radcliq_errors
from radreward.synthesis.pipeline import read_reports

ALL = [RadCliQ(), RadCliQSignificance(), MRScore()]
DIGEST = """
import hashlib
from radreward.criteria import MRScore
from radreward.synthesis import synthesize
print(hashlib.sha256(repr(list(synthesize(MRScore(), 30, seed=4))).encode()).hexdigest())
"""
REPORTS = [
    "FINDINGS: Small left pleural effusion near the shrapnel. No edema. IMPRESSION: Small left effusion.",
    "No pneumothorax. The heart size is normal. Mild right basilar atelectasis.",
    "Hiatal hernia. Unchanged cardiomegaly. No effusion",
]


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: criteria.name)
def test_groups_have_different_totals_and_all_tags(criteria: Criteria) -> None:
    for group in synthesize(criteria, 60, 4, seed=2):
        assert len(group.candidates) == 4
        errors = [candidate.errors or {} for candidate in group.candidates]
        assert all(tuple(entry) == criteria.tags for entry in errors)
        assert len({float(criteria.total(criteria.quality(criteria.vector(entry)))) for entry in errors}) > 1


def test_counts_are_what_the_texts_say() -> None:
    for group in synthesize(RadCliQ(), 300, seed=3):
        reference = annotate(group.reference).facts
        for candidate in group.candidates:
            counts = radcliq_errors(count_errors(reference, annotate(candidate.text).facts))
            assert counts == candidate.errors, (group.reference, candidate.text)


def test_a_group_depends_on_seed_and_number_only() -> None:
    many, few = list(synthesize(RadCliQ(), 20, seed=5)), list(synthesize(RadCliQ(), 10, seed=5))
    assert many[:10] == few
    assert [group.id for group in few] == [f"synthetic-5-{number}" for number in range(10)]
    assert few != list(synthesize(RadCliQ(), 10, seed=6))


def test_other_processes_give_the_same() -> None:
    expected = hashlib.sha256(repr(list(synthesize(MRScore(), 30, seed=4))).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", DIGEST]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == expected


def test_real_reports_keep_their_text_and_take_turns() -> None:
    groups = list(synthesize(MRScore(), 12, seed=1, reports=REPORTS))
    assert [group.reference for group in groups] == REPORTS * 4
    for group in groups[::3]:
        assert all("near the shrapnel." in candidate.text for candidate in group.candidates)
    assert groups == list(synthesize(MRScore(), 12, seed=1, reports=REPORTS))


@pytest.mark.parametrize(("groups", "per_reference", "name"), [(0, 3, "groups"), (3, 1, "per_reference")])
def test_numbers_too_small(groups: int, per_reference: int, name: str) -> None:
    with pytest.raises(ValueError, match=rf"`{name}` to be >="):
        next(synthesize(RadCliQ(), groups, per_reference))


@pytest.mark.parametrize("criteria", ALL, ids=lambda criteria: criteria.name)
def test_files_and_card_add_up(tmp_path: Path, criteria: Criteria) -> None:
    path = synthesize_files(tmp_path / "out", criteria, 25, 3, seed=1)
    groups = list(read_groups(path, criteria))
    assert groups == list(synthesize(criteria, 25, 3, seed=1))
    candidates = [candidate for group in groups for candidate in group.candidates]
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert (card["groups"], card["candidates"], card["seed"]) == (25, 75, 1)
    assert card["systems"] == Counter(candidate.system for candidate in candidates)
    for tag in criteria.tags:
        counts = [(candidate.errors or {})[tag] for candidate in candidates]
        assert card["errors"][tag] == {"count": sum(counts), "candidates": sum(count > 0 for count in counts)}
    words = [len(group.reference.split()) for group in groups]
    assert card["mean_words"]["reference"] == round(sum(words) / 25, 1)
    written = (tmp_path / "out" / "card.md").read_text(encoding="utf-8")
    assert "SYNTHETIC" in written
    assert all(f"| {tag} |" in written for tag in criteria.tags)


def _csv(tmp_path: Path, content: str | bytes) -> Path:
    path = tmp_path / "my.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        ("id,words\n1,No edema.\n", ["a column report, reference, text, or findings and impression", "id, words"]),
        ("report\nNo edema.\n", ["at least two reports", "got 1"]),
        ("report\n\n", ["at least two reports", "got 0"]),
        (b"report\nNo edema.\n\xff\xfe scar.\n", ["row 2", "'report'", "UTF-8"]),
        ("report\nNo edema.\nScar.,more\n", ["row 2", "as many fields"]),
        (f"report\nNo edema.\n{'a ' * LONGEST}\n", ["row 2", "'report'", f"at most {LONGEST} characters"]),
    ],
)
def test_reports_that_cannot_be_used(tmp_path: Path, content: str | bytes, parts: list[str]) -> None:
    path = _csv(tmp_path, content)
    with pytest.raises(InputError) as error:
        synthesize_files(tmp_path / "out", RadCliQ(), 2, reports=path)
    message = str(error.value)
    assert "\n" not in message
    assert all(part in message for part in [str(path), *parts]), message
    assert not (tmp_path / "out" / "groups.parquet").exists()


@pytest.mark.parametrize("value", [float("nan"), 3.0])
def test_a_number_is_no_report(tmp_path: Path, value: float) -> None:
    path = tmp_path / "my.parquet"
    pq.write_table(pa.table({"report": [1.0, value]}), path)
    with pytest.raises(InputError, match=r"my\.parquet, row 1, field 'report': Expected text but got 1\.0"):
        read_reports(path)
    lines = [json.dumps({"report": "No edema."}), json.dumps({"report": value})]
    path = tmp_path / "my.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(InputError, match=rf"my\.jsonl, row 2, field 'report': Expected text but got {value}"):
        read_reports(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv"):
        read_reports(tmp_path / "none.csv")


def test_empty_reports_are_left_out_and_sections_joined(tmp_path: Path) -> None:
    path = _csv(tmp_path, 'findings,impression\n"No  edema.\nScar.",\n,\n,Scoliosis.\nNo mass.,Scar.\n')
    assert read_reports(path) == ["No edema. Scar.", "Scoliosis.", "No mass. Scar."]


def test_a_column_of_ones_choice(tmp_path: Path) -> None:
    path = _csv(tmp_path, "report,other\nScar.,No edema.\nScar.,No mass.\n")
    assert read_reports(path, "other") == ["No edema.", "No mass."]
    with pytest.raises(InputError, match=r"Expected a column none but got report, other"):
        read_reports(path, "none")
