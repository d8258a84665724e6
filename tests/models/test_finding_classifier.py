"""The classifier of statements: known statements, any text, batches, formula and fit, shipped and other files."""

from __future__ import annotations

import json
import math
from hashlib import sha256
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import radreward
from experiments.finding_classifier.fit import SMOOTHING, classification_loss, fit_classifier
from experiments.finding_classifier.fit import main as fit
from experiments.finding_classifier.statements import generate_statements, statements_version
from radreward.errors import InputError
from radreward.models.finding_classifier import (
    DATA_CARD,
    EMBEDDED_CLASSIFIER,
    LAYERS,
    NEAR_COUNT,
    NEAR_RATIO,
    OTHER,
    POSSIBLE,
    FindingClassifier,
    Limits,
    classifier_network,
    embedded_classifier,
    statement_vectors,
)
from radreward.models.text_encoder import TextEncoder
from radreward.text.findings import FINDINGS

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
    assert embedded_classifier().reporting([*NOT_REPORTING, *REPORTING]) == frozenset(REPORTING)


def fresh_classifier() -> FindingClassifier:
    """Return the classifier of the package with an empty cache."""
    shared = embedded_classifier()
    return FindingClassifier(shared.network, shared.findings, shared.encoder, {})


@settings(max_examples=15)
@given(st.lists(st.text(max_size=60), max_size=4))
def test_probabilities_of_any_text_do_not_depend_on_the_batch(texts: list[str]) -> None:
    together = fresh_classifier().probabilities(texts)
    assert together.shape == (len(texts),)
    assert ((together >= 0) & (together <= 1)).all()
    alone = [fresh_classifier().probabilities([text]) for text in texts]
    torch.testing.assert_close(together, torch.cat([torch.empty(0), *alone]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", [*REPORTING, *NOT_REPORTING])
def test_reading_is_that_of_the_formula(text: str) -> None:
    classifier = embedded_classifier()
    if not text:
        assert classifier.readings([text])[text].probability == 0
        return
    means = []
    for layer in LAYERS:
        tokens = TextEncoder(layer=layer, device="cpu").encode([text])[text]
        content = tokens.vectors[tokens.content_mask].double()
        means.append(content.mean(0))
    weights = {name: value.double() for name, value in classifier.network.state_dict().items()}
    hidden = weights["1.weight"] @ torch.cat(means) + weights["1.bias"]
    hidden = hidden * (1 + torch.erf(hidden / 2**0.5)) / 2
    exponentials = (weights["4.weight"] @ hidden + weights["4.bias"]).exp()
    findings = dict(zip(classifier.findings, (exponentials[1:] / exponentials[1:].sum()).tolist(), strict=True))
    reading = classifier.readings([text])[text]
    assert reading.probability == pytest.approx((exponentials[1:].sum() / exponentials.sum()).item(), abs=1e-5)
    other = findings.pop(OTHER)
    ordered = sorted(findings, key=findings.__getitem__, reverse=True)
    assert reading.finding == ordered[0]
    assert reading.share == pytest.approx(findings[ordered[0]], abs=1e-5)
    lowest = max(NEAR_RATIO * findings[ordered[0]], other)
    assert reading.near == tuple(key for key in ordered[:NEAR_COUNT] if findings[key] >= lowest)


@pytest.mark.parametrize(
    "text",
    [
        "There is a medical device over the left chest.",
        "Some abnormality of the left lung that cannot be specified.",
        "The kidney has a cyst at its lower pole.",
    ],
)
def test_vague_statement_and_other_finding_mean_no_known_one(text: str) -> None:
    reading = embedded_classifier().readings([text])[text]
    assert reading.probability > 0.5
    assert reading.near == ()
    assert reading.finding in FINDINGS


@pytest.mark.parametrize("text", ["", " ", "x" * 300, "N/A", "3)", "10/12/2020", "14:30", "XXXX.", "12345"])
def test_what_has_no_words_reports_no_finding(text: str) -> None:
    assert embedded_classifier().probabilities([text]).item() < POSSIBLE.unknown


def test_scorers_share_one_classifier_and_bfloat16_is_close_to_it() -> None:
    assert embedded_classifier() is embedded_classifier("cpu", "fp32") is embedded_classifier(precision="fp32")
    texts = [*REPORTING, *NOT_REPORTING]
    half = embedded_classifier(precision="bf16").probabilities(texts)
    torch.testing.assert_close(half, embedded_classifier().probabilities(texts), rtol=0, atol=0.1)


@given(st.integers(0, 2**32), st.integers(2, 5))
def test_loss_is_the_mean_that_a_loop_computes(seed: int, classes: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(6, classes, generator=generator, dtype=torch.float64)
    labels = torch.tensor([-1, *torch.randint(-1, classes, (5,), generator=generator).tolist()])
    losses = []
    for row, label in zip(logits.tolist(), labels.tolist(), strict=True):
        shares = [math.exp(value) / sum(map(math.exp, row)) for value in row]
        if label < 0:
            losses.append(-math.log(1 - shares[0]))
        else:
            smooth = sum(-math.log(share) for share in shares) / classes
            losses.append((1 - SMOOTHING) * -math.log(shares[label]) + SMOOTHING * smooth)
    assert classification_loss(logits, labels).item() == pytest.approx(sum(losses) / 6)


def test_fit_is_deterministic_and_its_files_load(tmp_path: Path) -> None:
    paths = [tmp_path / str(number) / "classifier.safetensors" for number in range(2)]
    assert [fit(output=path, per_kind=2, every=2000, steps=2) for path in paths] == [0, 0]
    assert paths[0].read_bytes() == paths[1].read_bytes()
    loaded = FindingClassifier.load(paths[0])
    assert loaded.fingerprint == FindingClassifier.load(paths[1]).fingerprint != embedded_classifier().fingerprint
    assert loaded.data_card["per_kind"] == 2


def test_fit_learns_the_findings_of_its_statements_with_the_standardization_in_the_first_layer() -> None:
    some = [entry for entry in generate_statements(1) if entry.kind in ("name", "description", "technique", "quality")]
    statements = [entry for entry in some if not entry.finding]
    statements += [entry for entry in some if entry.finding in ("effusion", "fracture")][::4]
    classifier = fit_classifier(statements, {}, steps=15)
    readings = classifier.readings(entry.text for entry in statements)
    own = [readings[entry.text] for entry in statements]
    right = [
        reading.finding == entry.finding if entry.finding else reading.probability < 0.5
        for entry, reading in zip(statements, own, strict=True)
    ]
    assert sum(right) / len(right) > 0.9


def test_shipped_weights_are_those_of_their_data_card() -> None:
    config = json.loads(EMBEDDED_CLASSIFIER.with_suffix(".json").read_text(encoding="utf-8"))
    card = config[DATA_CARD]
    assert config["sha256"] == {EMBEDDED_CLASSIFIER.name: sha256(EMBEDDED_CLASSIFIER.read_bytes()).hexdigest()}
    assert "SYNTHETIC" in card["data"]
    present = statements_version(generate_statements(card["per_kind"], card["seed"]))
    remedy = f"Run `python -m experiments.finding_classifier.fit --output {EMBEDDED_CLASSIFIER}`."
    assert card["statements_sha256"] == present, remedy


def test_damaged_weights_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "classifier.safetensors"
    embedded_classifier().save(path)
    content = bytearray(path.read_bytes())
    content[-5] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match=r"classifier\.safetensors"):
        FindingClassifier.load(path)


def test_classifier_of_another_encoder_is_one_line(tmp_path: Path) -> None:
    shared = embedded_classifier()
    other = classifier_network(5, len(shared.findings))
    FindingClassifier(other, shared.findings, shared.encoder, {}).save(tmp_path / "classifier.safetensors")
    with pytest.raises(
        InputError, match=r"classifier\.safetensors: Expected tensors of the shapes .* Fit the classifier again\."
    ):
        FindingClassifier.load(tmp_path / "classifier.safetensors")


def test_unknown_finding_in_the_file_is_one_line(tmp_path: Path) -> None:
    shared = embedded_classifier()
    findings = ["gout", *shared.findings[1:]]
    FindingClassifier(shared.network, findings, shared.encoder, {}).save(tmp_path / "classifier.safetensors")
    with pytest.raises(InputError, match=r"classifier\.safetensors: Expected known findings but got 'gout'\."):
        FindingClassifier.load(tmp_path / "classifier.safetensors")


def test_batches_of_statements_have_the_vectors_of_single_ones() -> None:
    encoder, texts = embedded_classifier().encoder, [f"Nodule of {size} mm." for size in range(258)]
    vectors = statement_vectors(encoder, texts)
    torch.testing.assert_close(vectors[-1:], statement_vectors(encoder, texts[-1:]), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["ratescore", "sentence-eval"])
def test_technique_quality_and_limits_change_no_quality(name: str) -> None:
    reference = "Small left pleural effusion. Mild cardiomegaly."
    prose = "PA and lateral views of the chest. The patient was rotated. Pneumothorax cannot be assessed on this view."
    scores = radreward.load(name).score([reference], [f"{prose} {reference}"])
    assert scores.status == ("ok",)
    assert scores.quality is not None
    assert float(scores.quality) == pytest.approx(1.0, abs=0.005)  # words break ties


@pytest.mark.parametrize(
    ("statement", "is_dismissed"),
    [
        ("Clinical correlation is recommended.", True),
        ("The findings were discussed with the team at noon.", True),
        ("The lateral view is degraded by motion.", True),
        ("The right apex is obscured by the chin.", True),
        ("The film is rotated and the left lung has come away from the chest wall.", False),
        ("The left lung root is obscured by a hand-sized lump.", False),
        ("Removal of the object that was swallowed is recommended.", False),
    ],
)
def test_only_whole_statements_of_advice_or_image_quality_are_always_dismissed(
    statement: str, is_dismissed: bool
) -> None:
    assert bool(embedded_classifier().dismissed([statement], Limits(-1.0, -1.0))) == is_dismissed
