"""Models that judge in text, trained on written answers: GREEN's analyses, RadReason's reasons."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn
from torch.nn import functional as F

from radreward import distributed as processes
from radreward.data.collators.sft import IGNORED, Responses
from radreward.data.datamodule import PairedReportDataModule, TrainingData
from radreward.data.length_buckets import collected
from radreward.errors import InputError
from radreward.generative.evaluator import Explainer
from radreward.models import Backbone
from radreward.models.attention import model_inputs
from radreward.models.log_probs import base_model
from radreward.models.transformers_engine import TransformersEngine
from radreward.modules.base import BaseModule, Figures, OptimizerSettings
from radreward.modules.count_metrics import Stated, agreement_of_values
from radreward.modules.export import best_checkpoint, check_whole
from radreward.modules.generation_metrics import Likeness, Seen, all_of, figures_of, green_differences
from radreward.modules.run_folder import RunFolder, write_json
from radreward.modules.warm_start import round_trained, start_from
from radreward.systems.green.prompt import GreenTemplate
from radreward.types import AnswerBatch, PackedBatch


class AnalysisModule(BaseModule):
    """Trains a model to write analyses by cross-entropy on their tokens (GREEN, section 3.1.2).

    What the candidates of a reference share is read once for all of them, in training and in validation. BERTScore of
    the answers, which takes an encoder, is computed after training alone.

    Args:
        backbone: What reads the reports and writes.
        decoded: Candidates of the validation part that are answered in each validation during training, from its
            first on; all are after it. The loss is of all of them.
        batch_size: Most answers that are decoded together.
        optimizer: Learning rates and schedule.

    Raises:
        ValueError: If `decoded` or `batch_size` is not positive.
    """

    monitor: ClassVar[str] = "val_exact"
    shown: ClassVar[tuple[str, ...]] = ("val/loss", "val/exact", "val/valid", "final/accuracy", "final/tau_b")

    def __init__(
        self,
        backbone: Backbone | None = None,
        decoded: int = 200,
        batch_size: int = 64,
        optimizer: OptimizerSettings | None = None,
    ) -> None:
        super().__init__(optimizer)
        for name, value in (("decoded", decoded), ("batch_size", batch_size)):
            if value < 1:
                raise ValueError(f"Expected `{name}` to be >= 1 but got {value}.")
        self.backbone = backbone or Backbone("tiny-generator", lora=None)
        self.model: Any = self.backbone.build(writes=True)
        self.decoded, self.batch_size = decoded, batch_size
        self.mask_dtype = getattr(torch, self.backbone.dtype)
        self.seen: list[Seen] = []
        self.stated: Stated | None = None
        self.losses: list[tuple[float, int]] = []
        self.figures: Figures = {}
        self.form: dict[str, float | None] = {}
        self._all = False
        self._likeness: Likeness | None = None
        self._left = 0
        self._checked = False

    def check(self, data: TrainingData) -> None:
        """Whether the data are prompts with answers that the backbone has room for.

        Raises:
            InputError: If not; names the setting.
        """
        Explainer(self.backbone, base_model(self.model), responses(data).questions)

    def start_from(self, folder: Path) -> None:
        """Begin with the weights of a saved model.

        Raises:
            InputError: If they cannot be read, or do not fit.
        """
        start_from(self.model, folder)

    def fresh_modules(self) -> list[nn.Module]:
        """None: all learns at one rate."""
        return []

    def on_fit_start(self) -> None:
        """Prepare to compare packed and separate losses on the first batch."""
        self._checked = False

    def training_step(self, batch: AnswerBatch, batch_index: int) -> Tensor:
        """The mean loss of the answers' tokens.

        Raises:
            FloatingPointError: If it is not finite; names the groups of the batch.
            InputError: If packing gives another loss than rows.
        """
        own = self._loss(batch.packed, batch.labels)
        if not self._checked:
            with processes.failing_together(self.device):
                self._check_packing(batch, float(own.detach()))
            self._checked = True
        tokens = int((batch.labels != IGNORED).sum())
        loss = own * (tokens / processes.mean_number(tokens, self.device))  # of the answers of all processes
        self.refuse_not_finite(loss.detach(), f"The loss is {loss.item()} in", batch.ids)
        self.log(
            "train/loss", processes.mean({"loss": loss})["loss"].detach(), prog_bar=True, batch_size=len(batch.ids)
        )
        return loss

    def _loss(self, packed: PackedBatch, labels: Tensor) -> Tensor:
        config = base_model(self.model).config
        columns = (labels != IGNORED).any(0).nonzero().flatten()  # no row has an answer elsewhere: no logits there
        logits = self.model(**model_inputs(packed, config, self.mask_dtype), logits_to_keep=columns).logits
        return F.cross_entropy(logits.flatten(0, 1).float(), labels[:, columns].flatten(), ignore_index=IGNORED)

    @torch.no_grad()
    def _check_packing(self, batch: AnswerBatch, found: float) -> None:
        """An architecture that does not see the tree would be wrong without an error."""
        apart = responses(self.trainer.datamodule).separate(batch)  # type: ignore[attr-defined]  # it is trained on it
        rows = float(self._loss(*(self._moved(part) for part in apart)))
        tolerance = 1e-3 if str(self.trainer.precision) in ("32-true", "64-true") else 0.1
        if not abs(found - rows) <= tolerance * max(1.0, abs(rows)):
            raise InputError(
                f"Packed and separate losses of {self.backbone.name} are {found:.6f} and {rows:.6f}. "
                "Use `packing: rows` with this backbone."
            )

    def _moved(self, part: Any) -> Any:
        return (
            PackedBatch(*(entry.to(self.device) for entry in part)) if isinstance(part, tuple) else part.to(self.device)
        )

    def on_validation_start(self) -> None:
        """Nothing is seen yet."""
        self.seen, self.losses = [], []
        self._left = self.decoded

    def validation_step(self, batch: AnswerBatch, batch_index: int) -> None:
        """The loss of the written answers, and the model's own answers against them."""
        loss = self._loss(batch.packed, batch.labels)
        self.refuse_not_finite(loss, f"The loss is {loss.item()} in validation,", batch.ids)
        self.losses.append((float(loss), int((batch.labels != IGNORED).sum())))
        if self._all or self._left > 0:
            # All processes count alike: they have to answer equally many batches.
            self._left -= int(processes.total(torch.tensor(len(batch.prompts), device=self.device)))
            self.seen.append(self._answered(batch, batch_index))

    def _answered(self, batch: AnswerBatch, batch_index: int) -> Seen:
        collator = responses(self.trainer.datamodule)  # type: ignore[attr-defined]  # it is trained on it
        questions, template = collator.questions, collator.template
        engine = TransformersEngine(self.model, questions.tokenizer, self.batch_size)
        end = template.ends(questions.criteria)
        made = engine.greedy(batch.prompts, questions.max_answer, (end,) if end else ())
        parsed = [template.parse(one.text, questions.criteria) for one in made]
        ids = tuple(batch.ids[place] for place in batch.group.tolist())
        values = [[torch.nan if value is None else value for value in one.values] for one in parsed]
        texts, wanted = [one.text for one in made], batch.answers
        green = torch.full((len(texts), 2), torch.nan)
        if isinstance(template, GreenTemplate):
            pairs = zip(texts, wanted, strict=True)
            green = torch.tensor([green_differences(*pair, questions.criteria) for pair in pairs])
        self._likeness = self._likeness or Likeness(self.device)
        likeness, cut = self._likeness(wanted, texts, states=self._all)
        board = self.logger
        if batch_index == 0 and isinstance(board, TensorBoardLogger):
            reports, text = batch.reports[0], made[0].text
            shown = "\n\n".join((*reports, "answered:", text, "written:", batch.answers[0]))
            board.experiment.add_text("val/answer", "    " + shown.replace("\n", "\n    "), self.global_step)
        return Seen(
            Stated(torch.tensor(values).reshape(len(made), -1), batch.errors.cpu(), ids),
            torch.tensor([one.problem is None for one in parsed]),
            torch.tensor([one.finish == "stop" for one in made]),
            likeness,
            cut,
            green,
        )

    def on_validation_epoch_end(self) -> None:
        """Log loss, form and agreement; what cannot be read counts as wrong, and is left out of correlations."""
        losses = collected(self.losses)
        loss = sum(value * count for value, count in losses) / max(1, sum(count for _, count in losses))
        seen = all_of(collected(self.seen))
        criteria = responses(self.trainer.datamodule).criteria  # type: ignore[attr-defined]  # it is trained on it
        self.stated = seen.stated
        self.figures = agreement_of_values(criteria, self.stated)
        self.form = {
            "loss": loss,
            "exact": self.figures["total"]["accuracy"],
            **figures_of(seen, criteria),
        }
        for name, value in self.form.items():
            if value is not None:
                self.log(f"val/{name}", value)
        for row, measures in self.figures.items():
            named = {f"val/{name}_{row}": value for name, value in measures.items() if value is not None}
            self.log_dict(named, sync_dist=False)
        self.log("val_exact", float(self.form["exact"] or 0.0), prog_bar=True, logger=False, sync_dist=False)

    def finish(self, trainer: Trainer, data: TrainingData, run: RunFolder) -> Figures:
        """Save the best model, and its figures on the whole validation part.

        Adapters are saved as float16; they are rounded first, so that what is measured is what is saved.

        Raises:
            InputError: If the weights lie in shards on several devices.
        """
        check_whole(trainer, run)
        best = best_checkpoint(trainer)
        if best is not None:
            self.load_state_dict(self.read_checkpoint(best)["state_dict"])
        half = self.backbone.lora is not None
        if half:
            round_trained(self.model)
        self._all = True
        trainer.validate(self, data.val_dataloader(), verbose=False)
        self._all = False
        told = {
            "steps": trainer.global_step,
            "weights": "last" if best is None else "best",
            "data": data.fingerprint(),
        }
        if self.stated is None:
            raise RuntimeError("Expected the validation part to have been judged.")
        if trainer.is_global_zero:
            self.stated.write(run.validation, responses(data).criteria)
            Explainer(self.backbone, self.model, responses(data).questions, told).save(run.model, half)
            write_json(run.metrics, {"agreement": self.figures, "answers": self.form, **told})
        return self.figures


def responses(data: Any) -> Responses:
    """The collator of data for a model that learns to answer.

    Raises:
        InputError: If the data are others.
    """
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for analyses but got {type(data).__name__}.")
    if not isinstance(data.collator, Responses):
        raise InputError(f"data.collator: Expected Responses for analyses but got {type(data.collator).__name__}.")
    return data.collator
