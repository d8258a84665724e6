"""The gate of statements that report a finding: known statements, any text, batches, shipped file, other encoders."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import radreward
from experiments.finding_gate.fit import fit_gate
from experiments.finding_gate.fit import main as fit
from experiments.finding_gate.statements import generate_statements
from radreward.errors import InputError
from radreward.models.finding_gate import DATA_CARD, EMBEDDED_GATE, FindingGate, embedded_gate, statement_vectors

REPORTING = (
    "Low lung volumes.",
    "The bones are demineralized.",
    "Tree-in-bud pattern in the left base.",
    "Possible small effusion.",
    "The effusion has resolved.",
)
NOT_REPORTING = (
    "",
    "No pneumothorax.",
    "The lungs are clear.",
    "PA and lateral views of the chest.",
    "The patient was rotated.",
    "Pleural effusion cannot be assessed on this view.",
    "Follow-up radiograph in six weeks is recommended.",
)


def test_known_statements_pass_or_do_not() -> None:
    assert embedded_gate().reporting([*NOT_REPORTING, *REPORTING]) == frozenset(REPORTING)


@given(st.lists(st.text(max_size=60), max_size=4))
def test_probabilities_of_any_text_do_not_depend_on_the_batch(texts: list[str]) -> None:
    gate = FindingGate(embedded_gate().weight, embedded_gate().bias, embedded_gate().encoder)  # with an empty cache
    together = gate.probabilities(texts)
    assert together.shape == (len(texts),)
    assert ((together >= 0) & (together <= 1)).all()
    alone = [FindingGate(gate.weight, gate.bias, gate.encoder).probabilities([text]) for text in texts]
    torch.testing.assert_close(together, torch.cat([torch.empty(0), *alone]), rtol=1e-4, atol=1e-5)


def test_probability_is_that_of_the_formula_and_the_fit_that_of_sklearn() -> None:
    statements = generate_statements(3, seed=4, writers=())
    gate = fit_gate(statements, {})
    texts = [entry.text for entry in statements]
    vectors = statement_vectors(gate.encoder, texts)
    expected = 1 / (1 + torch.exp(-(vectors.double() @ gate.weight.double() + gate.bias)))
    torch.testing.assert_close(gate.probabilities(texts).double(), expected, rtol=1e-5, atol=1e-6)
    labels = [entry.finding for entry in statements]
    sizes = {(own.finding, own.kind): 0 for own in statements}
    for own in statements:
        sizes[own.finding, own.kind] += 1
    kinds = {finding: sum(key[0] == finding for key in sizes) for finding in (True, False)}
    weights = [len(labels) / 2 / kinds[own.finding] / sizes[own.finding, own.kind] for own in statements]
    model = LogisticRegression(max_iter=3000).fit(vectors.double().numpy(), labels, sample_weight=weights)
    assert gate.bias == pytest.approx(float(model.intercept_[0]))


def test_fit_is_deterministic_and_its_files_load(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) / "gate.safetensors" for number in range(2)]
    assert [fit(output=path, per_kind=2, every=20) for path in paths] == [0, 0]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    loaded = FindingGate.load(paths[0])
    assert loaded.fingerprint == FindingGate.load(paths[1]).fingerprint != embedded_gate().fingerprint
    assert loaded.data_card["per_kind"] == 2


def test_shipped_weights_are_those_of_their_data_card() -> None:
    card = json.loads(EMBEDDED_GATE.with_suffix(".json").read_text(encoding="utf-8"))
    assert card["sha256"] == {EMBEDDED_GATE.name: sha256(EMBEDDED_GATE.read_bytes()).hexdigest()}
    assert "SYNTHETIC" in card[DATA_CARD]["data"]
    entries = generate_statements(card[DATA_CARD]["per_kind"], card[DATA_CARD]["seed"])
    counts: dict[str, int] = {}
    for entry in entries:
        key = f"{'finding' if entry.finding else 'none'}: {entry.kind}"
        counts[key] = counts.get(key, 0) + 1
    assert card[DATA_CARD]["statements"] == counts


def test_damaged_weights_are_one_line(tmp_path: Path) -> None:
    gate, path = embedded_gate(), tmp_path / "gate.safetensors"
    gate.save(path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"gate\.safetensors"):
        FindingGate.load(path)


def test_gate_of_another_encoder_is_one_line(tmp_path: Path) -> None:
    gate = embedded_gate()
    FindingGate(gate.weight[:3], gate.bias, gate.encoder).save(tmp_path / "gate.safetensors")
    with pytest.raises(InputError, match=r"gate\.safetensors: Expected tensors of the shapes .* Fit the gate again\."):
        FindingGate.load(tmp_path / "gate.safetensors")


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval"])
def test_technique_quality_and_limits_change_no_quality(name: str) -> None:
    reference = "Small left pleural effusion. Mild cardiomegaly."
    prose = "PA and lateral views of the chest. The patient was rotated. Pneumothorax cannot be assessed on this view."
    scores = radreward.load(name).score([reference], [f"{prose} {reference}"])
    assert scores.status == ("ok",)
    assert scores.quality is not None
    assert float(scores.quality) == pytest.approx(1.0, abs=0.005)  # words break ties
