"""Names of findings as vectors: shipped file, similarity, statements that are taken for a finding."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from experiments.finding_gate.names import main as make_names
from experiments.finding_gate.names import mean_vectors, names_and_statements
from radreward import load
from radreward.errors import InputError
from radreward.models.finding_gate import FindingGate, embedded_gate
from radreward.models.finding_names import EMBEDDED_NAMES, FindingNames, embedded_names, known_names, names_version
from radreward.models.report_findings import read_findings
from radreward.text.fact_matching import match_facts
from radreward.text.sentence_parser import sentence_facts

FREE_AIR = "Gas between the liver and the right diaphragmatic dome."
ANEURYSM = "The aorta is abnormally wide along its downward course in the chest."


def test_shipped_vectors_are_those_of_the_present_names() -> None:
    names, present = embedded_names(), names_and_statements()
    remedy = f"Run `python -m experiments.finding_gate.names --output {EMBEDDED_NAMES}`."
    assert names.version == names_version(present), remedy
    assert names.findings == tuple(present.values()), remedy
    projected = mean_vectors(embedded_gate().encoder, list(present)[::311]) - names.center
    vectors = torch.nn.functional.normalize(projected @ names.projection.T, dim=1)
    torch.testing.assert_close(names.vectors[::311], vectors, rtol=0, atol=2e-3, msg=remedy)


def test_names_are_most_similar_to_those_of_the_same_finding() -> None:
    known = known_names()
    similar = embedded_gate().similar_names(list(known)[::37])
    right = [known[name] == found.finding for name, found in similar.items()]
    assert sum(right) / len(right) > 0.9
    assert min(found.similarity for found in similar.values()) > 0.5


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_most_similar_finding_has_the_largest_mean_of_three_cosines(seed: int, count: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    vectors = torch.nn.functional.normalize(torch.randn(count, 4, generator=generator), dim=1)
    keys = [str(key) for key in torch.randint(5, (count,), generator=generator).tolist()]
    means, center, projection = (torch.randn(shape, generator=generator) for shape in ((3, 5), (5,), (4, 5)))
    names = FindingNames(vectors, keys, center, projection, "")
    for mean, similar in zip(means, names.most_similar(means), strict=True):
        projected = torch.stack([(row * (mean - center)).sum() for row in projection])
        cosines: dict[str, list[float]] = {key: [] for key in keys}
        for key, vector in zip(keys, vectors, strict=True):
            cosines[key].append(torch.cosine_similarity(projected, vector, dim=0).item())
        largest = {key: sorted(values, reverse=True)[:3] for key, values in cosines.items()}
        averages = {key: (sum(values) + (3 - len(values)) * values[-1]) / 3 for key, values in largest.items()}
        assert similar.similarity == pytest.approx(max(averages.values()), abs=1e-5)
        assert averages[similar.finding] == pytest.approx(similar.similarity, abs=1e-5)


def test_files_are_deterministic_and_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    some = dict(list(known_names().items())[:40])
    monkeypatch.setattr("experiments.finding_gate.names.names_and_statements", lambda: some)
    paths = [tmp_path / str(number) / "names.safetensors" for number in range(2)]
    for path in paths:
        make_names(output=path, steps=3)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert FindingNames.load(paths[0]).findings == tuple(some.values())


def test_unknown_finding_in_the_file_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "names.safetensors"
    FindingNames(torch.eye(2), ["edema", "gout"], torch.zeros(2), torch.eye(2), "").save(path)
    with pytest.raises(InputError, match=r"names\.safetensors: Expected known findings but got 'gout'\."):
        FindingNames.load(path)


@pytest.mark.parametrize(("text", "finding"), [(FREE_AIR, "freeair"), (ANEURYSM, "aneurysm")])
def test_statement_in_other_words_is_taken_for_a_finding_unless_a_model_reads_it(text: str, finding: str) -> None:
    assert sentence_facts(text) == ()
    gate = _certain_gate()
    [taken] = read_findings([text], gate).values()
    assert [fact.finding for fact in taken.facts] == [finding]
    assert taken.recognized == {text: taken.facts[:1]}
    assert taken.unread == ()
    [left] = read_findings([text], gate, recognize=False).values()
    assert (left.facts, left.unread, left.recognized) == ((), (text,), {})


def test_finding_that_the_report_names_is_not_counted_twice() -> None:
    [findings] = read_findings([f"Free air is present. {FREE_AIR}"], _certain_gate()).values()
    assert [fact.finding for fact in findings.facts] == ["freeair"]
    assert findings.unread == ()


def test_details_of_a_statement_in_other_words_are_read() -> None:
    text = "Large rim of gas around the collapsed left lung edge, bigger than before."
    [findings] = read_findings([text], _certain_gate()).values()
    [fact] = findings.facts
    assert fact.location == "left"


def test_statements_without_findings_are_not_taken_for_findings() -> None:
    texts = ["Frontal and lateral views were obtained.", "Clinical correlation is recommended.", "The film is rotated."]
    for findings in read_findings(texts, embedded_gate()).values():
        assert findings.facts == ()
        assert findings.recognized == {}


@pytest.mark.parametrize("name", ["crimson", "ratescore", "sentence-eval", "entity-f1"])
def test_scorers_prefer_the_same_finding_in_other_words(name: str) -> None:
    reference = "Free air under the diaphragm."
    other = "Gas lies between the liver and the dome of the diaphragm."
    assert sentence_facts(other) == ()
    scores = load(name).score([reference] * 2, [other, "Right pneumothorax."])
    values = scores.total if scores.quality is None else scores.quality
    assert values[0] > values[1]


def test_recognized_facts_match_those_that_are_read() -> None:
    [taken] = read_findings([FREE_AIR], _certain_gate()).values()
    assert [match.result for match in match_facts(sentence_facts("Free air."), taken.facts)] == ["matched"]


def _certain_gate() -> FindingGate:
    """Return a gate that every statement passes; names are found as by the gate of the package."""
    gate = embedded_gate()
    return FindingGate(torch.zeros_like(gate.weight), 9.0, gate.encoder)
