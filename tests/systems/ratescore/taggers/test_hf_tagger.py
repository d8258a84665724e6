import json
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForTokenClassification

from radreward.errors import InputError
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.hf_tagger import HFTagger
from radreward.types import ENTITY_TYPES

TEXTS = ["No edema.", "", "Small left effusion.", "No edema."]


def test_tags_equal_the_predictions_of_the_model(hub_folder: Path) -> None:
    tagger = load_tagger(hub_folder)
    assert isinstance(tagger, HFTagger)
    tagged = tagger.tag(TEXTS)
    assert len(tagged) == len(TEXTS)
    assert tagged[0] == tagged[3]
    assert tagged[1] == ()
    model = AutoModelForTokenClassification.from_pretrained(hub_folder).eval()
    for text, entities in zip(TEXTS, tagged, strict=True):
        if not text:
            continue
        ids = torch.tensor([tagger.sentence_tokenizer.tokenizer(text)["input_ids"]])
        with torch.no_grad():
            tags = [model.config.id2label[int(tag)] for tag in model(input_ids=ids).logits[0].argmax(-1)]
        assert [(e.start, e.end, e.type) for e in entities] == _decode_tags(text, tags)


def _decode_tags(text: str, tags: list[str]) -> list[tuple[int, int, str]]:
    """Decode tags of byte tokens, including white space; drop entities that contain only white space."""
    names = {kind.upper(): kind for kind in ENTITY_TYPES}
    spans: list[list[int | str]] = []
    inside = False
    for at, tag in enumerate(tags):
        if text[at] == " ":
            continue
        if tag[0] == "B":
            spans.append([at, at + 1, names[tag[2:]]])
        elif tag[0] == "I" and inside:
            spans[-1][1] = at + 1
        inside = tag[0] == "B" or (tag[0] == "I" and inside)
    return [(int(start), int(end), str(kind)) for start, end, kind in spans]


def test_saved_tagger_gives_the_same_entities(hub_folder: Path, tmp_path: Path) -> None:
    tagger = load_tagger(hub_folder)
    tagger.save_pretrained(tmp_path / "again")
    again = load_tagger(tmp_path / "again")
    assert again.tag(TEXTS) == tagger.tag(TEXTS)
    assert again.fingerprint() == tagger.fingerprint()


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (None, "Expected the names of tags"),
        ({"0": "O", "1": "B-GENE"}, "Expected one of the types Abnormality"),
        ({"0": "O", "1": "S-DISEASE"}, "Expected a tag O, B-TYPE or I-TYPE but got 'S-DISEASE'"),
    ],
)
def test_unknown_labels_are_rejected(hub_folder: Path, labels: dict[str, str] | None, message: str) -> None:
    path = hub_folder / "config.json"
    config = json.loads(path.read_text())
    del config["label2id"]
    if labels is None:
        del config["id2label"]
    else:
        config["id2label"] = labels
    path.write_text(json.dumps(config))
    weights = hub_folder / "model.safetensors"
    if labels is None or len(labels) != 11:
        _resize(weights, 2)
    with pytest.raises(InputError, match="id2label") as error:
        load_tagger(hub_folder)
    assert message in str(error.value)


def _resize(path: Path, tags: int) -> None:
    from safetensors.torch import load_file, save_file

    state = load_file(path)
    for name in ("classifier.weight", "classifier.bias"):
        state[name] = state[name][:tags].clone()
    save_file(state, path, {"format": "pt"})


def test_invalid_folders_are_rejected(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Expected the folder of a tagger"):
        load_tagger(tmp_path / "absent")
    with pytest.raises(InputError, match=r"config\.json: Expected a JSON file"):
        load_tagger(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    with pytest.raises(InputError, match="cannot be loaded as a token-classification model"):
        load_tagger(tmp_path)
    (tmp_path / "config.json").write_text('{"format": 1, "kind": "oracle"}')
    with pytest.raises(InputError, match="Expected `kind` to be one of"):
        load_tagger(tmp_path)
