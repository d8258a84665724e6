"""Build the tokenizer of the small decoder, radreward/data/generator_tokenizer.json, from generated text.

    python experiments/green/tokenizer.py

Words of the vocabulary are single tokens, in lowercase; other text is encoded in bytes, so that none is lost. The fixed
parts of answers are single tokens too, which keeps answers short.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from radreward.criteria import RadCliQCriteria
from radreward.synthesis import synthesize
from radreward.synthesis.fact_analysis_writer import FactAnalysisWriter
from radreward.systems.green.categories import EXPLANATION, HEADINGS, category_label
from radreward.text.findings import GENERATED_FINDINGS

TARGET = Path(__file__).parents[2] / "radreward" / "data" / "generator_tokenizer.json"
VOCABULARY = 2048
PIECES = r"[ ]?[a-z]+|[ ]?[0-9]|[ ]?[^\sa-z0-9]|\s"


def texts() -> Iterator[str]:
    """Yield reports of both granularities and the explanations of their analyses."""
    criteria, writer, rng = RadCliQCriteria(), FactAnalysisWriter(vary_wording=False), Random(0)
    for granularity, num_groups in (("plain", 3000), ("report", 1500)):
        for group in synthesize(criteria, num_groups, seed=7, granularity=granularity):  # type: ignore[arg-type]  # one of the literals
            yield group.reference
            for candidate in group.candidates:
                yield candidate.text
                values = tuple(criteria.to_list(candidate.errors or {}))
                yield writer.write(group.reference, candidate.text, values, criteria, rng).explanation
    yield from (f" {digit}" for digit in range(10) for _ in range(50))
    for finding in GENERATED_FINDINGS.values():
        yield from (f" {noun.removeprefix('*')};" for noun in finding.names for _ in range(5))


def scaffold() -> Iterator[str]:
    """Yield the fixed parts of answers with the six error types."""
    yield from ("\n", "<think>\n", "\n</think>", "Reference: ", ".\nCandidate: ", "no findings", "none")
    for number, criterion in enumerate(RadCliQCriteria().criteria, 1):
        yield f".\nStep {number}: {criterion.name}: " if number == 1 else f"\nStep {number}: {criterion.name}: "
        yield from (f"\n<{criterion.tag}>", f"</{criterion.tag}>")
    for heading in HEADINGS:
        yield f"[{heading.title()}]:\n" if heading == EXPLANATION else f"\n\n[{heading.title()}]:\n"
    for index, criterion in enumerate(RadCliQCriteria().criteria):
        yield f"{category_label(index)} {criterion.name}: "


def build() -> Tokenizer:
    """Train the tokenizer."""
    tokenizer = Tokenizer(models.BPE())
    # The first word gets a leading space like the others, so that a word is the same token everywhere.
    tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), normalizers.Prepend(" ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(PIECES), "isolated"), pre_tokenizers.ByteLevel(False, use_regex=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY - 60,
        min_frequency=3,
        special_tokens=["<pad>", "<s>", "</s>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.add_tokens([AddedToken(text, normalized=False) for text in scaffold()])
    return tokenizer


if __name__ == "__main__":
    build().save(str(TARGET), pretty=False)
    print(f"{TARGET}: {Tokenizer.from_file(str(TARGET)).get_vocab_size()} tokens")
