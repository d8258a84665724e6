"""Generative scorers: GREEN and RadReason parse the answers of an evaluator."""

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.criteria.error_counting import count_errors, to_radcliq_counts
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.errors import InputError
from radreward.io.tables import read_rows
from radreward.models import Backbone, LoRA
from radreward.models.generative_evaluator import GeneratedAnswer, GenerativeEvaluator, load_generative_evaluator
from radreward.models.tiny_backbones import tiny_model
from radreward.prompts.generative_template import GenerativeTemplate
from radreward.scorers import load
from radreward.scorers.explanation import Explanation
from radreward.scorers.generative import GenerativeScorer
from radreward.scoring.file_scoring import score_file
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.green.scorer import GreenScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.scorer import RadReasonScorer
from radreward.text.report_parser import parse_report
from tests.model_folders import renew_digests

REFERENCE = "Moderate left effusion. There is a nodule."
CANDIDATES = ["Moderate left effusion. There is a nodule.", "Moderate right effusion.", "There is scoliosis."]


def make_evaluator(
    template: GenerativeTemplate, criteria: Criteria, lora: LoRA | None = None, max_length: int = 400
) -> GenerativeEvaluator:
    backbone = Backbone("tiny-llama", lora=lora)
    model = backbone.build(causal_lm=True)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.fill_(0.5)
    return GenerativeEvaluator(
        backbone, model, ChatPromptEncoder("tiny-llama", criteria, template, max_length, 12), {"steps": 1}
    )


class FactEvaluator(GenerativeEvaluator):
    """Evaluator that answers from the facts of both reports, or with a fixed text."""

    answer: str | None = None

    def generate(
        self, references: Sequence[str], candidates: Sequence[str], truncate: bool = False, batch_size: int = 64
    ) -> list[GeneratedAnswer]:
        return [
            GeneratedAnswer(self.answer or self._answer_from_facts(*pair), "stop", None, False)
            for pair in zip(references, candidates, strict=True)
        ]

    def _answer_from_facts(self, reference: str, candidate: str) -> str:
        criteria = self.prompt_encoder.criteria
        counts = count_errors(parse_report(reference).facts, parse_report(candidate).facts)
        all_counts = {**counts, **to_radcliq_counts(counts)}
        values = tuple(float(all_counts[tag]) for tag in criteria.tags)
        return self.template.render_answer(
            FactAnalysisWriter(vary_wording=False).write(reference, candidate, values, criteria, Random(0)), criteria
        )


def fact_evaluator(template: GenerativeTemplate, criteria: Criteria, answer: str | None = None) -> FactEvaluator:
    base = make_evaluator(template, criteria)
    evaluator = FactEvaluator(base.backbone, base.model, base.prompt_encoder)
    evaluator.answer = answer
    return evaluator


def test_green_scorer_parses_the_answer() -> None:
    scorer = GreenScorer(fact_evaluator(GreenTemplate(include_instruction=False), RadCliQSignificanceCriteria()))
    scores = scorer.score([REFERENCE] * 3, CANDIDATES)
    assert scores.status == ("ok",) * 3
    # Both findings match; one matches, at another location, and the nodule is gone; none does, and scoliosis is benign.
    assert scores.total.tolist() == pytest.approx([1.0, 1 / 3, 0.0])
    assert scores.quality is not None
    assert scores.quality.tolist() == pytest.approx([1.0, 1.5 / 3.5, 0.5 / 2.5])
    assert scores.error_counts is not None
    assert scores.sub_scores is not None
    assert scores.error_counts[2].sum() == 3
    torch.testing.assert_close(scores.sub_scores, RadCliQSignificanceCriteria().target_rewards(scores.error_counts))
    assert scores.evidence is not None
    explanation = scores.evidence[1]
    assert isinstance(explanation, Explanation)
    assert explanation.significant["incorrect_location"] == 1
    assert explanation.insignificant["omission"] == 0
    assert explanation.errors == {"omission": ("pulmonary nodule",), "incorrect_location": ("pleural effusion",)}
    assert (explanation.num_matched, explanation.matched_findings) == (1, ("moderate left pleural effusion",))
    assert explanation.explanation is not None
    assert "right" in explanation.explanation


