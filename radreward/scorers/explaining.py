"""Models that judge in text as scorers: GREEN and RadReason. Every score has its reasons as evidence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, Self

import torch

from radreward.criteria import Criteria, RadCliQSignificance
from radreward.data.questions import Questions
from radreward.errors import InputError
from radreward.models import Backbone
from radreward.models.backbone import DType
from radreward.models.explainer import TEMPLATES, Answer, Explainer, load_explainer
from radreward.prompts.answer import AnswerTemplate
from radreward.prompts.green import GreenTemplate, error_types, read_green
from radreward.prompts.green import parse as parse_green
from radreward.prompts.radreason import RadReasonTemplate
from radreward.prompts.steps import errors_in_steps
from radreward.scorers.base import OK, TRUNCATED, Scorer
from radreward.types import Explanation as Explanation
from radreward.types import Scores

UNREADABLE = "unreadable answer"


class ExplainingScorer(Scorer):
    """Asks a model about each pair of reports, and reads counts and score from its answer.

    sub = the quality of each criterion, -count · weight (n, N); counts (n, N); the evidence of a row is an
    `Explanation`. A row whose answer has no score to read has NaN and a status that says why: never a guess. Equal
    pairs are asked once, candidates of one reference beside one another, by the likeliest token each time.

    Args:
        explainer: The model and how it is asked.
        too_long: Reject prompts over the limit with a status, or cut both reports, with the status "truncated".
        batch_size: Most answers that are decoded together.

    Raises:
        ValueError: If `too_long` is unknown.
        InputError: If the model answers in another layout.
    """

    layout: type[AnswerTemplate]
    explains = True

    def __init__(
        self, explainer: Explainer, too_long: Literal["reject", "truncate"] = "reject", batch_size: int = 64
    ) -> None:
        if too_long not in ("reject", "truncate"):
            raise ValueError(f"Expected `too_long` to be reject or truncate but got {too_long!r}.")
        if not isinstance(explainer.template, self.layout):
            given = type(explainer.template).__name__
            raise InputError(f"{self.title}: Expected a model that answers by {self.layout.__name__} but got {given}.")
        self.explainer, self.too_long, self.batch_size = explainer, too_long, batch_size
        self.judged: Criteria = explainer.questions.criteria
        self.criteria = self.judged

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None,
        precision: Literal["fp32", "int8"] = "fp32",
        too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        download: bool = False,
        model: str | None = None,
        batch_size: int = 64,
    ) -> Self:
        """The scorer of a saved model.

        Args:
            folder: Where it is; where `model` names it, None.
            precision: fp32 only.
            too_long: See the class.
            device: Where it shall run.
            download: Whether a backbone that is not on this machine may be fetched from the hub.
            model: The folder of a model or of a run, as of `green:FOLDER`.
            batch_size: See the class.

        Raises:
            InputError: If there is no such model, or another precision is asked for.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for a model that writes but got {precision}.")
        path = Path(folder or model or "").expanduser()
        inside = path / "model"
        found = inside if any((inside / name).is_file() for name in TEMPLATES) else path
        return cls(load_explainer(found, device, download), too_long, batch_size)

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`; weights are written in full precision."""
        self.explainer.save(folder)

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        return f"{self.explainer.fingerprint()} {self.too_long}"

    def score_texts(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        cut = self.too_long == "truncate"
        answers = self.explainer.answers(references, candidates, cut, self.batch_size)
        read = [self._unasked(answer) if answer.text is None else self.read(answer) for answer in answers]
        counts = torch.tensor([entry.counts for entry in read]).reshape(len(read), len(self.judged))
        status = [
            TRUNCATED if entry.status == OK and answer.cut else entry.status
            for entry, answer in zip(read, answers, strict=True)
        ]
        return Scores(
            torch.tensor([entry.total for entry in read]),
            self.judged.quality(counts) + 0.0,  # -0 is 0
            counts,
            tuple(status),
            tuple(entry.evidence for entry in read),
        )

    def _unasked(self, answer: Answer) -> Reading:
        return Reading(torch.nan, [torch.nan] * len(self.judged), answer.problem or "not asked", None)

    @abstractmethod
    def read(self, answer: Answer) -> Reading:
        """Score, counts and evidence of an answer that there is."""


class Reading(NamedTuple):
    """An answer as a row of scores."""

    total: float
    counts: list[float]
    status: str
    evidence: Explanation | None


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
        return Reading(torch.nan if score is None else score, _counts(parsed.values), status, evidence)


class RadReasonScorer(ExplainingScorer):
    """The total of the error counts that a model gives after reasons: offset - Σ_j count_j · weight_j (RadReason)."""

    title = "RadReason"
    layout = RadReasonTemplate

    def read(self, answer: Answer) -> Reading:
        """See `ExplainingScorer.read`."""
        text = answer.text or ""
        parsed = self.explainer.template.parse(text, self.judged)
        tags = self.judged.tags
        values = dict(zip(tags, parsed.values, strict=True))
        named = zip(tags, errors_in_steps(parsed.reasoning, self.judged), strict=True)
        errors = {tag: words for tag, words in named if words and values[tag]}
        evidence = Explanation(text, answer.finish, parsed.problem, parsed.reasoning, values, {}, errors, None, ())
        counts = _counts(parsed.values)
        total = float(self.judged.total(self.judged.quality(torch.tensor(counts))))
        missing = next((f"{tag}: {why}" for tag, why in zip(tags, parsed.reasons, strict=True) if why), None)
        return Reading(total, counts, f"{UNREADABLE}: {missing}" if missing else OK, evidence)


def _counts(values: Sequence[float | None]) -> list[float]:
    return [torch.nan if value is None else value for value in values]
