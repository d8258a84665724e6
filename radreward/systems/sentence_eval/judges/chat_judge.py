"""An instructed model as a judge of sentences (Zhu et al., 2024)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

from radreward.llm import ChatModel
from radreward.systems.sentence_eval.judges.base import SentenceJudge, average_judgements
from radreward.systems.sentence_eval.prompt import SentencePrompt
from radreward.types import ChatRequest, ChatResponse, SentenceJudgement


class ChatJudge(SentenceJudge):
    """Asks a chat model about every pair several times, and averages its answers (section IV).

    Args:
        model: Who is asked.
        prompt: What it is asked.
        repetitions: How often it is asked about a pair; they differ in their seeds.
        temperature: How freely it answers; at 0 repetitions would be the same.
        max_tokens: The longest answer; it repeats every sentence of both reports.

    Raises:
        ValueError: If a number is out of its range, or there are several repetitions at temperature 0.
    """

    def __init__(
        self,
        model: ChatModel,
        prompt: SentencePrompt | None = None,
        repetitions: int = 3,
        temperature: float = 1.0,
        max_tokens: int = 4096,
    ) -> None:
        if repetitions < 1:
            raise ValueError(f"Expected `repetitions` to be >= 1 but got {repetitions}.")
        if repetitions > 1 and temperature == 0:
            raise ValueError(
                f"Expected `temperature` to be > 0 with {repetitions} repetitions: they would be the same."
            )
        self.model = model
        self.prompt = prompt or SentencePrompt()
        self.repetitions = repetitions
        self.temperature = temperature
        self.max_tokens = max_tokens

    def build_requests(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[ChatRequest]:
        """What is sent, the repetitions of a pair one after the other: to count tokens before anything is.

        Raises:
            ValueError: If there are not as many originals as predictions.
        """
        if len(references) != len(candidates):
            raise ValueError(
                f"Expected as many originals as predictions but got {len(references)} and {len(candidates)}."
            )
        return [
            ChatRequest(
                self.prompt.render(original, predicted),
                temperature=self.temperature,
                max_tokens=self.max_tokens,
                seed=seed,
            )
            for original, predicted in zip(references, candidates, strict=True)
            for seed in range(self.repetitions)
        ]

    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """See `SentenceJudge.judge`."""
        answers = self.model.complete(self.build_requests(references, candidates))
        return [
            average_judgements(
                [
                    self._parse_response(answer, original, predicted)
                    for answer in answers[pair * self.repetitions : (pair + 1) * self.repetitions]
                ]
            )
            for pair, (original, predicted) in enumerate(zip(references, candidates, strict=True))
        ]

    def fingerprint(self) -> str:
        """See `SentenceJudge.fingerprint`."""
        messages = self.prompt.render(["No edema."], ["Mild edema."])
        asked = [self.model.model_id, messages, self.repetitions, self.temperature, self.max_tokens]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()

    def _parse_response(
        self, response: ChatResponse, reference: Sequence[str], candidate: Sequence[str]
    ) -> SentenceJudgement:
        if response.status != "ok":
            nothing = (None,) * len(reference), (None,) * len(candidate)
            return SentenceJudgement(*nothing, None, "", {}, f"no answer: {response.status}")
        return self.prompt.parse(response.text, reference, candidate)
