"""Cohen's κ of the relation judge on generated sentences with target relations.

python -m experiments.sentence_eval.relations --output runs/relations
python experiments/sentence_eval/agreement.py --relations runs/relations/test.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torchmetrics.functional.classification import multiclass_confusion_matrix

from radreward.data.relation_io import RELATION_SCORES, read_relations
from radreward.metrics import cohen_kappa
from radreward.systems.sentence_eval import RelationJudge


def main() -> None:
    """Print κ (plain and quadratic), accuracy, and the counts of target (rows) by predicted scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relations", type=Path, required=True, help="file of sentence relations")
    parser.add_argument("--judge", default="embedded", help="`embedded`, or the folder of a judge")
    options = parser.parse_args()
    pairs = [
        (record.sentences[first], record.sentences[second], score)
        for record in read_relations(options.relations)
        for first, second, score in record.pairs
    ]
    judge = RelationJudge.from_pretrained(options.judge)
    judgements = judge.judge([[first] for first, _, _ in pairs], [[second] for _, second, _ in pairs])
    predicted = [score.score for entry in judgements for score in entry.reference_scores if score is not None]
    preds, target = (torch.tensor([*map(RELATION_SCORES.index, side)]) for side in (predicted, [s for *_, s in pairs]))
    confusion = multiclass_confusion_matrix(preds, target, len(RELATION_SCORES))
    metrics = {
        "pairs": len(pairs),
        "kappa": round(float(cohen_kappa(confusion)), 4),
        "kappa_quadratic": round(float(cohen_kappa(confusion, "quadratic")), 4),
        "accuracy": round(float(confusion.diagonal().sum() / confusion.sum()), 4),
        "scores": list(RELATION_SCORES),
        "target_by_predicted": confusion.tolist(),
    }
    print(json.dumps(metrics))


if __name__ == "__main__":
    main()
