"""Train the head of the entity encoder on names of our vocabulary; the shipped one was trained so, in two minutes.

python experiments/ratescore/encoder.py --output runs/head.safetensors
"""

from __future__ import annotations

import argparse
from pathlib import Path
from random import Random

from radreward.affinity.encoder import EntityEncoder
from radreward.affinity.head import fit_head
from radreward.models.taggers import RuleTagger
from radreward.synthesis.grammar import sentence
from radreward.synthesis.sampling import sample_fact, sample_keys
from radreward.synthesis.vocabulary import FINDINGS


def names(sentences: int, seed: int) -> list[str]:
    """The distinct names of entities in sentences of our grammar."""
    rng, keys = Random(seed), tuple(FINDINGS)
    texts = [sentence(sample_fact(sample_keys(rng, keys, 1)[0], rng), rng).text for _ in range(sentences)]
    return sorted({entity.name for found in RuleTagger().tag(texts) for entity in found})


def main() -> None:
    """Write the head."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=30_000)
    parser.add_argument("--steps", type=int, default=1800)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    known = names(options.sentences, options.seed)
    head = fit_head(known, EntityEncoder(cache=1).embed(known).vectors, options.steps, options.seed)
    head.save(options.output)
    print(f"{len(known)} names: {options.output}")


if __name__ == "__main__":
    main()