def test_radreason_scorer_parses_the_answer() -> None:
    scorer = RadReasonScorer(fact_evaluator(RadReasonTemplate(include_instruction=False), RadCliQCriteria()))
    scores = scorer.score([REFERENCE] * 3, CANDIDATES)
    assert scores.status == ("ok",) * 3
    assert scores.total.tolist() == [0.0, -2.0, -3.0]
    assert scores.error_counts is not None
    assert scores.error_counts[1].tolist() == [0, 1, 1, 0, 0, 0]
    assert scores.evidence is not None
    assert "Step 3: incorrect location: pleural effusion" in scores.evidence[1].explanation


@pytest.mark.parametrize(
    ("scorer", "template", "answer", "status"),
    [
        (GreenScorer, GreenTemplate(), "I cannot.", "section missing: clinically significant errors"),
        (
            GreenScorer,
            GreenTemplate(),
            "[Clinically Significant Errors]:\nNo\n[Matched Findings]:\nmany",
            "no number: 'many'",
        ),
        (RadReasonScorer, RadReasonTemplate(), "I cannot.", "false_prediction: missing"),
        (RadReasonScorer, RadReasonTemplate(), "<think>So", "false_prediction: think: not closed"),
    ],
)
def test_score_unparsable_answer_has_a_status(
    scorer: type[GenerativeScorer], template: GenerativeTemplate, answer: str, status: str
) -> None:
    scores = scorer(fact_evaluator(template, RadCliQCriteria(), answer)).score([REFERENCE], CANDIDATES[:1])
    assert math.isnan(float(scores.total))
    assert scores.status[0].startswith("unparsable answer: ")
    assert status in scores.status[0]
    assert scores.evidence is not None
    assert scores.evidence[0].raw_answer == answer


def test_score_partly_parsable_answer_keeps_its_counts() -> None:
    answer = "<think>So.</think>" + "".join(f"<{tag}>1</{tag}>" for tag in RadCliQCriteria().tags[1:])
    scores = RadReasonScorer(fact_evaluator(RadReasonTemplate(), RadCliQCriteria(), answer)).score(
        [REFERENCE], CANDIDATES[:1]
    )
    assert scores.error_counts is not None
    assert scores.error_counts[0].isnan().tolist() == [True] + [False] * 5
    assert math.isnan(float(scores.total))


def test_green_score_without_insignificant_errors_has_no_counts() -> None:
    answer = "[Clinically Significant Errors]:\n(a) Kind: 1. X\n[Matched Findings]:\n1. A"
    scores = GreenScorer(fact_evaluator(GreenTemplate(), RadCliQCriteria(), answer)).score([REFERENCE], CANDIDATES[:1])
    assert (scores.total.tolist(), scores.status) == ([0.5], ("ok",))
    assert scores.error_counts is not None
    assert scores.error_counts.isnan().all()


@pytest.mark.parametrize("name", ["out.jsonl", "out.csv", "out.parquet"])
def test_file_scoring_writes_explanations(tmp_path: Path, name: str) -> None:
    inputs = [
        {"id": number, "reference": REFERENCE, "candidate": text, "note": "x"}
        for number, text in enumerate([*CANDIDATES, ""])
    ]
    source = tmp_path / "in.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in inputs))
    scorer = RadReasonScorer(fact_evaluator(RadReasonTemplate(include_instruction=False), RadCliQCriteria()))
    score_file(scorer, source, tmp_path / name, chunk_size=2, progress=False)
    (rows,) = read_rows(tmp_path / name)
    evidence = [row.values["evidence"] for row in rows]
    assert [row.values["note"] for row in rows] == ["x"] * 4
    assert [row.values["status"] for row in rows] == ["ok"] * 3 + ["empty candidate"]
    explained = evidence[1] if name == "out.jsonl" else json.loads(evidence[1])
    assert explained["significant"]["incorrect_location"] == 1
    assert evidence[3] in (None, "")
    assert float(rows[1].values["total"]) == -2.0


def test_file_scoring_writes_unparsable_answers(tmp_path: Path) -> None:
    source = tmp_path / "in.jsonl"
    source.write_text(json.dumps({"id": 1, "reference": REFERENCE, "candidate": "a"}) + "\n")
    scorer = GreenScorer(fact_evaluator(GreenTemplate(), RadCliQCriteria(), "I cannot \ud800."))
    score_file(scorer, source, tmp_path / "out.jsonl", progress=False)
    row = json.loads((tmp_path / "out.jsonl").read_text())
    assert row["total"] is None
    assert row["evidence"]["raw_answer"] == "I cannot ?."


