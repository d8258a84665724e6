"""Reports judged in known words: answers are rendered in a layout and read by the real parser."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest

from radreward.criteria import Criteria, RadCliQCriteria, RadCliQSignificanceCriteria
from radreward.generative.evaluator import GeneratedAnswer, GenerativeEvaluator
from radreward.generative.scorer import GenerativeScorer
from radreward.prompts.generative_template import ErrorAnalysis, GenerativeTemplate
from radreward.scoring.score_file import score_file
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.green.scorer import GreenScorer
from radreward.systems.radreason.prompt import RadReasonTemplate
from radreward.systems.radreason.scorer import RadReasonScorer
from tests.generative.test_scorer import explainer

Words = Mapping[str, Sequence[str]]


def analysis(criteria: Criteria, words: Words, matched: int) -> ErrorAnalysis:
    """As many errors of each criterion as there are words for it."""
    said = tuple(tuple(words.get(tag, ())) for tag in criteria.tags)
    values = tuple(float(len(entry)) for entry in said)
    return ErrorAnalysis(values, "Both were compared.", said, tuple(f"finding {n}" for n in range(matched)))


def green_answer(words: Words, matched: int = 3) -> str:
    criteria = RadCliQSignificanceCriteria()
    return GreenTemplate().render_answer(analysis(criteria, words, matched), criteria)


def radreason_answer(words: Words) -> str:
    criteria = RadCliQCriteria()
    return RadReasonTemplate().render_answer(analysis(criteria, words, 0), criteria)


class Said(GenerativeEvaluator):
    """Answers every candidate with the candidate itself."""

    def generate(
        self, references: Sequence[str], candidates: Sequence[str], truncate: bool = False, batch_size: int = 64
    ) -> list[GeneratedAnswer]:
        return [GeneratedAnswer(text, "stop", None, False) for text in candidates]


def said(template: GenerativeTemplate, criteria: Criteria) -> Said:
    made = explainer(template, criteria)
    return Said(made.backbone, made.model, made.prompt_encoder)


@pytest.fixture(scope="session")
def green() -> GenerativeScorer:
    """Reads GREEN of an answer that is given as the candidate."""
    return GreenScorer(said(GreenTemplate(), RadCliQSignificanceCriteria()))


@pytest.fixture(scope="session")
def radreason() -> GenerativeScorer:
    """Likewise RadReason."""
    return RadReasonScorer(said(RadReasonTemplate(), RadCliQCriteria()))


@pytest.fixture
def scored(tmp_path: Path, green: GenerativeScorer) -> Callable[..., Path]:
    """Writes what `radreward score` writes of answers."""

    def write(answers: Sequence[str], name: str = "reasons.jsonl", systems: Sequence[str] | None = None) -> Path:
        source = tmp_path / f"{name}.in.jsonl"
        rows = [
            {
                "id": f"r{place}",
                "reference": "Clear.",
                "candidate": answer,
                **({"system": systems[place]} if systems else {}),
            }
            for place, answer in enumerate(answers)
        ]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        score_file(green, source, tmp_path / name, progress=False)
        return tmp_path / name

    return write
