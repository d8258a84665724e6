"""What each part of the training data brings: probes in the right order by the models of a study.

    radreward tune --config experiments/er2score/parts.yaml
    python -m experiments.er2score.parts --study runs/parts

Models are calibrated on generated groups. Rules have no share in the figures, which are those of the model alone. The
figures of a model are kept in the folder of its run, so that an interrupted command goes on with the next one.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from jsonargparse import ArgumentParser

from experiments.er2score.average import load_artifact
from experiments.er2score.calibrate import calibrated, calibration_groups
from experiments.probes.order import FOLDER, KINDS, NORMAL_QUALITY, SETS, normal_reports, ordered
from radreward.cli.signature import add_signature
from radreward.errors import InputError
from radreward.io.artifacts import write_json
from radreward.io.text_tables import markdown_table, text_frame
from radreward.meta_evaluation.preferences import read_preferences
from radreward.systems.er2score.gated_template import GatedStatementPairTemplate
from radreward.systems.er2score.scorer import RewardModelScorer
from radreward.tuning.comparison import mean_std
from radreward.tuning.run_groups import group_by_seed
from radreward.tuning.runs import FinishedRun, find_runs

OUTPUTS = ("quality", "total")
SEED = 9
NORMAL = "normal reports"


def probe_counts(model: Path, gate: bool, groups: int) -> dict[str, int]:
    """Return how many relations of each kind of probe hold for a trained model, and how many normal reports pass.

    Args:
        model: Folder of the model.
        gate: Leave out statements that surely report no finding.
        groups: Number of generated groups for the calibration.

    Returns:
        Counts by "kind, output", and those of normal reports with a quality of at least 0.99.
    """
    artifact = load_artifact(str(model))
    if gate:
        artifact = replace(artifact, template=GatedStatementPairTemplate())
    data = calibration_groups(artifact.model.criteria, groups, groups, SEED)
    scorer = calibrated(RewardModelScorer(artifact, "fp32", "truncate"), data, rule_share=0.0)
    counts: Counter[str] = Counter()
    for part in SETS:
        for kind in KINDS:
            holding = ordered(scorer, read_preferences(FOLDER / f"{part}{kind}.jsonl"))
            counts.update({f"{kind}, {output}": holding[output] for output in OUTPUTS})
        qualities = normal_reports(scorer, part)
        if qualities is None:
            raise InputError(f"{model}: Expected a model with a quality.")
        counts[NORMAL] += int((qualities.nan_to_num() >= NORMAL_QUALITY).sum())
    return dict(counts)


def kept_counts(run: FinishedRun, gate: bool, groups: int) -> dict[str, int]:
    """Return the counts of a run's model, from the file of an earlier call if there is one."""
    path = run.folder / f"probes-{'gate' if gate else 'no-gate'}-{groups}.json"
    if not path.exists():
        write_json(path, probe_counts(run.folder / "model", gate, groups))
    counts: dict[str, int] = json.loads(path.read_text(encoding="utf-8"))
    return counts


def main(*, study: Path, groups: int = 100) -> int:
    """Print mean and standard deviation over seeds; return 2 if the study cannot be used.

    Args:
        study: Folder of the study. Models of its first group are also measured without the gate.
        groups: Number of generated groups for the calibration.
    """
    try:
        runs, skipped = find_runs([study])
        for reason in skipped:
            print(f"Skipped: {reason}", file=sys.stderr)
        variants = group_by_seed(runs)
        measured = {group.name: [kept_counts(run, True, groups) for run in group.runs] for group in variants}
        measured["no gate"] = [kept_counts(run, False, groups) for run in variants[0].runs]
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    rows = [[kind, *(_mean(counts, kind) for counts in measured.values())] for kind in measured["no gate"][0]]
    print(markdown_table(text_frame(["probes", *measured], rows)))
    return 0


def _mean(counts: Sequence[dict[str, int]], kind: str) -> str:
    mean, std = mean_std([entry[kind] for entry in counts])
    return f"{mean:.1f}" if std is None else f"{mean:.1f} ± {std:.1f}"


if __name__ == "__main__":
    parser = ArgumentParser(description=__doc__)
    add_signature(parser, main)
    sys.exit(main(**vars(parser.parse_args())))
