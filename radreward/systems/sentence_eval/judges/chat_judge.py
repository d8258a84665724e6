"""Sentence judge that is an instruction-tuned language model (Zhu et al., 2024)."""

from __future__ import annotations

from collections.abc import Sequence

from radreward.io.artifacts import fingerprint
from radreward.llm import ChatModel
from radreward.llm.messages import ChatRequest, ChatResponse
from radreward.systems.sentence_eval.judgement import SentenceJudgement, average_judgements
from radreward.systems.sentence_eval.judges.base import SentenceJudge, check_pair_counts
from radreward.systems.sentence_eval.prompt import SentencePrompt


class ChatJudge(SentenceJudge):
    """Judge that averages repeated answers of a chat model (section IV).

    Args:
        model: The chat model.
        prompt: The prompt; defaults to the detailed instruction with five examples and an explanation.
        repetitions: Number of requests per report pair. Each request has another seed.
        temperature: Sampling temperature. It must be positive if `repetitions` exceeds 1.
        max_tokens: Maximum number of tokens of an answer, which repeats every sentence of both reports.

    Raises:
        ValueError: If `repetitions` is less than 1, or the temperature is 0 with several repetitions.
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
                f"Expected `temperature` to be > 0 with {repetitions} repetitions but got 0: all would be equal."
            )
        self.model = model
        self.prompt = prompt or SentencePrompt()
        self.repetitions = repetitions
        self.temperature = temperature
        self.max_tokens = max_tokens

    def build_requests(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[ChatRequest]:
        """Return all requests, in the order of the pairs and with the repetitions of a pair side by side.

        Raises:
            ValueError: If the numbers of references and candidates differ.
        """
        check_pair_counts(references, candidates)
        return [
            ChatRequest(
                self.prompt.render(reference, candidate),
                temperature=self.temperature,
                max_tokens=self.max_tokens,
                seed=seed,
            )
            for reference, candidate in zip(references, candidates, strict=True)
            for seed in range(self.repetitions)
        ]

    def judge(
        self, references: Sequence[Sequence[str]], candidates: Sequence[Sequence[str]]
    ) -> list[SentenceJudgement]:
        """Return the mean judgement of each pair, see `SentenceJudge.judge`."""
        responses = iter(self.model.complete(self.build_requests(references, candidates)))
        return [
            average_judgements(
                [self._parse_response(next(responses), reference, candidate) for _ in range(self.repetitions)]
            )
            for reference, candidate in zip(references, candidates, strict=True)
        ]

    def fingerprint(self) -> str:
        """Return a hash of the model, the prompt and the sampling parameters."""
        messages = self.prompt.render(["No edema."], ["Mild edema."])
        return fingerprint(self.model.model_id, messages, self.repetitions, self.temperature, self.max_tokens)

    def _parse_response(
        self, response: ChatResponse, reference: Sequence[str], candidate: Sequence[str]
    ) -> SentenceJudgement:
        if response.status != "ok":
            unscored = (None,) * len(reference), (None,) * len(candidate)
            return SentenceJudgement(*unscored, None, "", {}, f"no answer: {response.status}")
        return self.prompt.parse(response.text, reference, candidate)
