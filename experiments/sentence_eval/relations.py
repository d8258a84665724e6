"""Write generated sentences with their relations, to train and test a relation judge.

python -m experiments.sentence_eval.relations --output runs/relations
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.sentence_eval.relation_generator import generate_sentence_relations
from radreward.data.relation_io import write_relations


def main() -> None:
    """Write train.jsonl, and test.jsonl with other wordings."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the two files")
    parser.add_argument("--train", type=int, default=6_000, help="training records, of eight sentences each")
    parser.add_argument("--test", type=int, default=300, help="test records")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generator")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    write_relations(options.output / "train.jsonl", generate_sentence_relations(options.train, options.seed, "train"))
    write_relations(options.output / "test.jsonl", generate_sentence_relations(options.test, options.seed, "test"))


if __name__ == "__main__":
    main()
