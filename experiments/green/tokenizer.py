"""Makes the tokenizer of the small generator, radreward/data/generator_tokenizer.json, from generated text alone.

    python experiments/green/tokenizer.py

Words of the vocabulary are whole tokens, whatever their case; anything else is written in bytes, so that no text is
lost. What every answer repeats is one token each, which keeps answers short.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from radreward.criteria import RadCliQCriteria
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.synthesis.pipeline import synthesize
from radreward.systems.green.prompt import EXPLANATION, HEADINGS, category_label
from radreward.text.findings import FINDINGS

TARGET = Path(__file__).parents[2] / "radreward" / "data" / "generator_tokenizer.json"
VOCABULARY = 2048
PIECES = r"[ ]?[a-z]+|[ ]?[0-9]|[ ]?[^\sa-z0-9]|\s"


def texts() -> Iterator[str]:
    """Reports of all lengths, and the words of analyses."""
    criteria, writer, rng = RadCliQCriteria(), FactAnalysisWriter(vary_wording=False), Random(0)
    for length, groups in (("plain", 3000), ("report", 1500)):
        for group in synthesize(criteria, groups, seed=7, granularity=length):  # type: ignore[arg-type]  # of the two
            yield group.reference
            for candidate in group.candidates:
                yield candidate.text
                values = tuple(criteria.to_list(candidate.errors or {}))
                yield writer.write(group.reference, candidate.text, values, criteria, rng).explanation
    yield from (f" {digit}" for digit in range(10) for _ in range(50))
    for finding in FINDINGS.values():
        yield from (f" {noun.removeprefix('*')};" for noun in finding.names for _ in range(5))


def scaffold() -> Iterator[str]:
    """What every answer by the six error types says."""
    yield from ("\n", "<think>\n", "\n</think>", "Reference: ", ".\nCandidate: ", "no findings", "none")
    for number, criterion in enumerate(RadCliQCriteria().criteria, 1):
        yield f".\nStep {number}: {criterion.name}: " if number == 1 else f"\nStep {number}: {criterion.name}: "
        yield from (f"\n<{criterion.tag}>", f"</{criterion.tag}>")
    for heading in HEADINGS:
        yield f"[{heading.title()}]:\n" if heading == EXPLANATION else f"\n\n[{heading.title()}]:\n"
    for place, criterion in enumerate(RadCliQCriteria().criteria):
        yield f"{category_label(place)} {criterion.name}: "


def build() -> Tokenizer:
    """The tokenizer."""
    made = Tokenizer(models.BPE())
    # A text begins as its words go on, so that a word is one token wherever it stands.
    made.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Prepend(" ")])
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PIECES), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 60,
        min_frequency=3,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts(), trainer)
    made.add_tokens([AddedToken(text, normalized=False) for text in scaffold()])
    return made


if __name__ == "__main__":
    build().save(str(TARGET), pretty=False)
    print(f"{TARGET}: {Tokenizer.from_file(str(TARGET)).get_vocab_size()} tokens")
