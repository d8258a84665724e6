import json
from collections import Counter
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.criteria import RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import compare_facts, tally_errors
from radreward.data.records import read_groups
from radreward.errors import InputError
from radreward.synthesis import synthesize, synthesize_files
from radreward.synthesis.green_pairings import PAIRINGS, GreenPairingWriter
from radreward.synthesis.report_reader import ReportTexts
from radreward.text.report_parser import parse_report

REFERENCES = [
    "Small left pleural effusion. No pneumothorax. Mild cardiomegaly.",
    "Small left pleural effusion. No edema. Moderate cardiomegaly.",
    "Right upper lobe mass. Hiatal hernia. No effusion.",
    "Shrapnel in the left shoulder, and no effusion beside it. Scoliosis.",
    "Scoliosis. Right upper lobe mass. Severe edema.",
]
OUTPUTS = ["Cardiomegaly.", "No edema. Right effusion.", "Hiatal hernia.", "Scoliosis.", "Mild edema."]


def write_reports(path: Path) -> Path:
    rows = [{"report": text, "output": output} for text, output in zip(REFERENCES, OUTPUTS, strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows[:2], {"report": "", "output": ""}, *rows[2:]]))
    return path


@pytest.mark.parametrize("per_reference", [2, 4])
def test_pairings_of_generated_reports_are_equal_parts(per_reference: int) -> None:
    groups = list(synthesize(RadCliQCriteria(), 12, per_reference, seed=1, candidates=GreenPairingWriter()))
    counts = Counter(candidate.system for group in groups for candidate in group.candidates)
    assert counts == dict.fromkeys(PAIRINGS, 12 * per_reference // 4)
    assert groups == list(synthesize(RadCliQCriteria(), 12, per_reference, seed=1, candidates=GreenPairingWriter()))
    for group in groups:
        for candidate in group.candidates:
            sentences = Counter(candidate.text.split(". "))
            if candidate.system == "shuffled":
                assert sum(sentences.values()) <= len(group.reference.split(". "))


def test_outputs_of_a_generator_are_a_fifth_pairing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    reports = write_reports(tmp_path / "reports.jsonl")
    command = (
        f"synthesize --reports {reports} --candidates pairings --generated-column output --per-reference 5 --groups 8"
    )
    assert main([*command.split(), "--output", str(tmp_path / "out")]) == 0
    assert "left out 1 of 5 reports, which are not completely parsed" in caplog.text
    groups = list(read_groups(tmp_path / "out" / "groups.parquet", RadCliQSignificanceCriteria()))
    assert len(groups) == 8
    output_of = dict(zip(REFERENCES, OUTPUTS, strict=True))
    for group in groups:
        assert [candidate.system for candidate in group.candidates] == [*PAIRINGS, "generated"]
        assert group.candidates[-1].text == output_of[group.reference]
        assert group.candidates[0].text in set(REFERENCES) - {group.reference, REFERENCES[3]}
        for candidate in group.candidates:
            reference, stated = (parse_report(text).facts for text in (group.reference, candidate.text))
            assert tally_errors(compare_facts(reference, stated).errors) == candidate.errors
    card = json.loads((tmp_path / "out" / "card.json").read_text(encoding="utf-8"))
    assert card["systems"] == dict.fromkeys(sorted([*PAIRINGS, "generated"]), 8)


def test_groups_default_to_the_pairable_reports(tmp_path: Path) -> None:
    path = synthesize_files(
        tmp_path / "out",
        RadCliQCriteria(),
        reports=write_reports(tmp_path / "reports.jsonl"),
        candidates=GreenPairingWriter(),
    )
    assert len(list(read_groups(path, RadCliQCriteria()))) == 4


def test_invalid_pairings_raise(tmp_path: Path) -> None:
    path = tmp_path / "reports.jsonl"
    path.write_text("".join(json.dumps({"report": text}) + "\n" for text in (REFERENCES[0], REFERENCES[3])))
    writer, with_outputs = GreenPairingWriter(), GreenPairingWriter(generated_column="output")
    with pytest.raises(InputError, match=r"at least two reports that are completely parsed but got 1"):
        synthesize_files(tmp_path / "out", RadCliQCriteria(), reports=path, candidates=writer)
    with pytest.raises(InputError, match="Expected completely parsed reports"):
        list(synthesize(RadCliQCriteria(), 4, reports=REFERENCES, candidates=writer))
    with pytest.raises(InputError, match="generated: Expected 2 outputs, one per report, but got 1"):
        synthesize(RadCliQCriteria(), 1, reports=ReportTexts(REFERENCES[:2], [], ["Edema."]), candidates=writer)
    with pytest.raises(InputError, match="generated_column: Expected a file of reports with this column"):
        next(synthesize(RadCliQCriteria(), 1, candidates=with_outputs))
    with pytest.raises(InputError, match="Expected a column output but got report"):
        synthesize_files(tmp_path / "out", RadCliQCriteria(), reports=path, candidates=with_outputs)


def test_given_outputs_are_a_fifth_pairing() -> None:
    reports = ReportTexts([*REFERENCES[:3], REFERENCES[4]], [], [*OUTPUTS[:3], OUTPUTS[4]])
    group = next(synthesize(RadCliQCriteria(), 1, 5, reports=reports, candidates=GreenPairingWriter()))
    assert [candidate.system for candidate in group.candidates] == [*PAIRINGS, "generated"]
    assert group.candidates[-1].text == OUTPUTS[0]


@pytest.mark.parametrize(
    "options", ["", "--reports r.csv", "--candidates pairings", "--candidates graded --reports r.csv"]
)
def test_generated_column_without_pairings_of_a_file_raises(
    options: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = f"synthesize --generated-column output {options} --output"
    assert main([*command.split(), str(tmp_path / "out")]) == 2
    assert "--generated-column: Expected --candidates pairings and --reports" in capsys.readouterr().err
