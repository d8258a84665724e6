"""GREEN as a scorer."""

from __future__ import annotations

from typing import Self

import torch

from radreward.criteria import RadCliQSignificance
from radreward.data.chat_encoding import Questions
from radreward.generative.evaluator import Answer, Explainer
from radreward.generative.scorer import UNREADABLE, ExplainingScorer, Reading, parsed_counts
from radreward.models import Backbone
from radreward.models.backbone import DType
from radreward.scorers.base import OK
from radreward.systems.green.prompt import GreenTemplate, error_types, read_green
from radreward.systems.green.prompt import parse as parse_green
from radreward.types import Explanation


class GreenScorer(ExplainingScorer):
    """GREEN, M / (M + Σ significant errors), of the answers of a model that was trained to write analyses (Eq. 1).

    As published there are twelve counts, significant and insignificant ones of six categories; a model of other
    criteria has these, and `Explanation` has both kinds in any case.
    """

    title = "GREEN"
    range = (0.0, 1.0)
    layout = GreenTemplate

    @classmethod
    def of_published(
        cls,
        backbone: str,
        question: str,
        dtype: DType = "float16",
        device: str = "cpu",
        download: bool = False,
        max_length: int = 1536,
        max_answer: int = 512,
    ) -> Self:
        """The scorer of published weights, in their chat layout; `save_pretrained` keeps all but these weights.

        Args:
            backbone: Folder or hub name of the weights, such as StanfordAIMI/GREEN-RadLlama2-7b.
            question: A file with the published question (GREEN, appendix A.1), {reference} and {candidate} in it. The
                weights were trained on these words, which are not ours to ship.
            dtype: In which the weights are held.
            device: Where they shall run.
            download: Whether they may be fetched from the hub.
            max_length: Most tokens of a question.
            max_answer: Most tokens of an answer; with `max_length` 2,048 in the paper.

        Raises:
            InputError: If the file or the weights cannot be read.
        """
        made = Backbone(backbone, lora=None, dtype=dtype, local_files_only=not download)
        model = made.build(writes=True).requires_grad_(False).to(device).eval()
        criteria, template = RadCliQSignificance(), GreenTemplate(question=question)
        questions = Questions(backbone, criteria, template, max_length, max_answer, chat="green")
        return cls(Explainer(made, model, questions))

    def read(self, answer: Answer) -> Reading:
        """See `ExplainingScorer.read`."""
        text = answer.text or ""
        types = error_types(self.judged).entries
        found, parsed = read_green(text, types), parse_green(text, self.judged)
        tags = [entry.tag for entry in types]
        half = len(types)
        errors = {
            f"{kind}{tag}": words
            for kind, part in (("", found.errors[:half]), ("insignificant_", found.errors[half:]))
            for tag, words in zip(tags, part, strict=True)
            if words
        }
        evidence = Explanation(
            text,
            answer.finish,
            found.problem,
            found.explanation,
            dict(zip(tags, found.significant, strict=True)),
            dict(zip(tags, found.insignificant, strict=True)),
            errors,
            found.matched,
            found.findings,
        )
        score = found.green
        lacking = next(filter(None, (*found.reasons[:half], found.reasons[-1])), found.problem)
        status = OK if score is not None else f"{UNREADABLE}: {lacking}"
        return Reading(torch.nan if score is None else score, parsed_counts(parsed.values), status, evidence)
