"""κ of the judge of relations with the truth, on sentences whose relations are known.

python experiments/sentence_eval/relations.py --output runs/relations
python experiments/sentence_eval/agreement.py --relations runs/relations/test.jsonl
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from radreward.data.relation_io import read_relations
from radreward.metrics import cohen_kappa, confusion_matrix
from radreward.systems.sentence_eval.few_shot import SCORES
from radreward.systems.sentence_eval.judgement import SentenceScore
from radreward.systems.sentence_eval.judges import RelationJudge


def main() -> None:
    """Print κ (plain and quadratic), accuracy, and known (rows) by predicted scores."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--relations", type=Path, required=True, help="file of related sentences")
    parser.add_argument("--judge", default="embedded", help="`embedded`, or the folder of a judge")
    options = parser.parse_args()
    known = [
        (record.sentences[one], record.sentences[other], score)
        for record in read_relations(options.relations)
        for one, other, score in record.pairs
    ]
    judge = RelationJudge.from_pretrained(options.judge)
    judged = judge.judge([[one] for one, _, _ in known], [[other] for _, other, _ in known])
    scores = [
        entry.score for judgement in judged for entry in judgement.reference_scores if isinstance(entry, SentenceScore)
    ]
    counts = confusion_matrix(torch.tensor(scores), torch.tensor([score for *_, score in known]), SCORES)
    figures = {
        "pairs": len(known),
        "kappa": round(float(cohen_kappa(counts)), 4),
        "kappa_quadratic": round(float(cohen_kappa(counts, "quadratic")), 4),
        "accuracy": round(float(counts.diagonal().sum() / counts.sum()), 4),
        "scores": list(SCORES),
        "known_by_predicted": counts.tolist(),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