def test_score_keeps_order_and_reports_unusable_rows() -> None:
    scorer = RadReasonScorer(
        make_evaluator(RadReasonTemplate(include_instruction=False), RadCliQCriteria(), max_length=60)
    )
    scores = scorer.score(["Clear.", "", "long " * 30, "Clear."], ["a", "b", "c", "a"])
    assert scores.status[1] == "empty reference"
    assert scores.status[2].startswith("Expected at most 60 tokens")
    assert scores.status[0] == scores.status[3]
    assert scores.evidence is not None
    assert scores.evidence[0] == scores.evidence[3]
    assert scores.evidence[0].finish_reason == "length"
    assert scores.evidence[1] is None
    empty = scorer.score([], [])
    assert (len(empty.total), empty.status) == (0, ())


def test_generate_truncates_long_reports_on_request() -> None:
    evaluator = make_evaluator(RadReasonTemplate(include_instruction=False), RadCliQCriteria(), max_length=60)
    answers = evaluator.generate(["long " * 30], ["c"], truncate=True)
    assert answers[0].truncated
    assert answers[0].text is not None
    with pytest.raises(ValueError, match="`on_too_long`"):
        RadReasonScorer(evaluator, "shorten")  # type: ignore[arg-type]


@pytest.mark.parametrize("lora", [None, LoRA(r=2)], ids=["all weights", "adapters"])
@pytest.mark.parametrize("kind", [GreenScorer, RadReasonScorer])
def test_load_restores_an_equal_scorer(tmp_path: Path, kind: type[GenerativeScorer], lora: LoRA | None) -> None:
    template_class = kind.template_class
    scorer = kind(make_evaluator(template_class(include_instruction=False), RadCliQCriteria(), lora))  # type: ignore[call-arg]  # both take it
    scorer.save_pretrained(tmp_path / "run" / "model")
    again = load(tmp_path / "run")
    assert type(again) is kind
    assert again.fingerprint() == scorer.fingerprint()
    assert again.score([REFERENCE], ["a"]).evidence == scorer.score([REFERENCE], ["a"]).evidence
    named = load(f"{'green' if kind is GreenScorer else 'radreason'}:{tmp_path / 'run'}")
    assert named.fingerprint() == scorer.fingerprint()
    again.save_pretrained(tmp_path / "run" / "model")
    assert load_generative_evaluator(tmp_path / "run" / "model").training_info == {"steps": 1}


def test_save_does_not_write_frozen_weights(tmp_path: Path) -> None:
    evaluator = make_evaluator(GreenTemplate(), RadCliQCriteria())
    evaluator.model.requires_grad_(False)
    evaluator.save(tmp_path / "model")
    assert load_file(tmp_path / "model" / "model.safetensors") == {}
    assert load(tmp_path / "model").fingerprint() == GreenScorer(evaluator).fingerprint()


def test_from_published_weights_uses_their_chat_template(tmp_path: Path) -> None:
    question = tmp_path / "question.txt"
    question.write_text("Judge {reference} and {candidate}.", encoding="utf-8")
    scorer = GreenScorer.from_published_weights(
        "tiny-llama", str(question), "float32", max_length=200, max_answer_length=4
    )
    pieces = scorer.evaluator.prompt_encoder.token_segments("Clear.", "Well.")
    tokens = [token for piece in pieces for token in piece]
    text = scorer.evaluator.prompt_encoder.tokenizer.decode(tokens)
    assert text == "<s><|user|>\nJudge Clear. and Well..</s>\n<|assistant|>\n"
    scorer.save_pretrained(tmp_path / "model")
    assert load(tmp_path / "model").score(["a"], ["b"]).evidence == scorer.score(["a"], ["b"]).evidence


