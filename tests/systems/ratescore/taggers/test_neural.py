import json
from pathlib import Path
from typing import Any, Literal

import pytest
import torch
from transformers import DebertaV2Config, DebertaV2Model

from radreward.data.tokenizer import byte_tokenizer, load_tokenizer
from radreward.errors import InputError
from radreward.models import Backbone, LoRA
from radreward.models.sentence_tokenizer import SentenceTokenizer, TokenizedChunk
from radreward.systems.ratescore.taggers import IOBTagger, NeuralTagger, SpanTagger, load_tagger
from radreward.systems.ratescore.taggers.iob_tagger import IOB_TAGS, decode_iob, iob_labels
from radreward.systems.ratescore.taggers.neural import TaggerModel, entities_from_spans
from radreward.systems.ratescore.taggers.span_tagger import SPAN_CLASSES
from radreward.types import Entity

LORA = LoRA(4)
TEXTS = ["Lungs clear.", "No left effusion or edema", "", "Lungs clear.", "x"]
LABELED = [
    ("no edema", [Entity("edema", "Non-Disease", 3, 8)]),
    ("mild edema, clear lungs", [Entity("mild edema", "Disease", 0, 10), Entity("lungs", "Anatomy", 18, 23)]),
]


def model_of(scheme: str, name: str = "tiny-bert", lora: LoRA | None = LORA) -> TaggerModel:
    torch.manual_seed(0)
    backbone = Backbone(name, lora=lora)
    return IOBTagger(backbone) if scheme == "iob" else SpanTagger(backbone, hidden_size=32, width_embedding_dim=8)


@pytest.fixture(params=["iob", "span"])
def scheme(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("name", ["tiny-bert", "tiny-llama"])
def test_tag_keeps_order_number_and_offsets(scheme: str, name: str) -> None:
    tagger = NeuralTagger(model_of(scheme, name), load_tokenizer(name))
    tagged = tagger.tag(TEXTS)
    assert len(tagged) == len(TEXTS)
    assert tagged[0] == tagged[3]
    assert tagged[2] == ()
    assert tagger.tag([]) == []
    for text, entities in zip(TEXTS, tagged, strict=True):
        assert all(text[entity.start : entity.end] == entity.name for entity in entities)
        assert all(one.end <= other.start for one, other in zip(entities, entities[1:], strict=False))
    assert [tagger.tag([text])[0] for text in TEXTS] == tagged, "batching changed the result"


def test_loss_trains_the_tagger(scheme: str) -> None:
    model = model_of(scheme, lora=None)
    tagger = NeuralTagger(model, load_tokenizer("tiny-bert"))
    chunks = [chunk for row, (text, _) in enumerate(LABELED) for chunk in tagger.sentence_tokenizer.chunks(row, text)]
    optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
    for _ in range(60):
        loss = model.loss(tagger.sentence_tokenizer.collate(chunks), chunks, [gold for _, gold in LABELED])
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch has no types for it
        optimizer.step()
    assert tagger.tag([text for text, _ in LABELED]) == [tuple(gold) for _, gold in LABELED]


def test_saved_tagger_gives_the_same_entities(scheme: str, tmp_path: Path) -> None:
    tagger = NeuralTagger(model_of(scheme), load_tokenizer("tiny-bert"))
    tagger.save_pretrained(tmp_path / "model", {"steps": 1})
    again = load_tagger(tmp_path / "model")
    assert again.tag(TEXTS) == tagger.tag(TEXTS)
    assert again.fingerprint() == tagger.fingerprint()
    other = model_of(scheme)
    torch.nn.init.zeros_(next(parameter for parameter in other.parameters() if parameter.requires_grad))
    assert NeuralTagger(other, load_tokenizer("tiny-bert")).fingerprint() != tagger.fingerprint()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("format", 2, "Expected `format` to be 1"),
        ("lora", {"r": 0, "alpha": 8, "targets": "auto"}, r"Expected `r` to be in \[1, 4096\]"),
        ("lora", {"r": 8, "alpha": 8, "targets": "auto"}, "to have shape"),
        ("surplus", 1, "'surplus' is unknown"),
    ],
)
def test_invalid_config_is_rejected(tmp_path: Path, field: str, value: object, message: str) -> None:
    NeuralTagger(model_of("iob"), load_tokenizer("tiny-bert")).save_pretrained(tmp_path / "model")
    path = tmp_path / "model" / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), field: value}))
    with pytest.raises(InputError, match=message):
        load_tagger(tmp_path / "model")


def test_invalid_weights_are_rejected(tmp_path: Path) -> None:
    model = model_of("iob")
    NeuralTagger(model, load_tokenizer("tiny-bert")).save_pretrained(tmp_path / "model")
    weights = tmp_path / "model" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(InputError, match="model.safetensors"):
        load_tagger(tmp_path / "model")
    weights.unlink()
    with pytest.raises(InputError, match="but there is none"):
        load_tagger(tmp_path / "model")
    with torch.no_grad():
        next(parameter for parameter in model.parameters() if parameter.requires_grad).fill_(float("nan"))
    with pytest.raises(InputError, match="finite"):
        NeuralTagger(model, load_tokenizer("tiny-bert")).save_pretrained(tmp_path / "other")


