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
from radreward.data.datamodule import BaseDataModule, PairedReportDataModule
from radreward.errors import InputError
from radreward.metrics.functional import count_concordant_pairs, kendall_tau_b, spearman
from radreward.modules.base import BaseModule, MetricTable
from radreward.modules.progress import track_progress
from radreward.modules.run_folder import RunFolder, write_json
from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityMatrix
from radreward.systems.ratescore.artifact import save_ratescore
from radreward.systems.ratescore.collator import EntityMatchBatch, EntityMatchCollator
from radreward.systems.ratescore.fit_report import FitReport, plot_affinity, write_fit_report
from radreward.systems.ratescore.fitting.optimizers import (
    AffinityOptimizer,
    FitResult,
    GradientOptimizer,
    RatedMatches,
    bootstrap_affinity,
    cross_validate_affinity,
)
from radreward.systems.ratescore.functional import PenaltyRule
from radreward.systems.ratescore.matching import TypePairSums

RATED_MATCHES_KEY = "rated"
"""The entry of a checkpoint that holds the pairs read so far."""


class AffinityModule(BaseModule):
    """Fits W and p to known quality (RaTEScore, section 2.4), the entities and their encoder being given.

    Matches do not depend on W and p. One epoch reads and matches every pair; before validation the method fits to what
    was read, a part of it (by references) deciding when to stop. After training, cross-validation and a bootstrap over
    references tell what the fit is worth.

    Args:
        criteria: What the errors are stated by; their weighted total is what the score shall rank by. With `RatingCriteria`,
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

    row_label: ClassVar[str] = "weights"
    hparam_metrics: ClassVar[tuple[str, ...]] = ("val/tau_b", "final/tau_b", "final/cross_validated")

    def __init__(
        self,
        criteria: Criteria,
        method: AffinityOptimizer | None = None,
        preset: Literal["long", "short"] = "long",
        penalty_rule: PenaltyRule = "opposed",
        clamp_cosines: bool = True,
        early_stopping_split: float = 0.2,
        n_folds: int = 5,
        bootstrap_samples: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not 0 < early_stopping_split <= 0.5:
            raise ValueError(f"Expected `inner` to be in (0, 0.5] but got {early_stopping_split}.")
        if n_folds < 2:
            raise ValueError(f"Expected `folds` to be >= 2 but got {n_folds}.")
        if bootstrap_samples < 0:
            raise ValueError(f"Expected `samples` to be >= 0 but got {bootstrap_samples}.")
        self.criteria, self.method = criteria, method or GradientOptimizer()
        self.affinity = AffinityMatrix.from_preset(preset, penalty_rule, clamp_cosines)
        self.initial = AffinityMatrix.from_preset(preset, penalty_rule, clamp_cosines).requires_grad_(False)
        self.early_stopping_split, self.n_folds, self.bootstrap_samples, self.seed = (
            early_stopping_split,
            n_folds,
            bootstrap_samples,
            seed,
        )
        self.train_matches: list[RatedMatches] = []
        self.val_matches: list[RatedMatches] = []
        self.fit_result: FitResult | None = None

    def validate_setup(self, data: BaseDataModule) -> None:
        """Whether the data are pairs whose entities are matched.

        Raises:
            InputError: If not.
        """
        _entity_collator(data)

    def new_modules(self) -> list[nn.Module]:
        """W and p."""
        return [self.affinity]

    def configure_optimizers(self) -> torch.optim.Optimizer:  # type: ignore[override]  # no schedule
        """One that counts batches, for checkpoints and progress: the fit is not a sum over batches."""
        return torch.optim.SGD(self.affinity.parameters(), lr=0.0)

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

    def training_step(self, batch: EntityMatchBatch, batch_idx: int) -> Tensor:
        """Keep the matches of a batch; the share of its pairs of candidates that the start does not order right."""
        self.train_matches.append(self._to_rated(batch, self.train_matches))
        accuracy = rank_agreement(self.affinity, self.train_matches[-1])["pair_accuracy"]
        self.log(
            "train/pairs", float(sum(len(part.quality) for part in self.train_matches)), prog_bar=True, batch_size=1
        )
        return 1 - (accuracy or 0.0) + 0.0 * self.affinity.weight.sum()

    def on_validation_start(self) -> None:
        """Fit to what was read."""
        self.val_matches.clear()
        if self.train_matches and not self.trainer.sanity_checking:
            rated = concat_rated(self.train_matches)
            # Validation has neither gradients nor their tensors.
            with self._name_records(), torch.inference_mode(False), torch.enable_grad():
                if self.trainer.is_last_batch:  # of all that is read; before the fit, so that nothing is lost
                    rated.drop_undefined(self.n_folds)
                self.fit_result = self.method.fit(self.initial, *rated.split(self.early_stopping_split, self.seed))
                self.affinity.load_state_dict(self.fit_result.affinity.state_dict())

    def validation_step(self, batch: EntityMatchBatch, batch_idx: int) -> None:
        """Keep the matches of a batch."""
        self.val_matches.append(self._to_rated(batch, self.val_matches))

    def predict_step(self, batch: EntityMatchBatch, batch_idx: int) -> RatedMatches:
        """The matches of a batch, added up, with the known quality."""
        return self._to_rated(batch, [])

    def on_validation_epoch_end(self) -> None:
        """Log the agreement of references that took no part in the fit, and what the fit went through."""
        tau = rank_agreement(self.affinity, concat_rated(self.val_matches))["tau_b"]
        value = math.nan if tau is None else tau
        self.log("val_tau", value, prog_bar=True, logger=False)
        self.log("val/tau_b", value)
        if isinstance(self.logger, TensorBoardLogger) and self.fit_result is not None:
            board = self.logger.experiment
            for step in self.fit_result.steps:
                board.add_scalar("fit/tau_b", step.train, step.evaluations)
                if step.validation is not None:
                    board.add_scalar("fit/stop_tau_b", step.validation, step.evaluations)
            counts = concat_rated(self.train_matches).sums.counts.sum((0, 1))
            board.add_figure("affinity", plot_affinity(self.affinity, counts), self.global_step)

    def export(self, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Save the scorer; tell cross-validation, intervals and agreement, and draw W."""
        collator, train = _entity_collator(data), concat_rated(self.train_matches)
        predicted: Any = trainer.predict(self, cast(PairedReportDataModule, data).val_dataloader())
        held = concat_rated(predicted)
        told = (
            f"{self.n_folds} fits, each judged by the references left out",
            f"{self.bootstrap_samples} fits for intervals",
        )
        over_folds, over_samples = (track_progress(trainer, f"{what}, into {run.folder}") for what in told)
        with self._name_records():
            folds = cross_validate_affinity(
                self.method, self.initial, train, self.n_folds, self.seed, self.early_stopping_split, over_folds
            )
            intervals = None
            if self.bootstrap_samples:
                intervals = bootstrap_affinity(
                    self.method, self.initial, train, self.bootstrap_samples, seed=self.seed, progress=over_samples
                )
        result = {}
        for name in PRESETS:
            preset = AffinityMatrix.from_preset(name, self.initial.penalty_rule, self.initial.clamp_cosines)
            begun = torch.equal(preset.weight, self.initial.weight)
            result[name] = rank_agreement(preset, held, sum(folds.initial) / self.n_folds if begun else None)
        result["total"] = rank_agreement(self.affinity, held, sum(folds.fitted) / self.n_folds)
        report = FitReport(
            self.affinity, self.initial, train.sums.counts.sum((0, 1)), intervals, folds, self.fit_result
        )
        save_ratescore(run.model, collator.tagger, collator.encoder, self.affinity)
        write_fit_report(run.folder, report)
        figures = {
            "pairs": len(held.quality),
            "pairs_without_entities": int((~held.sums.defined).sum()),
            "agreement": result,
            "steps": trainer.global_step,
            "data": data.file_fingerprints(),
        }
        write_json(run.metrics, figures)
        return result

    def load_initial_weights(self, folder: Path) -> None:
        """Begin with the W and p of a saved scorer.

        Raises:
            InputError: If they cannot be read.
        """
        for weights in (self.affinity, self.initial):
            weights.load_state_dict(AffinityMatrix.load(folder).state_dict())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """With the pairs read so far, which a continued run does not read again."""
        super().on_save_checkpoint(checkpoint)
        checkpoint[RATED_MATCHES_KEY] = [[*part.sums, part.quality, part.group] for part in self.train_matches]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Take the pairs that were read.

        Raises:
            InputError: If the checkpoint is of another model.
        """
        super().on_load_checkpoint(checkpoint)
        if RATED_MATCHES_KEY not in checkpoint:
            raise InputError("is of another model: it holds no pairs of reports.")
        self.train_matches = [_rated_matches(*tensors) for tensors in checkpoint[RATED_MATCHES_KEY]]

    @contextmanager
    def _name_records(self) -> Iterator[None]:
        """What cannot be fitted to, with the file that it was read from."""
        try:
            yield
        except InputError as error:
            records = getattr(getattr(self.trainer, "datamodule", None), "records", "data")
            settings = f"(model.folds is {self.n_folds}, model.inner {self.early_stopping_split})"
            raise InputError(f"{records}: {str(error).rstrip('.')} {settings}.") from error

    def _to_rated(self, batch: EntityMatchBatch, previous: list[RatedMatches]) -> RatedMatches:
        """A batch's matches, added up; groups are numbered on from what was before."""
        offset = int(previous[-1].group.max()) + 1 if previous else 0
        return _rated_matches(*self.affinity.type_pair_sums(batch.matches), batch.quality, batch.group + offset)


