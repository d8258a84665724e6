"""Tests of RadGraph F1 with the real package and a model of random weights in its layout."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
import torch
from transformers import BertConfig, BertTokenizer

from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.embedding import BERTScore, CheXbertSimilarity
from radreward.scorers.radcliq import COMPONENTS, PUBLISHED_WEIGHTS, RadCliQBLEU2, RadCliQScorer
from radreward.scorers.radgraph import RadGraphF1
from radreward.testing import ScorerConformance

package = pytest.importorskip("radgraph.radgraph")
# The package leaves a file open.
pytestmark = pytest.mark.filterwarnings("ignore:Exception ignored:pytest.PytestUnraisableExceptionWarning")

MAX_LENGTH = 24
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
NER_LABELS = ("Anatomy::definitely present", "Observation::definitely present", "Observation::definitely absent")
RELATION_LABELS = ("", "modify", "located_at", "suggestive_of")
REPORT = "Small left pleural effusion. No pneumothorax."


def _write_bert(folder: Path) -> None:
    """Write configuration and tokenizer of a small BERT whose word pieces are letters."""
    letters = "abcdefghijklmnopqrstuvwxyz.,0123456789"
    pieces = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    BertTokenizer(vocab={piece: number for number, piece in enumerate(pieces)}).save_pretrained(folder)
    sizes: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    BertConfig(vocab_size=len(pieces), num_attention_heads=2, **sizes).save_pretrained(folder)


def _write_settings(folder: Path, bert: Path) -> None:
    """Write configuration and vocabulary of a model of the package."""
    bert_settings = {"bert": {"model_name": str(bert), "max_length": MAX_LENGTH}}
    events = {"trigger_spans_per_word": 0.3, "argument_spans_per_word": 0.3, "loss_weights": {}}
    model = {
        "type": "dygie",
        "embedder": {"token_embedders": bert_settings},
        "initializer": {},
        "module_initializer": {},
        "feature_size": 4,
        "max_span_width": 2,
        "target_task": "relation",
        "feedforward_params": {"num_layers": 1, "hidden_dims": 8, "dropout": 0.4},
        "loss_weights": {"ner": 1.0, "relation": 1.0, "coref": 0.0, "events": 0.0},
        "modules": {
            "ner": {},
            "coref": {"spans_per_word": 0.05, "max_antecedents": 2},
            "relation": {"spans_per_word": 0.15},  # the package works on every pair of these spans
            "events": events,
        },
    }
    (folder / "vocabulary").mkdir(parents=True)
    for name, entries in (
        ("non_padded_namespaces", ("*labels",)),
        ("radgraph__ner_labels", ("", *NER_LABELS)),
        ("radgraph__relation_labels", RELATION_LABELS),
    ):
        (folder / "vocabulary" / f"{name}.txt").write_text("\n".join(entries) + "\n")
    reader = {"max_span_width": 2, "token_indexers": bert_settings}
    (folder / "config.json").write_text(json.dumps({"dataset_reader": reader, "model": model}))


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Write a model where the package looks for those that it downloaded."""
    folder = tmp_path_factory.mktemp("radgraph")
    _write_bert(folder / "bert")
    _write_settings(folder / "radgraph", folder / "bert")
    torch.save({}, folder / "radgraph" / "weights.th")

    def save_random_weights(model: torch.nn.Module, *_: Any, **__: Any) -> None:
        torch.manual_seed(1)
        for parameter in model.parameters():
            torch.nn.init.normal_(parameter, std=0.5)
        torch.save(model.state_dict(), folder / "radgraph" / "weights.th")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(package, "CACHE_DIR", str(folder))
        with pytest.MonkeyPatch.context() as writing:
            writing.setattr(package.dygie.DyGIE, "load_state_dict", save_random_weights)
            RadGraphF1().score([REPORT], [REPORT])
        yield folder


def _f1(reference: set[Any], candidate: set[Any]) -> float:
    common = sum(1 for pair in product(reference, candidate) if pair[0] == pair[1])
    return 2 * common / (len(reference) + len(candidate)) if reference or candidate else 0.0


