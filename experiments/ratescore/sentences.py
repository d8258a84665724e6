"""Write generated sentences with their entities, for training and testing taggers.

python -m experiments.ratescore.sentences --output runs/entities
"""

from __future__ import annotations

import argparse
from pathlib import Path

from experiments.ratescore.entity_generator import generate_annotated_sentences
from radreward.data.entity_io import write_tagged_sentences


def main() -> None:
    """Write train.jsonl and test.jsonl, which share no templates and names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="Output folder.")
    parser.add_argument("--train", type=int, default=24_000, help="Number of training sentences.")
    parser.add_argument("--test", type=int, default=1_000, help="Number of test sentences.")
    parser.add_argument("--seed", type=int, default=0, help="Seed of the generator.")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    write_tagged_sentences(
        options.output / "train.jsonl", generate_annotated_sentences(options.train, options.seed, "train")
    )
    write_tagged_sentences(
        options.output / "test.jsonl", generate_annotated_sentences(options.test, options.seed, "test")
    )


if __name__ == "__main__":
    main()
