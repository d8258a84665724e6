"""The study of parts runs on its documented data, and the command that measures its models goes on where it ended."""

import re
import shlex
from pathlib import Path
from random import Random

import pytest
import yaml

from experiments.er2score import parts
from experiments.er2score.same_names import Kind, SameNames, has_other_name
from experiments.er2score.separate_sentences import separated
from experiments.probes import order
from experiments.probes.order import FOLDER
from radreward.cli import main as radreward
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.models import load_reward_model, save_reward_model
from radreward.synthesis import CandidateWriter, ContrastWriter, GradedWriter, synthesize
from radreward.synthesis.candidate_writer import Reference
from radreward.synthesis.grammar import render_report
from radreward.synthesis.report_styles import ReportStyle
from radreward.systems.er2score.scorer import EMBEDDED_DIR
from radreward.text.facts import AnnotatedReport, Fact
from radreward.text.report_parser import parse_report

ROOT = Path(__file__).resolve().parents[3]
STUDY = Path("experiments/er2score/parts.yaml")
VARIANTS = ["all", "no composed sentences", "no graded findings", "no contrast", "no signs"]


@pytest.fixture
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    """Return the folder of a study of one seed and one step per model."""
    monkeypatch.chdir(tmp_path)
    Path("experiments").symlink_to(ROOT / "experiments")
    text = STUDY.read_text(encoding="utf-8")
    commands = re.findall(r"radreward (synthesize .*)", text)
    assert len(commands) == 7
    for command in commands:
        assert radreward([*shlex.split(command), "--groups=2"]) == 0
    save_reward_model(load_reward_model(EMBEDDED_DIR), Path("runs/er2score-full/evidence/model"))
    settings = yaml.safe_load(text)
    assert list(settings["space"]["data"]["variants"]) == VARIANTS
    settings["space"]["seed_everything"] = {"choices": [0]}
    Path("one.yaml").write_text(yaml.safe_dump(settings, sort_keys=False), encoding="utf-8")
    steps = ("trainer.max_steps=1", "trainer.val_check_interval=1", "data.batch_size=2", "trainer.logger=false")
    assert radreward(["tune", "--config=one.yaml", *steps, "trainer.enable_progress_bar=false"]) == 0
    capsys.readouterr()
    return Path("runs/parts")


def test_interrupted_measurement_goes_on(
    study: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("probes").mkdir()
    for name, count in (("signs", 4), ("normal", 3)):  # the first rows of the files
        rows = (FOLDER / "second" / f"{name}.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        Path("probes", f"{name}.jsonl").write_text("".join(rows[:count]), encoding="utf-8")
    for module in (parts, order):
        monkeypatch.setattr(module, "FOLDER", Path("probes"))
    monkeypatch.setattr(parts, "SETS", ("",))
    monkeypatch.setattr(parts, "KINDS", ("signs",))
    measure, limit = parts.probe_counts, 2
    measured: list[tuple[str, bool]] = []

    def counts(model: Path, gate: bool, groups: int) -> dict[str, int]:
        if len(measured) == limit:
            raise KeyboardInterrupt
        measured.append((model.parent.name, gate))
        return measure(model, gate, groups)

    monkeypatch.setattr(parts, "probe_counts", counts)
    with pytest.raises(KeyboardInterrupt):
        parts.main(study=study, groups=2)
    assert not capsys.readouterr().out
    limit = 6
    assert parts.main(study=study, groups=2) == 0
    assert measured == [*((str(number), True) for number in range(5)), ("0", False)]
    header, _, *rows = capsys.readouterr().out.strip().splitlines()
    assert [cell.strip() for cell in header.strip("|").split("|")] == ["probes", *VARIANTS, "no gate"]
    assert [row.split("|")[1].strip() for row in rows] == ["signs, quality", "signs, total", "normal reports"]
    for row in rows:
        highest = 3 if "normal" in row else 4
        assert all(0 <= float(cell) <= highest for cell in row.strip("|").split("|")[1:])


def test_main_refuses_a_folder_without_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert parts.main(study=tmp_path) == 2
    assert str(tmp_path) in capsys.readouterr().err


def _style(rng: Random) -> ReportStyle:
    return ReportStyle(compose_probability=0.5, joint_probability=0.0)


def _has_shared_sentence(report: AnnotatedReport) -> bool:
    return any(len({fact.finding for fact in sentence.facts if fact.positive}) > 1 for sentence in report.sentences)


def test_separated_reference_has_the_same_findings_and_no_composed_sentence() -> None:
    facts = [Fact(key, location="left") for key in ("effusion", "ribfx", "subq")]
    reports, others = [], []
    for seed in range(30):
        rng = Random(seed)
        reports.append(render_report(facts, rng, _style(rng)))
        reference = separated(Reference.among_generated(reports[-1], _style), rng)
        others += [reference.report, reference.sample_other(rng)]
        assert {fact.finding for fact in reference.report.facts if fact.positive} >= {"effusion", "ribfx", "subq"}
    assert any(map(_has_shared_sentence, reports))
    assert not any(map(_has_shared_sentence, others))


@pytest.mark.parametrize("kind", ["graded", "contrast"])
def test_no_candidate_has_another_name_for_a_finding_of_the_reference(kind: Kind) -> None:
    writers: dict[Kind, CandidateWriter] = {"graded": GradedWriter(), "contrast": ContrastWriter()}
    found: dict[str, list[bool]] = {"all": [], "same names": []}
    for name, writer in (("all", writers[kind]), ("same names", SameNames(kind))):
        for group in synthesize(RadCliQSignificanceCriteria(), 15, 4, seed=1, candidates=writer):
            reference = parse_report(group.reference)
            reports = [parse_report(candidate.text) for candidate in group.candidates]
            found[name] += [has_other_name(reference, report) for report in reports]
    assert any(found["all"])
    assert not any(found["same names"])
