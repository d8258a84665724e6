"""Write pretrained small backbones for backbones.yaml: MiniLM cut to its first layers.

python experiments/ablations/small_backbones.py --output runs/small-backbones
"""

from __future__ import annotations

import argparse
from pathlib import Path

from transformers import AutoModel, AutoTokenizer

from radreward.data.tokenizer import EMBEDDED_BACKBONE, resolve_backbone

LAYERS = (2, 4)


def write_minilm(folder: Path, num_layers: int) -> None:
    """Write the first layers of MiniLM as a folder in the format of the Hub."""
    model = AutoModel.from_pretrained(resolve_backbone(EMBEDDED_BACKBONE), num_hidden_layers=num_layers)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(resolve_backbone(EMBEDDED_BACKBONE)).save_pretrained(folder)


def main() -> None:
    """Write minilm-2 and minilm-4."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the backbones")
    options = parser.parse_args()
    for number in LAYERS:
        write_minilm(options.output / f"minilm-{number}", number)


if __name__ == "__main__":
    main()