def concat_rated(parts: list[RatedMatches]) -> RatedMatches:
    """All pairs of some batches; groups that begin at 0 in each are numbered on."""
    shifted, offset = [], 0
    for part in parts:
        again = offset and int(part.group.min()) == 0
        shifted.append(part._replace(group=part.group + offset) if again else part)
        offset = int(shifted[-1].group.max()) + 1
    columns = zip(*([*part.sums, part.quality, part.group] for part in shifted), strict=True)
    return _rated_matches(*(torch.cat(column) for column in columns))


def rank_agreement(
    affinity: AffinityMatrix, rated: RatedMatches, cross_validated_tau: float | None = None
) -> dict[str, float | None]:
    """Rank correlation of scores and known quality, and the share of pairs of candidates that are ordered right.

    Pairs of which a report has no entity are left out; None where a figure is not defined. The τ-b of a
    cross-validation, if there is one, stands beside them.
    """
    kept = rated.select(rated.sums.defined)
    with torch.no_grad():
        scores = affinity.score(kept.sums)
    right, pairs = (int(value) for value in count_concordant_pairs(scores[:, None], kept.quality[:, None], kept.group))
    values: dict[str, float | None] = {
        "tau_b": kendall_tau_b(scores, kept.quality).item(),
        "spearman": spearman(scores, kept.quality).item(),
        "pair_accuracy": right / pairs if pairs else None,
        "cross_validated": cross_validated_tau,
    }
    return {name: None if value is None or math.isnan(value) else round(value, 6) for name, value in values.items()}


def _rated_matches(cosines: Tensor, counts: Tensor, quality: Tensor, group: Tensor) -> RatedMatches:
    return RatedMatches(TypePairSums(cosines.cpu(), counts.cpu()), quality.cpu().double(), group.cpu())


def _entity_collator(data: BaseDataModule) -> EntityMatchCollator:
    if not isinstance(data, PairedReportDataModule):
        raise InputError(f"data: Expected PairedReportDataModule for W and p but got {type(data).__name__}.")
    if not isinstance(data.collator, EntityMatchCollator):
        raise InputError(f"data.collator: Expected Entities for W and p but got {type(data.collator).__name__}.")
    return data.collator
