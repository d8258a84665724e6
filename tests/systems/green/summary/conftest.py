"""Scorers whose answers are the candidates: rendered by a template, parsed by the real parser."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.models.generative_evaluator import GeneratedAnswer, GenerativeEvaluator
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.scorers.generative import GenerativeScorer
from radreward.scoring.file_scoring import score_file
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.green.scorer import GreenScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.scorer import RadReasonScorer
from tests.scorers.test_generative import fact_evaluator

Descriptions = Mapping[str, Sequence[str]]


def make_analysis(criteria: Criteria, descriptions: Descriptions, num_matched: int) -> ErrorAnalysis:
    """Return an analysis with one error per description."""
    texts = tuple(tuple(descriptions.get(tag, ())) for tag in criteria.tags)
    counts = tuple(float(len(entry)) for entry in texts)
    return ErrorAnalysis(counts, "Both were compared.", texts, tuple(f"finding {n}" for n in range(num_matched)))


def green_answer(descriptions: Descriptions, num_matched: int = 3) -> str:
    criteria = RadCliQSignificanceCriteria()
    return GreenTemplate().render_answer(make_analysis(criteria, descriptions, num_matched), criteria)


def radreason_answer(descriptions: Descriptions) -> str:
    criteria = RadCliQCriteria()
    return RadReasonTemplate().render_answer(make_analysis(criteria, descriptions, 0), criteria)


class EchoEvaluator(GenerativeEvaluator):
    """Evaluator whose answer is the candidate."""

    def generate(
        self, references: Sequence[str], candidates: Sequence[str], truncate: bool = False, batch_size: int = 64
    ) -> list[GeneratedAnswer]:
        return [GeneratedAnswer(text, "stop", None, False) for text in candidates]


def echo_evaluator(template: GenerativeTemplate, criteria: Criteria) -> EchoEvaluator:
    evaluator = fact_evaluator(template, criteria)
    return EchoEvaluator(evaluator.backbone, evaluator.model, evaluator.prompt_encoder)


@pytest.fixture(scope="session")
def green() -> GenerativeScorer:
    scorer = GreenScorer(echo_evaluator(GreenTemplate(), RadCliQSignificanceCriteria()))
    scorer.normalizes_text = False  # the candidate is the answer, with its lines
    return scorer


@pytest.fixture(scope="session")
def radreason() -> GenerativeScorer:
    scorer = RadReasonScorer(echo_evaluator(RadReasonTemplate(), RadCliQCriteria()))
    scorer.normalizes_text = False
    return scorer


@pytest.fixture
def scored(tmp_path: Path, green: GenerativeScorer) -> Callable[..., Path]:
    """Return a function that writes the output of `radreward score` for given answers."""

    def write(answers: Sequence[str], name: str = "scores.jsonl", systems: Sequence[str] | None = None) -> Path:
        source = tmp_path / f"{name}.in.jsonl"
        rows = [
            {"id": f"r{index}", "reference": "Clear.", "candidate": answer}
            | ({"system": systems[index]} if systems else {})
            for index, answer in enumerate(answers)
        ]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        score_file(green, source, tmp_path / name, progress=False)
        return tmp_path / name

    return write
