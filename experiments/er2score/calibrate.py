"""Fit the calibration of a reward model to the outputs of its scorer on generated groups, and save the model.

python -m experiments.er2score.calibrate --model er2score --rule-share 0.7 --gate --output runs/er2score-calibrated

All data are SYNTHETIC: complete reports, and graded candidates, which state one finding right, partly right and not at
all.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path

import torch
from jsonargparse import ArgumentParser

from radreward.cli.signature import add_signature
from radreward.criteria import Criteria
from radreward.errors import InputError
from radreward.models import Calibration, save_reward_model
from radreward.models.calibration import calibrate_finding_weights
from radreward.scorers import load
from radreward.synthesis import GradedWriter, synthesize
from radreward.systems.er2score.gated_template import GatedStatementPairTemplate
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.text.normalization import normalize_report
from radreward.types import ReportGroup


def calibration_groups(criteria: Criteria, groups: int, graded: int, seed: int) -> list[ReportGroup]:
    """Return generated groups of complete reports, then of graded candidates."""
    reports = synthesize(criteria, groups, seed=seed)
    return list(chain(reports, synthesize(criteria, graded, seed=seed + 1, candidates=GradedWriter())))


def calibrated(
    scorer: RewardModelScorer, groups: Sequence[ReportGroup], rule_share: float | None = None
) -> RewardModelScorer:
    """Return the scorer with curves that are fitted to the errors and the finding weights of groups.

    Args:
        scorer: The scorer.
        groups: Generated groups.
        rule_share: See `RewardModelArtifact`; that of the scorer by default.
    """
    criteria = scorer.artifact.model.criteria
    rows = [(group.reference, candidate) for group in groups for candidate in group.candidates]
    predicted = scorer.predict(
        [normalize_report(reference) for reference, _ in rows], [normalize_report(entry.text) for _, entry in rows]
    )
    errors = torch.stack([criteria.to_tensor(entry.errors or {}) for _, entry in rows])
    weights = torch.tensor([entry.finding_weights or (torch.nan, torch.nan) for _, entry in rows])
    scored = predicted.rewards.isfinite().all(1)
    return RewardModelScorer(
        replace(
            scorer.artifact,
            calibration=Calibration.fit(predicted.rewards[scored], errors[scored]),
            finding_weights_calibration=calibrate_finding_weights(predicted.finding_weights[scored], weights[scored]),
            rule_share=scorer.artifact.rule_share if rule_share is None else rule_share,
        ),
        scorer.precision,
        scorer.on_too_long,
    )


def main(
    *,
    output: Path,
    model: str = "er2score",
    groups: int = 300,
    graded: int = 200,
    seed: int = 9,
    rule_share: float | None = None,
    gate: bool = False,
) -> int:
    """Save the model with its new calibration; return 2 if the input cannot be used.

    Args:
        output: Folder of the model.
        model: Name or folder of a reward model.
        groups: Number of generated groups of complete reports.
        graded: Number of generated groups of graded candidates.
        seed: Seed of all sampling; use one that no training data were made with.
        rule_share: Share of rules in quality and errors, from 0 to 1; by default that of the model.
        gate: Let the model leave out statements that surely report no finding, see `GatedStatementPairTemplate`.
    """
    try:
        if rule_share is not None and not 0 <= rule_share <= 1:
            raise InputError(f"--rule-share: Expected a number from 0 to 1 but got {rule_share}.")
        scorer = load(model, precision="fp32", on_too_long="truncate")
        if not isinstance(scorer, RewardModelScorer):
            raise InputError(f"--model: Expected a reward model but got {model}.")
        if gate:
            artifact = replace(scorer.artifact, template=GatedStatementPairTemplate())
            scorer = RewardModelScorer(artifact, scorer.precision, scorer.on_too_long)
        data = calibration_groups(scorer.artifact.model.criteria, groups, graded, seed)
        save_reward_model(calibrated(scorer, data, rule_share).artifact, output, as_float16=True)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    print(f"{output}: calibrated on {sum(len(group.candidates) for group in data)} generated candidates")
    return 0


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
