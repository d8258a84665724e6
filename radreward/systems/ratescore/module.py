"""W and p of RaTEScore as a LightningModule: every pair is read once, then they are fitted."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import torch
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import TensorBoardLogger
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.datamodule import PairedReportDataModule, TrainingData
from radreward.errors import InputError
from radreward.metrics.functional import kendall_tau_b, pair_order, spearman
from radreward.modules.base import BaseModule, Figures
from radreward.modules.progress import tracked
from radreward.modules.run_folder import RunFolder, write_json
from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityWeights
from radreward.systems.ratescore.artifact import save_ratescore
from radreward.systems.ratescore.collator import Entities, EntityBatch
from radreward.systems.ratescore.fit_report import FittedReport, heat_map, write_report
from radreward.systems.ratescore.fitting.optimizers import (
    AffinityFit,
    Fitted,
    GradientFit,
    Rated,
    bootstrap,
    cross_validate,
)
from radreward.systems.ratescore.functional import PenaltyRule
from radreward.systems.ratescore.matching import TypeSums

RATED = "rated"
"""The entry of a checkpoint that holds the pairs read so far."""


class AffinityModule(BaseModule):
    """Fits W and p to known quality (RaTEScore, section 2.4), the entities and their encoder being given.

    Matches do not depend on W and p. One epoch reads and matches every pair; before validation the method fits to what
    was read, a part of it (by references) deciding when to stop. After training, cross-validation and a bootstrap over
    references tell what the fit is worth.

    Args:
        criteria: What the errors are stated by; their weighted total is what the score shall rank by. With `Rating`,
            what people gave.
        method: How to fit.
        preset: Where to begin.
        rule: What is penalised, see `radreward.systems.ratescore.penalised`.
        clamp: Whether negative cosines are taken as 0.
        inner: Share of the references read that decides when to stop.
        folds: Of the cross-validation.
        samples: Fits of the bootstrap; 0 for none.
        seed: Decides parts, folds and draws.

    Raises:
        ValueError: If a number is out of its range.
    """

    rows: ClassVar[str] = "weights"
    shown: ClassVar[tuple[str, ...]] = ("val/tau_b", "final/tau_b", "final/cross_validated")

    def __init__(
        self,
        criteria: Criteria,
        method: AffinityFit | None = None,
        preset: Literal["long", "short"] = "long",
        rule: PenaltyRule = "opposed",
        clamp: bool = True,
        inner: float = 0.2,
        folds: int = 5,
        samples: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not 0 < inner <= 0.5:
            raise ValueError(f"Expected `inner` to be in (0, 0.5] but got {inner}.")
        if folds < 2:
            raise ValueError(f"Expected `folds` to be >= 2 but got {folds}.")
        if samples < 0:
            raise ValueError(f"Expected `samples` to be >= 0 but got {samples}.")
        self.criteria, self.method = criteria, method or GradientFit()
        self.weights = AffinityWeights.from_preset(preset, rule, clamp)
        self.start = AffinityWeights.from_preset(preset, rule, clamp).requires_grad_(False)
        self.inner, self.folds, self.samples, self.seed = inner, folds, samples, seed
        self.read: list[Rated] = []
        self.seen: list[Rated] = []
        self.fitted: Fitted | None = None

    def check(self, data: TrainingData) -> None:
        """Whether the data are pairs whose entities are matched.

        Raises:
            InputError: If not.
        """
        _collator(data)

    def fresh_modules(self) -> list[nn.Module]:
        """W and p."""
        return [self.weights]

    def configure_optimizers(self) -> torch.optim.Optimizer:  # type: ignore[override]  # no schedule
        """One that counts batches, for checkpoints and progress: the fit is not a sum over batches."""
        return torch.optim.SGD(self.weights.parameters(), lr=0.0)

    def on_fit_start(self) -> None:
        """Refuse what would read pairs twice or not at all.

        Raises:
            InputError: Names the setting.
        """
        if self.trainer.max_epochs != 1:
            raise InputError(
                f"trainer.max_epochs: Expected 1, for every pair is read once, not {self.trainer.max_epochs}."
            )
        if self.trainer.world_size != 1:
            raise InputError(f"trainer.devices: Expected one process for W and p but got {self.trainer.world_size}.")

    def training_step(self, batch: EntityBatch, batch_index: int) -> Tensor:
        """Keep the matches of a batch; the share of its pairs of candidates that the start does not order right."""
        self.read.append(self._rated(batch, self.read))
        accuracy = agreement_of(self.weights, self.read[-1])["pair_accuracy"]
        self.log("train/pairs", float(sum(len(part.quality) for part in self.read)), prog_bar=True, batch_size=1)
        return 1 - (accuracy or 0.0) + 0.0 * self.weights.weight.sum()

    def on_validation_start(self) -> None:
        """Fit to what was read."""
        self.seen.clear()
        if self.read and not self.trainer.sanity_checking:
            rated = joined(self.read)
            # Validation has neither gradients nor their tensors.
            with self._named(), torch.inference_mode(False), torch.enable_grad():
                if self.trainer.is_last_batch:  # of all that is read; before the fit, so that nothing is lost
                    rated.usable(self.folds)
                self.fitted = self.method.fit(self.start, *rated.split(self.inner, self.seed))
                self.weights.load_state_dict(self.fitted.weights.state_dict())

    def validation_step(self, batch: EntityBatch, batch_index: int) -> None:
        """Keep the matches of a batch."""
        self.seen.append(self._rated(batch, self.seen))

    def predict_step(self, batch: EntityBatch, batch_index: int) -> Rated:
        """The matches of a batch, added up, with the known quality."""
        return self._rated(batch, [])

    def on_validation_epoch_end(self) -> None:
        """Log the agreement of references that took no part in the fit, and what the fit went through."""
        tau = agreement_of(self.weights, joined(self.seen))["tau_b"]
        value = math.nan if tau is None else tau
        self.log("val_tau", value, prog_bar=True, logger=False)
        self.log("val/tau_b", value)
        if isinstance(self.logger, TensorBoardLogger) and self.fitted is not None:
            board = self.logger.experiment
            for step in self.fitted.steps:
                board.add_scalar("fit/tau_b", step.train, step.evaluations)
                if step.validation is not None:
                    board.add_scalar("fit/stop_tau_b", step.validation, step.evaluations)
            counts = joined(self.read).sums.counts.sum((0, 1))
            board.add_figure("affinity", heat_map(self.weights, counts), self.global_step)

    def finish(self, trainer: Trainer, data: TrainingData, run: RunFolder) -> Figures:
        """Save the scorer; tell cross-validation, intervals and agreement, and draw W."""
        collator, train = _collator(data), joined(self.read)
        predicted: Any = trainer.predict(self, cast(PairedReportDataModule, data).val_dataloader())
        held = joined(predicted)
        told = f"{self.folds} fits, each judged by the references left out", f"{self.samples} fits for intervals"
        over_folds, over_samples = (tracked(trainer, f"{what}, into {run.folder}") for what in told)
        with self._named():
            folds = cross_validate(self.method, self.start, train, self.folds, self.seed, self.inner, over_folds)
            intervals = None
            if self.samples:
                intervals = bootstrap(self.method, self.start, train, self.samples, seed=self.seed, track=over_samples)
        result = {}
        for name in PRESETS:
            preset = AffinityWeights.from_preset(name, self.start.rule, self.start.clamp)
            begun = torch.equal(preset.weight, self.start.weight)
            result[name] = agreement_of(preset, held, sum(folds.start) / self.folds if begun else None)
        result["total"] = agreement_of(self.weights, held, sum(folds.fitted) / self.folds)
        report = FittedReport(self.weights, self.start, train.sums.counts.sum((0, 1)), intervals, folds, self.fitted)
        save_ratescore(run.model, collator.tagger, collator.encoder, self.weights)
        write_report(run.folder, report)
        figures = {
            "pairs": len(held.quality),
            "pairs_without_entities": int((~held.sums.defined).sum()),
            "agreement": result,
            "steps": trainer.global_step,
            "data": data.fingerprint(),
        }
        write_json(run.metrics, figures)
        return result

    def start_from(self, folder: Path) -> None:
        """Begin with the W and p of a saved scorer.

        Raises:
            InputError: If they cannot be read.
        """
        for weights in (self.weights, self.start):
            weights.load_state_dict(AffinityWeights.load(folder).state_dict())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """With the pairs read so far, which a continued run does not read again."""
        super().on_save_checkpoint(checkpoint)
        checkpoint[RATED] = [[*part.sums, part.quality, part.group] for part in self.read]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the pairs that were read.

        Raises:
            InputError: If the checkpoint is of another model.
        """
        super().on_load_checkpoint(checkpoint)
        if RATED not in checkpoint:
            raise InputError("is of another model: it holds no pairs of reports.")
        self.read = [_part(*tensors) for tensors in checkpoint[RATED]]

    @contextmanager
    def _named(self) -> Iterator[None]:
        """What cannot be fitted to, with the file that it was read from."""
        try:
            yield
        except InputError as error:
            records = getattr(getattr(self.trainer, "datamodule", None), "records", "data")
            settings = f"(model.folds is {self.folds}, model.inner {self.inner})"
            raise InputError(f"{records}: {str(error).rstrip('.')} {settings}.") from error

    def _rated(self, batch: EntityBatch, before: list[Rated]) -> Rated:
        """A batch's matches, added up; groups are numbered on from what was before."""
        offset = int(before[-1].group.max()) + 1 if before else 0
        return _part(*self.weights.sums(batch.matches), batch.quality, batch.group + offset)