def test_published_weights_are_loaded_by_name_with_the_question_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Weights of a tiny model, in a folder with the name of published ones, stand in for the 7 billion of the Hub."""
    folder = tmp_path / "StanfordAIMI" / "GREEN-tiny"
    encoder = ChatPromptEncoder("tiny-llama", RadCliQSignificanceCriteria(), GreenTemplate())
    tiny_model("llama", causal_lm=True).save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    monkeypatch.chdir(tmp_path)
    own: Any = load("green:StanfordAIMI/GREEN-tiny")
    assert "was trained with the published question" in caplog.text
    assert own.evaluator.template.question is None
    (tmp_path / "question.txt").write_text("Judge {reference} and {candidate}.", encoding="utf-8")
    monkeypatch.setenv("RADREWARD_GREEN_QUESTION", "question.txt")
    caplog.clear()
    published: Any = load("green:StanfordAIMI/GREEN-tiny", on_too_long="truncate")
    assert not caplog.records
    assert published.evaluator.template.question == "Judge {reference} and {candidate}."
    encoder = published.evaluator.prompt_encoder
    assert (published.on_too_long, encoder.chat_template, encoder.max_answer_length) == ("truncate", "green", 2048)
    assert published.evaluator.template.parser == "robust"
    official: Any = load("green-official:StanfordAIMI/GREEN-tiny")
    assert official.evaluator.template.parser == "official"


def test_official_parser_of_a_saved_evaluator_raises(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"Expected published weights .* with the official parser. Use `green`"):
        load(f"green-official:{tmp_path}")


def test_published_weights_offline_raise_one_line() -> None:
    with pytest.raises(InputError, match=r"^StanfordAIMI/GREEN-none: no backbone can be loaded .*--allow-download"):
        load("green:StanfordAIMI/GREEN-none")


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", 2, "`format` to be 1"),
        ("max_length", 0, "max_length"),
        ("chat_template", "loud", "chat"),
        ("template", {"include_instruction": True, "code": "x"}, "Expected `template` to have the fields"),
        ("criteria", {}, "name"),
        ("backbone", {"name": "tiny-owl", "quantization": None, "dtype": "float32"}, "tiny-owl"),
        ("surplus", 1, "'surplus' is unknown"),
    ],
)
def test_load_wrong_field_raises(tmp_path: Path, field: str, value: object, message: str) -> None:
    make_evaluator(GreenTemplate(), RadCliQCriteria()).save(tmp_path / "model")
    path = tmp_path / "model" / "green.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InputError, match=message) as error:
        load_generative_evaluator(tmp_path / "model")
    assert str(path) in str(error.value)


def test_load_wrong_weights_raise(tmp_path: Path) -> None:
    make_evaluator(GreenTemplate(), RadCliQCriteria(), LoRA(r=2)).save(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    state = {key: value.clone() for key, value in load_file(path).items()}  # not the file's memory, which changes
    name = min(state)
    for wrong, message in (
        ({**state, name: state[name][:1]}, "to have shape"),
        ({**state, name: state[name] * math.nan}, "finite"),
        ({"other": state[name]}, "is (missing|unknown)"),
    ):
        save_file({key: value.contiguous() for key, value in wrong.items()}, path)
        renew_digests(tmp_path / "model" / "green.json")
        with pytest.raises(InputError, match=message):
            load_generative_evaluator(tmp_path / "model")
    path.write_bytes(b"nothing")
    renew_digests(tmp_path / "model" / "green.json")
    with pytest.raises(InputError, match="damaged"):
        load_generative_evaluator(tmp_path / "model")


def test_save_keeps_other_folders(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("all of it")
    with pytest.raises(InputError, match="new, empty or holds"):
        make_evaluator(GreenTemplate(), RadCliQCriteria()).save(tmp_path)
    with pytest.raises(InputError, match=r"green\.json or radreason\.json"):
        load_generative_evaluator(tmp_path)


def test_scorer_requires_its_template_and_full_precision(tmp_path: Path) -> None:
    evaluator = make_evaluator(GreenTemplate(), RadCliQCriteria())
    with pytest.raises(InputError, match="RadReasonTemplate"):
        RadReasonScorer(evaluator)
    evaluator.save(tmp_path / "model")
    with pytest.raises(InputError, match="precision"):
        load(tmp_path / "model", precision="bf16")


def test_constructor_length_above_positions_raises() -> None:
    with pytest.raises(InputError, match="at most 4096"):
        make_evaluator(GreenTemplate(), RadCliQCriteria(), max_length=5000)
