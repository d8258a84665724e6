"""LightningModule that fits W and p of RaTEScore: it matches every pair once, then fits to the matches."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from statistics import fmean
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from lightning.pytorch import Trainer
from torch import Tensor, nn

from radreward.criteria import Criteria
from radreward.data.base_datamodule import BaseDataModule
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.progress import ProgressReporter
from radreward.modules.base import BaseModule, require_collator
from radreward.modules.exporter import Exporter, MetricTable, training_record
from radreward.modules.loggers import log_figure, log_scalars
from radreward.modules.progress import has_progress
from radreward.modules.run_folder import RunFolder
from radreward.systems.ratescore.affinity_matrix import PRESETS, AffinityMatrix, AffinityValues
from radreward.systems.ratescore.collator import EntityMatchBatch, EntityMatchCollator
from radreward.systems.ratescore.fit_report import FitReport, plot_affinity, write_fit_report
from radreward.systems.ratescore.fitting.fit_evaluation import (
    bootstrap_affinity,
    cross_validate_affinity,
    rank_agreement,
)
from radreward.systems.ratescore.fitting.optimizers import AffinityOptimizer, FitResult, GradientOptimizer
from radreward.systems.ratescore.fitting.rated_matches import RatedMatches, concat_rated, make_rated_matches
from radreward.systems.ratescore.functional import PenaltyRule
from radreward.systems.ratescore.scorer import RaTEScore

_RATED_MATCHES_KEY = "rated_matches"
"""Key of the matched pairs in a checkpoint."""


class AffinityResults(NamedTuple):
    """Results of a fit."""

    metrics: MetricTable
    """Agreement of the presets and, in the row "total", of the fitted W and p; see `rank_agreement`."""
    validation: RatedMatches
    report: FitReport


class AffinityExporter(Exporter["AffinityModule", AffinityResults]):
    """Exporter of `AffinityModule`."""

    def check(self, module: AffinityModule, data: BaseDataModule) -> None:
        """Check that the data are pairs of reports with matched entities.

        Raises:
            InputError: If the check fails.
        """
        require_collator(data, EntityMatchCollator, "W and p")

    def measure(self, module: AffinityModule, trainer: Trainer, data: BaseDataModule) -> AffinityResults:
        """Return the agreement on the validation split, with cross-validation and intervals of the fit."""
        predictions: Any = trainer.predict(module, data.val_dataloader())
        validation, report = concat_rated(predictions), module.evaluate_fit(trainer)
        folds, initial = report.cross_validation, module.initial
        rows = {name: AffinityMatrix.from_preset(name, initial.penalty_rule, initial.clamp_cosines) for name in PRESETS}
        metrics = {name: rank_agreement(affinity, validation) for name, affinity in rows.items()}
        metrics["total"] = rank_agreement(module.affinity, validation)
        if folds is not None:
            for name, preset in rows.items():
                is_initial = torch.equal(preset.weight, initial.weight)
                metrics[name]["cross_validated"] = round(fmean(folds.initial), 6) if is_initial else None
            metrics["total"]["cross_validated"] = round(fmean(folds.fitted), 6)
        return AffinityResults(metrics, validation, report)

    def save(
        self,
        module: AffinityModule,
        results: AffinityResults,
        run: RunFolder,
        data: BaseDataModule,
        training_info: Mapping[str, Any],
        as_float16: bool,
    ) -> None:
        """Save the scorer, the report of the fit with a plot of W, and the metrics."""
        collator = require_collator(data, EntityMatchCollator, "W and p")
        scorer = RaTEScore(collator.tagger, collator.encoder, module.affinity, training_info=training_info)
        scorer.save_pretrained(run.model)
        write_fit_report(run.folder, results.report)
        pairs = {
            "pairs": len(results.validation.targets),
            "pairs_without_entities": int((~results.validation.sums.defined).sum()),
        }
        write_json(run.metrics, {**pairs, "agreement": results.metrics, **training_info})

    def export(self, module: AffinityModule, trainer: Trainer, data: BaseDataModule, run: RunFolder) -> MetricTable:
        """Measure and save the last fit, which used all pairs. There is no backbone and no best checkpoint."""
        results = self.measure(module, trainer, data)
        training_info = training_record(module, trainer, data, run, best_step=None)
        self.save(module, results, run, data, training_info, as_float16=False)
        return results.metrics


class AffinityModule(BaseModule):
    """Fits W and p to targets (RaTEScore, section 2.4). The tagger and the encoder of entities do not change.

    One epoch matches every pair, since matches do not depend on W and p. Before each validation, the optimizer fits to
    the matches so far. Some references are held out for early stopping. After training, the fit is evaluated by
    cross-validation and a bootstrap over references, unless the optimizer keeps the given W and p.

    Args:
        criteria: Criteria of the errors. The targets are the weighted totals. With `RatingCriteria`, the targets are
            the ratings of radiologists.
        optimizer: Optimizer of W and p; defaults to `GradientOptimizer`.
        preset: Published W and p from which the fit starts: for "long" or for "short" reports.
        weights: Values that replace some of the preset's. With `NoOptimizer`, a study can search
            `model.weights.penalty` and `model.weights.W.disease_to_anatomy`.
        penalty_rule: Penalized pairs of types, see `radreward.systems.ratescore.penalty_mask`.
        clamp_cosines: Replace negative cosines by 0.
        early_stopping_split: Fraction of the training references that is held out for early stopping.
        n_folds: Number of folds of the cross-validation.
        bootstrap_samples: Number of bootstrap fits for the intervals of W and p; 0 for no intervals.
        seed: Seed of splits, folds and resampling.

    Raises:
        ValueError: If a number is out of range.
    """

    exporter = AffinityExporter()
    row_label: ClassVar[str] = "weights"
    hparam_metrics: tuple[str, ...] = ("val/tau_b", "final/tau_b", "final/cross_validated")

    def __init__(
        self,
        criteria: Criteria,
        optimizer: AffinityOptimizer | None = None,
        preset: Literal["long", "short"] = "long",
        weights: AffinityValues | None = None,
        penalty_rule: PenaltyRule = "opposed",
        clamp_cosines: bool = True,
        early_stopping_split: float = 0.2,
        n_folds: int = 5,
        bootstrap_samples: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__()
        if not 0 < early_stopping_split <= 0.5:
            raise ValueError(f"Expected `early_stopping_split` to be in (0, 0.5] but got {early_stopping_split}.")
        if n_folds < 2:
            raise ValueError(f"Expected `n_folds` to be >= 2 but got {n_folds}.")
        if bootstrap_samples < 0:
            raise ValueError(f"Expected `bootstrap_samples` to be >= 0 but got {bootstrap_samples}.")
        self.criteria, self.affinity_optimizer = criteria, optimizer or GradientOptimizer()
        if not self.affinity_optimizer.fits:
            self.hparam_metrics = ("val/tau_b", "final/tau_b")
        values = weights or AffinityValues()
        self.affinity = AffinityMatrix.from_preset(preset, penalty_rule, clamp_cosines).replace(values)
        self.initial = deepcopy(self.affinity).requires_grad_(False)
        self.early_stopping_split, self.n_folds = early_stopping_split, n_folds
        self.bootstrap_samples, self.seed = bootstrap_samples, seed
        self.train_matches: list[RatedMatches] = []
        self.val_matches: list[RatedMatches] = []
        self.fit_result: FitResult | None = None

    def new_modules(self) -> list[nn.Module]:
        """Return W and p."""
        return [self.affinity]

    def configure_optimizers(self) -> torch.optim.Optimizer:  # type: ignore[override]  # no schedule
        """Return an optimizer that changes nothing. Its steps count the batches for checkpoints."""
        return torch.optim.SGD(self.affinity.parameters(), lr=0.0)

    def on_fit_start(self) -> None:
        """Check that every pair is read exactly once.

        Raises:
            InputError: If the check fails. The message names the setting.
        """
        epochs, processes = self.trainer.max_epochs, self.trainer.world_size
        if epochs != 1:
            raise InputError(f"trainer.max_epochs: Expected 1 to read every pair once but got {epochs}.")
        if processes != 1:
            raise InputError(f"trainer.devices: Expected one process for W and p but got {processes}.")

    def training_step(self, batch: EntityMatchBatch, batch_idx: int) -> Tensor:
        """Store the matches of a batch, and return the fraction of candidate pairs in the wrong order."""
        self.train_matches.append(self._to_rated(batch))
        accuracy = rank_agreement(self.affinity, self.train_matches[-1])["pair_accuracy"]
        pairs = float(sum(len(part.targets) for part in self.train_matches))
        self.log("train/pairs", pairs, prog_bar=True, batch_size=1)
        return 1 - (accuracy or 0.0) + 0.0 * self.affinity.weight.sum()

    def on_validation_start(self) -> None:
        """Fit to the matches so far."""
        self.val_matches.clear()
        if self.train_matches and not self.trainer.sanity_checking:
            self._fit(all_pairs=self.trainer.is_last_batch)

    def validation_step(self, batch: EntityMatchBatch, batch_idx: int) -> None:
        """Store the matches of a batch."""
        self.val_matches.append(self._to_rated(batch))

    def predict_step(self, batch: EntityMatchBatch, batch_idx: int) -> RatedMatches:
        """Return the matches of a batch, summed by types, with the targets."""
        return self._to_rated(batch)

    def on_validation_epoch_end(self) -> None:
        """Log the τ-b of the validation and the training pairs (`val_tau`, `train_tau`), and the steps of the fit."""
        value = self._tau_b(self.val_matches)
        self.log("val_tau", value, prog_bar=True, logger=False)
        self.log("val/tau_b", value)
        if self.train_matches:
            self.log("train_tau", self._tau_b(self.train_matches), logger=False)
        if self.trainer.loggers and self.fit_result is not None:
            for step in self.fit_result.steps:
                values = {"fit/tau_b": step.train, "fit/early_stopping_tau_b": step.validation}
                log_scalars(self.trainer, values, step.evaluations)
            counts = concat_rated(self.train_matches).sums.counts.sum((0, 1))
            log_figure(self.trainer, "affinity", plot_affinity(self.affinity, counts), self.global_step)

    def _tau_b(self, matches: list[RatedMatches]) -> float:
        tau = rank_agreement(self.affinity, concat_rated(matches))["tau_b"]
        return math.nan if tau is None else tau

    def _fit(self, all_pairs: bool) -> FitResult:
        """Fit to the matches so far. `all_pairs` also checks that there are enough references for the folds."""
        rated = concat_rated(self.train_matches)
        with self._name_records(), torch.inference_mode(False), torch.enable_grad():
            if all_pairs and self.affinity_optimizer.fits:
                rated.drop_undefined(self.n_folds)  # raises
            split = rated.split(self.early_stopping_split, self.seed)
            self.fit_result = self.affinity_optimizer.fit(self.initial, *split)
        self.affinity.load_state_dict(self.fit_result.affinity.state_dict())
        return self.fit_result

    def evaluate_fit(self, trainer: Trainer) -> FitReport:
        """Cross-validate and bootstrap the fit. A run that was resumed after the fit repeats the fit.

        There is nothing to evaluate if W and p were given: no fold would be held out from the choice of their values.
        """
        train, folds, intervals = concat_rated(self.train_matches), None, None
        shown = has_progress(trainer)
        with self._name_records():
            if self.affinity_optimizer.fits:
                folds = cross_validate_affinity(
                    self.affinity_optimizer,
                    self.initial,
                    train,
                    self.n_folds,
                    self.seed,
                    self.early_stopping_split,
                    progress=lambda folds: ProgressReporter(shown).track(
                        folds, "Cross-validation", self.n_folds, "folds"
                    ),
                )
            if self.affinity_optimizer.fits and self.bootstrap_samples:
                intervals = bootstrap_affinity(
                    self.affinity_optimizer,
                    self.initial,
                    train,
                    self.bootstrap_samples,
                    seed=self.seed,
                    progress=lambda fits: ProgressReporter(shown).track(
                        fits, "Bootstrap", self.bootstrap_samples, "fits"
                    ),
                )
        return FitReport(
            affinity=self.affinity,
            initial=self.initial,
            type_pair_counts=train.sums.counts.sum((0, 1)),
            intervals=intervals,
            cross_validation=folds,
            fit=self.fit_result or self._fit(all_pairs=True),
        )

    def load_initial_weights(self, folder: Path) -> None:
        """Start from the W and p of a saved scorer.

        Raises:
            InputError: If they cannot be read.
        """
        for affinity in (self.affinity, self.initial):
            affinity.load_state_dict(AffinityMatrix.load(folder).state_dict())

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Add the matched pairs, so that a resumed run does not match them again."""
        super().on_save_checkpoint(checkpoint)
        checkpoint[_RATED_MATCHES_KEY] = [[*part.sums, part.targets, part.group] for part in self.train_matches]

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Restore the matched pairs.

        Raises:
            InputError: If the checkpoint belongs to another model.
        """
        super().on_load_checkpoint(checkpoint)
        if _RATED_MATCHES_KEY not in checkpoint:
            raise InputError("is of another model: it holds no pairs of reports.")
        self.train_matches = [make_rated_matches(*tensors) for tensors in checkpoint[_RATED_MATCHES_KEY]]

    @contextmanager
    def _name_records(self) -> Iterator[None]:
        """Add the records file and the settings to the message of an `InputError`."""
        try:
            yield
        except InputError as error:
            records = ", ".join(getattr(self.datamodule, "files", ["data"]))
            settings = f"(model.n_folds is {self.n_folds}, model.early_stopping_split {self.early_stopping_split})"
            raise InputError(f"{records}: {str(error).rstrip('.')} {settings}.") from error

    def _to_rated(self, batch: EntityMatchBatch) -> RatedMatches:
        """Sum the matches of a batch by types."""
        return make_rated_matches(*self.affinity.type_pair_sums(batch.matches), batch.targets, batch.group)