def joined(parts: list[Rated]) -> Rated:
    """All pairs of some batches; groups that begin at 0 in each are numbered on."""
    shifted, offset = [], 0
    for part in parts:
        again = offset and int(part.group.min()) == 0
        shifted.append(part._replace(group=part.group + offset) if again else part)
        offset = int(shifted[-1].group.max()) + 1
    columns = zip(*([*part.sums, part.quality, part.group] for part in shifted), strict=True)
    return _part(*(torch.cat(column) for column in columns))


def agreement_of(
    weights: AffinityWeights, rated: Rated, cross_validated: float | None = None
) -> dict[str, float | None]:
    """Rank correlation of scores and known quality, and the share of pairs of candidates that are ordered right.

    Pairs of which a report has no entity are left out; None where a figure is not defined. The τ-b of a
    cross-validation, if there is one, stands beside them.
    """
    kept = rated.take(rated.sums.defined)
    with torch.no_grad():
        scores = weights.score(kept.sums)
    right, pairs = (int(value) for value in pair_order(scores[:, None], kept.quality[:, None], kept.group))
    values: dict[str, float | None] = {
        "tau_b": kendall_tau_b(scores, kept.quality).item(),
        "spearman": spearman(scores, kept.quality).item(),
        "pair_accuracy": right / pairs if pairs else None,
        "cross_validated": cross_validated,
    }
    return {name: None if value is None or math.isnan(value) else round(value, 6) for name, value in values.items()}


def _part(cosines: Tensor, counts: Tensor, quality: Tensor, group: Tensor) -> Rated:
    return Rated(TypeSums(cosines.cpu(), counts.cpu()), quality.cpu().double(), group.cpu())


def _collator(data: TrainingData) -> Entities:
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for W and p but got {type(data).__name__}.")
    if not isinstance(data.collator, Entities):
        raise InputError(f"data.collator: Expected Entities for W and p but got {type(data.collator).__name__}.")
    return data.collator
