"""RaTEScore against the package RaTEScore 0.6.0: the same models and weights, the same pairs, one thread, CPU time.

The package needs older numpy and pandas and medspacy, so it gets an environment of its own, made once with pip under
`runs/ratescore-peer`. Both sides load a DeBERTa-v2 tagger and a BERT encoder with random weights, of the published
architectures but 3 layers of width 192 (published: 12 of 768), so that the package takes minutes and not hours. 125
references with 4 candidates each, written by our grammar; `--reports` takes real ones.

Only for this comparison, entities are decoded as the package does and weights are used as it does. Scores must then be
equal to 1e-5 wherever they are defined alike; where they are not is counted and said.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch
from rich.console import Console
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    DebertaV2Config,
    DebertaV2ForTokenClassification,
    PreTrainedTokenizerFast,
)

from radreward.criteria import RadCliQCriteria
from radreward.data.entity_io import spans_from_iob
from radreward.data.tokenizer import resolve_backbone
from radreward.models.sentence_tokenizer import SentenceTokenizer, TokenBatch, length_batches
from radreward.synthesis.pipeline import synthesize
from radreward.synthesis.report_reader import read_reports
from radreward.systems.ratescore import AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.systems.ratescore.taggers import Tagger
from radreward.text.sentence_splitter import sentence_spans
from radreward.types import ENTITY_TYPES, Entity

FOLDER = Path("runs/ratescore-peer")
PINS = ("RaTEScore==0.6.0", "medspacy==1.3.1", "numpy<2", "pandas<3", "torch==2.13.0", "transformers==5.23.0")
LABELS = ("O", *(f"{letter}-{kind.upper()}" for kind in ENTITY_TYPES for letter in "BI"))
PAIRS, PER_REFERENCE = 500, 4
TARGET, TOLERANCE = 10.0, 1e-5
BATCH_TOKENS = 512
"""Of the tagger: what the caches of a core hold."""
TIE = 1e-6
"""Cosines nearer than this are a tie, in which the package takes any."""
CHILD = """
import json, sys, time
import torch
torch.set_num_threads(1)
from RaTEScore import RaTEScore
from RaTEScore.utils import sentence_split
folder = sys.argv[1]
pairs = json.load(open(folder + "/pairs.json"))
scorer = RaTEScore(folder + "/tagger", folder + "/encoder", use_gpu=False)
begin = time.process_time()
scores = scorer.compute_score(pairs["candidates"], pairs["references"])
seconds = time.process_time() - begin
texts = sorted({*pairs["candidates"], *pairs["references"]})
with_empty = scorer.compute_score(pairs["candidates"][:3], [pairs["references"][0], "", pairs["references"][2]])
json.dump({"seconds": seconds, "scores": scores, "with_empty": with_empty,
           "sentences": {text: sentence_split([text])[0] for text in texts}}, open(folder + "/peer.json", "w"))
"""


class Pairs(NamedTuple):
    """References and candidates, pair by pair."""

    references: list[str]
    candidates: list[str]


def environment(folder: Path) -> Path:
    """The Python of an environment with the package, made where there is none; pip's cache is used."""
    python, ready = folder / "venv" / "bin" / "python", folder / "venv" / "ready.json"
    if not ready.is_file() or json.loads(ready.read_text()) != list(PINS):
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / "venv")], check=True)  # noqa: S603 - our own
        subprocess.run([str(python), "-m", "pip", "install", "--quiet", *PINS], check=True)  # noqa: S603 - pinned
        ready.write_text(json.dumps(PINS))
    return python


