"""Write pretrained small backbones for backbones.yaml: MiniLM cut to its first layers, and a decoder of this project.

The decoder is the one of docs/evaluators.md that the study of GRPO starts from.

python experiments/ablations/small_backbones.py --output runs/small-backbones --decoder runs/radreason-one-more/model
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from transformers import AutoModel, AutoTokenizer

from radreward.data.tokenizer import EMBEDDED_BACKBONE, resolve_backbone
from radreward.models.generative_evaluator import load_generative_evaluator

LAYERS = (2, 4)


def write_minilm(folder: Path, num_layers: int) -> None:
    """Write the first layers of MiniLM as a folder in the format of the Hub."""
    model = AutoModel.from_pretrained(resolve_backbone(EMBEDDED_BACKBONE), num_hidden_layers=num_layers)
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(resolve_backbone(EMBEDDED_BACKBONE)).save_pretrained(folder)


def write_decoder(folder: Path, model_folder: Path) -> None:
    """Write the decoder of a saved evaluator, trained without adapters, as a folder in the format of the Hub."""
    evaluator = load_generative_evaluator(model_folder)
    model: Any = evaluator.model
    model.save_pretrained(folder)
    evaluator.prompt_encoder.tokenizer.save_pretrained(folder)


def main() -> None:
    """Write minilm-2 and minilm-4, and the decoder if one is given."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, required=True, help="folder of the backbones")
    parser.add_argument("--decoder", type=Path, help="model folder of a trained small decoder")
    options = parser.parse_args()
    for number in LAYERS:
        write_minilm(options.output / f"minilm-{number}", number)
    if options.decoder:
        write_decoder(options.output / "decoder", options.decoder)


if __name__ == "__main__":
    main()
