"""Test of the script that prints the figures of a reward model."""

import importlib.util
from pathlib import Path
from random import Random
from types import ModuleType

import pytest
import torch

from radreward.criteria import RadCliQCriteria
from radreward.criteria.error_counting import count_errors, to_radcliq_counts
from radreward.models import Backbone, Calibration, PooledRewardModel, RewardModelArtifact, save_reward_model
from radreward.prompts import PlainPairTemplate
from radreward.systems.er2score.statements import StatementEvidence
from radreward.text.report_parser import parse_report
from radreward.types import LocatedError, Side

SCRIPT = Path(__file__).resolve().parents[1] / "experiments" / "er2score" / "figures.py"


@pytest.fixture(scope="module")
def figures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("figures", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def errors_between(reference: str, candidate: str) -> dict[str, int]:
    counts = to_radcliq_counts(count_errors(parse_report(reference).facts, parse_report(candidate).facts))
    return {tag: count for tag, count in counts.items() if count}


@pytest.mark.parametrize("size", [1, 7])
def test_dosed_reports_have_the_stated_errors(figures: ModuleType, size: int) -> None:
    reference, *edited = figures.dosed_report(size, Random(size))
    expected = [{tag: number} for _, tag, number in figures.DOSES.values()]
    assert [errors_between(reference, text) for text in edited] == expected


def test_generated_rewrites_omit_no_finding(figures: ModuleType) -> None:
    for reference, rewritten in figures.generated_rewrites(4, 0):
        assert reference != rewritten
        first, second = (parse_report(text).facts for text in (reference, rewritten))
        assert {fact.finding for fact in first if fact.positive} <= {fact.finding for fact in second}


def test_the_statements_of_errors_are_found_by_side_and_text(figures: ModuleType) -> None:
    evidence = StatementEvidence(Side.CANDIDATE, "Left effusion. ", 0, 14, {}, "")
    for located, expected in (
        (LocatedError(Side.CANDIDATE, ("Clear.", "Left effusion."), {}), True),
        (LocatedError(Side.REFERENCE, ("Left effusion.",), {}), False),
        (LocatedError(Side.CANDIDATE, ("Right effusion.",), {}), False),
    ):
        assert figures.is_statement_of(evidence, located) == expected


def test_figures_of_a_model_are_printed(
    figures: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    torch.manual_seed(0)
    criteria = RadCliQCriteria()
    calibration = Calibration([[(-1.0, 2.0), (1.0, 0.0)]] * len(criteria))
    saved = RewardModelArtifact(
        PooledRewardModel(Backbone("tiny-bert"), criteria), PlainPairTemplate(), 200, calibration
    )
    save_reward_model(saved, tmp_path / "model")
    codes = ("normal", "Opacity/lung/left", "Pleural effusion/right/small")
    rows = [f"{n},{codes[n % 3]},Small right pleural effusion. Chest film {n}. Mild edema.,\n" for n in range(100)]
    (tmp_path / "openi.csv").write_text("uid,MeSH,findings,impression\n" + "".join(rows))
    options = {"groups": 2, "reports": 1, "openi": tmp_path / "openi.csv"}
    assert figures.main(model=str(tmp_path / "model"), **options) == 0
    table = capsys.readouterr().out
    for figure in (
        "τ-b of total",
        "AUC of omission;",
        "three false findings",
        "order probes",
        "Open-i: τ-b",
        "reworded",
    ):
        assert figure in table
    assert "quality" not in table  # the model has none
    assert "marked" not in table  # nor has it evidence
    assert figures.main(model="rouge-l", groups=2, reports=1) == 2
    assert capsys.readouterr().err == "--model: Expected a reward model but rouge-l counts no errors.\n"