def synthetic(pairs: int) -> Pairs:
    """Pairs by our grammar, `PER_REFERENCE` candidates a reference."""
    groups = list(synthesize(RadCliQCriteria(), -(-pairs // PER_REFERENCE), PER_REFERENCE, seed=5))
    every = [(group.reference, candidate.text) for group in groups for candidate in group.candidates][:pairs]
    return Pairs([reference for reference, _ in every], [candidate for _, candidate in every])


def real(path: Path, pairs: int) -> Pairs:
    """Pairs of reports of a file: each beside the one that follows it."""
    texts = read_reports(path, None).texts[: pairs + 1]
    return Pairs(list(texts[:-1]), list(texts[1:]))


def write_models(folder: Path, texts: Sequence[str], layers: int, width: int) -> None:
    """A tagger and an encoder with random weights that tell tokens apart, and the tokenizer of the tagger."""
    torch.manual_seed(0)
    tokenizer = unigram(texts)
    tokenizer.save_pretrained(folder / "tagger")
    sizes: dict[str, Any] = {
        "hidden_size": width,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "intermediate_size": 4 * width,
    }
    own: dict[str, Any] = {
        "relative_attention": True,
        "position_buckets": 256,
        "norm_rel_ebd": "layer_norm",
        "share_att_key": True,
        "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False,
        "type_vocab_size": 0,
        "pad_token_id": 0,
        "vocab_size": len(tokenizer),
        "id2label": dict(enumerate(LABELS)),
        "label2id": {label: number for number, label in enumerate(LABELS)},
    }
    tagger = DebertaV2ForTokenClassification(DebertaV2Config(**sizes, **own))
    encoder = BertModel(BertConfig(**sizes))
    with torch.no_grad():
        tagger.classifier.weight.normal_(0, 1)
        tagger.classifier.bias.zero_()[0] = width**0.5  # as many tokens outside of entities as real reports have
        for parameter in encoder.parameters():
            if parameter.ndim == 2:
                parameter.mul_(3)
    tagger.save_pretrained(folder / "tagger")
    encoder.save_pretrained(folder / "encoder")
    AutoTokenizer.from_pretrained(resolve_backbone("embedded")).save_pretrained(folder / "encoder")


def unigram(texts: Sequence[str]) -> PreTrainedTokenizerFast:
    """A sentencepiece-like tokenizer, as DeBERTa-v3 has, of the words of the texts."""
    tokens = Tokenizer(models.Unigram())
    tokens.normalizer = normalizers.NFKC()
    tokens.pre_tokenizer = pre_tokenizers.Metaspace()
    tokens.decoder = decoders.Metaspace()
    special = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]"]
    trainer = trainers.UnigramTrainer(vocab_size=8000, special_tokens=special, unk_token="[UNK]", show_progress=False)  # noqa: S106 - no password
    tokens.train_from_iterator(texts, trainer)
    ends = [(name, tokens.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    tokens.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    names = ("pad_token", "cls_token", "sep_token", "unk_token", "mask_token")
    return PreTrainedTokenizerFast(tokenizer_object=tokens, **dict(zip(names, special, strict=True)))


class AsThePackage(Tagger):
    """Our batches, with the package's way from labels to entities."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model = AutoModelForTokenClassification.from_pretrained(folder).eval()
        self.tokens = SentenceTokenizer(self.tokenizer, 512)
        self.found = self.lost = 0

    @torch.inference_mode()
    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        """See `Tagger.tag`; offsets are not kept."""
        pieces = [piece for row, text in enumerate(sentences) for piece in self.tokens.chunks(row, text)]
        tagged: list[tuple[Entity, ...]] = [() for _ in sentences]
        for group in length_batches(pieces, BATCH_TOKENS):
            batch: TokenBatch = self.tokens.collate(group)
            best = self.model(**batch._asdict()).logits.argmax(-1).tolist()
            for piece, row in zip(group, best, strict=True):
                # The package looks at the label behind the sentence too, which is that of padding in a longer batch.
                labels = [LABELS[number] for number in row[: len(piece.input_ids)]]
                spans = package_spans(labels)
                self.found += len(spans_from_iob(labels[1:-1]))
                self.lost += len(spans_from_iob(labels[1:-1])) - len(spans)
                words = self.tokenizer.convert_ids_to_tokens(list(piece.input_ids))
                tagged[piece.sentence_index] = tuple(
                    Entity(self.tokenizer.convert_tokens_to_string(words[first : last + 1]), kind, 0, 0)
                    for first, last, kind in spans
                )
        return tagged

    def fingerprint(self) -> str:
        """Of the weights."""
        state = sorted(self.model.state_dict().items())
        return hashlib.sha256(b"".join(name.encode() + value.numpy().tobytes() for name, value in state)).hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """Model and tokenizer; who loads the folder as a tagger gets our way to entities, without the slips."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)


def package_spans(labels: Sequence[str]) -> list[tuple[int, int, str]]:
    """First and last token and type of each entity as the package finds them, its slips included.

    An entity that ends with the sentence takes the place behind it into account; an I tag before a B tag begins one.
    """
    kinds = {kind.upper(): kind for kind in ENTITY_TYPES}
    spans: list[tuple[int, int, str]] = []
    start: int | None = None
    end: int | None = None
    kind = ""
    for at in range(1, len(labels) - 1):
        label, following = labels[at], labels[at + 1][0]
        if label == "O":
            continue
        if label[0] == "B":
            start, kind = at, label[2:]
            if following != "I":
                end = at
                spans.append((at, at, label[2:]))
                if following == "O":
                    start = end = None
        elif following != "I":
            end = at
            if start is not None:
                spans.append((start, at, kind))
            start, kind = (at, label[2:]) if following == "B" else (None, "")
            end = end if following == "B" else None
    if start is not None and end is None:
        spans.append((start, len(labels) - 2, kind))
    return [(first, last, kinds[name]) for first, last, name in spans]


def ours(folder: Path) -> tuple[RaTEScore, AsThePackage]:
    """Our scorer with the package's choices."""
    tagger = AsThePackage(folder / "tagger")
    encoder = EntityEncoder(str(folder / "encoder"), "first")
    weights = AffinityMatrix.from_preset("long", clamp_cosines=False)
    return RaTEScore(tagger, encoder, weights, no_entity_score=0.5, on_too_long="truncate"), tagger


def tied(scorer: RaTEScore, reference: str, candidate: str) -> bool:
    """Whether the nearest entity is not the only one, and another has another type."""
    found = [scorer.caching_tagger.tag_reports([text])[0] for text in (reference, candidate)]
    if not all(found):
        return False
    first, second = (scorer.encoder.embed([entity.name for entity in side]).vectors for side in found)
    for near, side in ((first @ second.T, found[1]), ((first @ second.T).T, found[0])):
        for row in near:
            best = (row > row.max() - TIE).nonzero().flatten().tolist()
            if len({side[index].type for index in best}) > 1:
                return True
    return False


def measure(folder: Path, python: Path, pairs: Pairs, layers: int = 3, width: int = 192) -> dict[str, Any]:
    """Time both and compare: what is printed as a line of JSON."""
    write_models(folder, [*pairs.references, *pairs.candidates], layers, width)
    (folder / "pairs.json").write_text(json.dumps(pairs._asdict()))
    quiet = {**os.environ, "LOGURU_LEVEL": "WARNING", "OMP_NUM_THREADS": "1"}  # it would log every sentence
    subprocess.run([str(python), "-c", CHILD, str(folder)], check=True, cwd=folder, env=quiet)  # noqa: S603 - our own
    peer = json.loads((folder / "peer.json").read_text())
    seconds = []
    for _ in range(3):
        scorer, tagger = ours(folder)  # with empty caches
        begin = time.process_time()
        scores = scorer.score(pairs.references, pairs.candidates)
        seconds.append(time.process_time() - begin)
    split = {
        text: [text[start:end] for start, end in sentence_spans(text)] == peer["sentences"][text]
        for text in peer["sentences"]
    }
    both = list(zip(pairs.references, pairs.candidates, strict=True))
    alike = [split[reference] and split[candidate] for reference, candidate in both]
    ties = [fine and tied(scorer, *pair) for fine, pair in zip(alike, both, strict=True)]
    compared = [index for index in range(len(both)) if alike[index] and not ties[index]]
    aligned = len(peer["scores"]) == len(both)
    worst = max(abs(scores.total[index].item() - peer["scores"][index]) for index in compared) if aligned else None
    told = [text for text, same in split.items() if same]
    return {
        "pairs": len(both),
        "distinct_sentences": len({piece for text in told for piece in peer["sentences"][text]}),
        "all_sentences": sum(len(peer["sentences"][text]) for pair in both for text in pair),
        "peer_seconds": peer["seconds"],
        "our_seconds": min(seconds),
        "our_median": sorted(seconds)[1],
        "ratio": peer["seconds"] / min(seconds),
        "compared": len(compared),
        "split_otherwise": len(both) - sum(alike),
        "tied": sum(ties),
        "largest_difference": worst,
        "entities": tagger.found,
        "entities_fewer_in_package": tagger.lost,
        "package_scores_of_three_pairs_one_empty": len(peer["with_empty"]),
    }


def summary(result: dict[str, Any]) -> list[str]:
    """What is told of a measurement."""
    met = "met" if result["ratio"] >= TARGET else "MISSED"
    return [
        f"{result['pairs']} pairs, {result['all_sentences']} sentences: the package {result['peer_seconds']:.1f} s, "
        f"ours {result['our_seconds']:.2f} s: {result['ratio']:.1f} times, target {TARGET:g}: {met}",
        f"{result['compared']} pairs compared: largest difference {result['largest_difference']:.1e}",
        f"Not compared: {result['split_otherwise']} pairs whose sentences end elsewhere, {result['tied']} pairs with "
        "two nearest entities of different types, of which the package takes any",
        f"Of {result['entities']} entities by the tags the package finds {result['entities_fewer_in_package']} fewer",
        f"Three pairs of which one has an empty report: {result['package_scores_of_three_pairs_one_empty']} scores "
        "from the package, three from ours, one of them NaN with a status",
    ]


def main(
    pairs: int = PAIRS,
    reports: Path | None = None,
    folder: Path = FOLDER,
    python: Callable[[Path], Path] = environment,
    layers: int = 3,
    width: int = 192,
) -> None:
    """Measure and print; a missed target is said, not an error."""
    torch.set_num_threads(1)
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    console = Console(width=100)
    result = measure(folder, python(folder), real(reports, pairs) if reports else synthetic(pairs), layers, width)
    for line in summary(result):
        console.print(line, highlight=False)
    print(json.dumps(result), flush=True)
    worst = result["largest_difference"]
    assert worst is None or worst < TOLERANCE, f"scores differ by {worst}"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=PAIRS)
    parser.add_argument("--reports", type=Path, default=None, help="real reports: CSV, JSONL or Parquet")
    options = parser.parse_args()
    main(options.pairs, options.reports)