def _sets(annotation: dict[str, Any]) -> tuple[set[Any], set[Any]]:
    entities = annotation["entities"].values()
    relations = set()
    for entity in entities:
        for kind, target in entity["relations"]:
            end = annotation["entities"][target]
            relations.add((entity["tokens"], entity["label"], kind, end["tokens"], end["label"]))
    return {(entity["tokens"], entity["label"]) for entity in entities}, relations


def _oracle(references: Sequence[str], candidates: Sequence[str]) -> list[float]:
    """Return the two F1 of each pair, annotated by the package one report at a time."""
    model = package.RadGraph(model_type="radgraph")
    pairs = zip(references, candidates, strict=True)
    annotations = [tuple(_sets(model([text])["0"]) for text in pair) for pair in pairs]
    return [_f1(ref[part], cand[part]) for ref, cand in annotations for part in (0, 1)]


def test_scores_are_those_of_the_packages_annotations(capsys: pytest.CaptureFixture[str]) -> None:
    references = [REPORT, REPORT, "Clear lungs.", REPORT, ""]
    candidates = [REPORT, "Left pleural effusion. No pneumothorax.", "Clear.", " ".join([REPORT] * 5), "Clear."]
    scores = RadGraphF1().score(references, candidates)
    assert capsys.readouterr().out == ""
    expected = _oracle(references[:4], candidates[:4])
    assert scores.sub_scores is not None
    assert scores.sub_scores[:4].flatten().tolist() == pytest.approx(expected)
    assert scores.total[:4].tolist() == pytest.approx([sum(expected[i : i + 2]) / 2 for i in range(0, 8, 2)])
    assert expected[:2] == [1, 1]
    assert all(0 < value < 1 for value in expected[6:8])
    assert scores.status == ("ok",) * 4 + ("empty reference",)


def test_report_over_the_maximum_length_is_annotated_to_its_end() -> None:
    report = " ".join([REPORT] * 8)
    entities = package.RadGraph(model_type="radgraph")([report])["0"]["entities"].values()
    assert max(entity["end_ix"] for entity in entities) > MAX_LENGTH


def test_restored_methods_are_those_of_the_tokenizer() -> None:
    tokenizer = package.token_indexers.PretrainedTransformerMismatchedIndexer(
        model_name=json.loads((Path(package.CACHE_DIR) / "radgraph" / "config.json").read_text())["dataset_reader"][
            "token_indexers"
        ]["bert"]["model_name"]
    )._tokenizer
    ids = tokenizer(REPORT, add_special_tokens=False)["input_ids"]
    assert tokenizer.build_inputs_with_special_tokens(ids) == tokenizer(REPORT)["input_ids"]
    assert tokenizer.encode_plus(REPORT)["input_ids"] == tokenizer(REPORT)["input_ids"]


def test_unknown_model_raises() -> None:
    with pytest.raises(InputError, match="RadGraph F1: Expected a model of radgraph, radgraph-xl, .* but got 'xl'"):
        load("radgraph:xl")


def test_model_that_cannot_be_loaded_raises(cache: Path) -> None:
    (cache / "echograph").mkdir()
    (cache / "echograph" / "config.json").write_text("{}")
    with pytest.raises(InputError, match="RadGraph F1: the model 'echograph' cannot be loaded"):
        load("radgraph:echograph").score(["Clear."], ["Clear."])


def test_scorer_without_package_names_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RadGraphF1, "packages", ("no_such_package",))
    with pytest.raises(InputError, match=r"RadGraph F1 needs `no_such_package`, which is not installed: pip"):
        load("radgraph")


def test_radcliq_combines_real_components() -> None:
    parts = RadGraphF1(), BERTScore("tiny-bert"), CheXbertSimilarity("tiny-bert"), RadCliQBLEU2()
    scores = RadCliQScorer("v1", dict(zip(COMPONENTS, parts, strict=True))).score([REPORT], ["Left effusion."])
    values = [part.score([REPORT], ["Left effusion."]).total.item() for part in parts]
    assert scores.total.item() == pytest.approx(PUBLISHED_WEIGHTS["v1"](values), abs=1e-5)


class TestRadGraphF1(ScorerConformance):
    @staticmethod
    def scorer() -> Scorer:
        return load("radgraph")
