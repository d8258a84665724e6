"""The folder of a RaTEScore: settings, tagger, and W and p."""

from __future__ import annotations

import json
from pathlib import Path

from radreward.errors import InputError
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.taggers import Tagger

CONFIG = "ratescore.json"
TAGGER = "tagger"
FORMAT = 1


def save_ratescore(
    folder: str | Path,
    tagger: Tagger,
    encoder: EntityEncoder,
    affinity: AffinityMatrix,
    no_entity_score: float | None = None,
) -> None:
    """Write what the scorer reads; of the encoder its name and settings, not its weights.

    Args:
        folder: Where to; an older one there is replaced.
        tagger: What finds the entities.
        encoder: What embeds their names.
        weights: W, p and how they are used.
        no_entities: Score of a pair of which one report has no entity, if it shall have one.

    Raises:
        InputError: If the folder holds something else.
    """
    folder = Path(folder)
    if folder.exists() and not (folder / CONFIG).is_file() and (folder.is_file() or any(folder.iterdir())):
        raise InputError(f"{folder}: Expected a folder that is new, empty or holds a RaTEScore.")
    affinity.save(folder)
    tagger.save_pretrained(folder / TAGGER)
    config = {"format": FORMAT, "encoder": encoder.settings(), "no_entities": no_entity_score}
    (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
