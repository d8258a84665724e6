"""Labels of the statements on which the gate of findings is measured, the tables, and the projection of names."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pytest
import torch
from torch.nn import functional as F

from experiments.finding_gate import recognition
from experiments.finding_gate.descriptions import WRITERS, described_findings, plain_statements
from experiments.finding_gate.evaluate import coded_sentences, labelled_statements, main
from experiments.finding_gate.projection import TEMPERATURE, contrastive_loss, fit_projection
from experiments.openi.studies import Study
from radreward.models.finding_names import known_names
from radreward.text.findings import FINDINGS


def test_sentences_have_the_label_of_the_codes_of_their_study() -> None:
    studies = [
        Study("1", "Small pleural effusion. Heart is normal.", (("pleural effusion", "left"),)),
        Study("2", "Heart is normal. Clear lungs."),
    ]
    expected = {"Small pleural effusion.": True, "Heart is normal.": False, "Clear lungs.": False}
    assert coded_sentences(studies) == expected


def test_parts_have_no_statement_in_common() -> None:
    assert labelled_statements("development").keys().isdisjoint(labelled_statements("held out"))


def test_table_has_a_row_per_rule_and_data(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| labelled")]
    assert len(lines) == 20
    gate = [line.split(" | ") for line in lines if "| gate |" in line]
    assert all(float(row[5]) >= 0.65 and float(row[6].strip(" |")) <= 0.15 for row in gate)
    assert main(csv=tmp_path / "nowhere.csv") == 2
    assert "nowhere.csv" in capsys.readouterr().err


def test_projection_minimizes_the_loss_that_a_loop_computes() -> None:
    projected = torch.randn(6, 4, generator=torch.manual_seed(0))
    labels = torch.tensor([0, 0, 1, -1, -1, 0])
    losses = []
    for i in (0, 1, 5):  # the only finding of number 2 has no other name, 3 and 4 state none
        cosines = {j: torch.cosine_similarity(projected[i], projected[j], dim=0).item() for j in range(6) if j != i}
        log_sum = math.log(sum(math.exp(cosine / TEMPERATURE) for cosine in cosines.values()))
        losses.append(-sum(cosines[j] / TEMPERATURE - log_sum for j in (0, 1, 5) if j != i) / 2)
    assert contrastive_loss(projected, labels).item() == pytest.approx(sum(losses) / 3, abs=1e-4)


def test_fitted_projection_leaves_out_what_is_not_about_the_finding() -> None:
    generator = torch.manual_seed(1)
    names = torch.randn(5, 16, generator=generator).repeat_interleave(40, 0)
    noise = torch.randn(200, 4, generator=generator) @ torch.randn(4, 16, generator=generator)  # sides, degrees
    vectors, labels = names + noise, torch.arange(5).repeat_interleave(40)
    fitted_center, fitted = fit_projection(vectors[::2], labels[::2], steps=60)

    def share_right(weights: torch.Tensor, center: torch.Tensor) -> float:
        known, others = (F.normalize((part - center) @ weights.T, dim=1) for part in (vectors[::2], vectors[1::2]))
        return (labels[::2][(others @ known.T).argmax(1)] == labels[1::2]).float().mean().item()

    assert share_right(fitted, fitted_center) > share_right(torch.eye(16), torch.zeros(16))
    assert torch.equal(fitted, fit_projection(vectors[::2], labels[::2], steps=60)[1])


def test_every_finding_is_described_by_both_writers_and_no_text_occurs_twice() -> None:
    described = [described_findings(writer) for writer in WRITERS]
    for texts in described:
        counts = Counter(texts.values())
        assert counts.keys() == FINDINGS.keys()
        assert min(counts.values()) >= 15
    statements = [plain_statements(writer) for writer in WRITERS]
    distinct = {text.lower().rstrip(".") for part in (*described, *statements) for text in part}
    assert len(distinct) == sum(map(len, (*described, *statements)))
    assert distinct.isdisjoint(name.rstrip(".") for name in known_names())


def test_table_of_recognition_has_a_row_per_way_and_shares(capsys: pytest.CaptureFixture[str]) -> None:
    assert recognition.main(every=200, steps=2) == 0
    *_, header, _, first, second, third, fourth = capsys.readouterr().out.strip().splitlines()
    assert header.count("|") == len(recognition.COLUMNS) + 1
    for row in (first, second, third, fourth):
        top, near, taken, other = (float(cell) for cell in row.split("|")[3:-1])
        assert taken <= top <= 1
        assert taken + other <= 1
        assert near <= 1
