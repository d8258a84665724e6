"""Write sentences with their entities, to train taggers on and to test them on.

python experiments/ratescore/sentences.py --output runs/entities
"""

from __future__ import annotations

import argparse
from pathlib import Path

from radreward.data.entity_io import write_tagged_sentences
from radreward.synthesis.entity_generator import generate_annotated_sentences


def main() -> None:
    """Write train.jsonl and test.jsonl, whose templates and names no sentence of train.jsonl has."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, required=True, help="Folder of the two files.")
    parser.add_argument("--train", type=int, default=24_000, help="Sentences to train on.")
    parser.add_argument("--test", type=int, default=1_000, help="Sentences to test on.")
    parser.add_argument("--seed", type=int, default=0, help="Decides everything.")
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