def test_save_rejects_a_folder_with_other_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="Expected a folder that is new, empty or holds a tagger"):
        NeuralTagger(model_of("iob"), load_tokenizer("tiny-bert")).save_pretrained(tmp_path)


@pytest.mark.parametrize("limit", [4, 7, 100])
def test_long_sentence_is_split_without_loss(limit: int) -> None:
    text = "No left effusion, nor edema; thelongestwordhere XXXX."
    chunks = SentenceTokenizer(load_tokenizer("tiny-bert"), limit).chunks(0, text)
    assert all(len(chunk.input_ids) <= limit for chunk in chunks)
    for chunk in chunks:
        assert text[chunk.start : chunk.start + len(chunk.text)] == chunk.text
    covered = {chunk.start + at for chunk in chunks for start, end in chunk.offsets for at in range(start, end)}
    assert covered == {at for at, char in enumerate(text) if char != " "}


def _chunk(text: str) -> TokenizedChunk:
    (chunk,) = SentenceTokenizer(load_tokenizer("embedded"), 100).chunks(0, text)
    return chunk


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        (["O", "B-Disease"], ["edema"]),  # an entity that ends with the sentence
        (["B-Anatomy", "I-Disease"], ["no edema"]),  # the type of B wins
        (["O", "I-Disease"], ["edema"]),  # I without a preceding B
        (["B-Disease", "B-Disease"], ["no", "edema"]),
        (["O", "O"], []),
    ],
)
def test_decode_iob_gives_expected_entities(tags: list[str], expected: list[str]) -> None:
    chunk = _chunk("no edema")
    words = chunk.word_token_spans()
    assert len(words) == 2
    row = ["O"] * len(chunk.input_ids)
    for (first, last), tag in zip(words, tags, strict=True):
        row[first] = tag
        row[first + 1 : last + 1] = ["B-Anatomy"] * (last - first)  # later tokens of a word are ignored
    entities = entities_from_spans(chunk, decode_iob(chunk, row))
    assert [entity.name for entity in entities] == expected
    if tags[0] == "B-Anatomy":
        assert entities[0].type == "Anatomy"


def test_labels_and_decoding_are_inverse() -> None:
    chunk = _chunk("Mild pneumomediastinum, small hydropneumothorax XXXX")
    gold = [
        Entity("Mild pneumomediastinum", "Abnormality", 0, 22),
        Entity("hydropneumothorax", "Non-Abnormality", 30, 47),
    ]
    tags = [IOB_TAGS[max(number, 0)] for number in iob_labels(chunk, gold)]
    assert entities_from_spans(chunk, decode_iob(chunk, tags)) == gold


def test_overlapping_spans_go_to_the_most_likely() -> None:
    class Certain(SpanTagger):
        def forward(self, batch: object, spans: torch.Tensor) -> torch.Tensor:
            logits = torch.zeros(len(spans), len(SPAN_CLASSES))
            logits[:, 0] = 1
            for row, (_, _, _, words) in enumerate(spans.tolist()):
                if words <= 2:
                    logits[row, 3] = 2 + words  # two words are more likely than one
            return logits

    chunk = _chunk("no edema here")
    model = Certain(Backbone("tiny-bert", lora=LoRA(2)), hidden_size=4, width_embedding_dim=2)
    tagger = NeuralTagger(model, load_tokenizer("embedded"))
    (spans,) = model.decode(tagger.sentence_tokenizer.collate([chunk]), [chunk])
    assert [entity.name for entity in entities_from_spans(chunk, spans)] == ["no edema", "here"]


@pytest.mark.parametrize("field", ["hidden_size", "width_embedding_dim"])
def test_sizes_must_be_positive(field: Literal["hidden_size", "width_embedding_dim"]) -> None:
    sizes = {"hidden_size": 4, "width_embedding_dim": 4, field: 0}
    with pytest.raises(ValueError, match=f"Expected `{field}` to be >= 1 but got 0"):
        SpanTagger(Backbone("tiny-bert"), **sizes)


def test_backbone_without_packing_tags_sentences(tmp_path: Path) -> None:
    torch.manual_seed(0)
    sizes: dict[str, Any] = {"vocab_size": 260, "hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}
    DebertaV2Model(DebertaV2Config(**sizes, num_attention_heads=2)).save_pretrained(tmp_path / "backbone")
    byte_tokenizer(encoder=True).save_pretrained(tmp_path / "backbone")
    name = str(tmp_path / "backbone")
    tagger = NeuralTagger(IOBTagger(Backbone(name, lora=LoRA(2))), load_tokenizer(name))
    tagger.save_pretrained(tmp_path / "model")
    assert load_tagger(tmp_path / "model").tag(TEXTS) == tagger.tag(TEXTS)
