"""Every kind of model folder, with flipped bits and hostile settings: it loads, or one line says what is wrong."""

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

import radreward
from radreward.criteria import RadCliQCriteria
from radreward.data.chat_encoding import ChatPromptEncoder
from radreward.data.tokenizer import load_tokenizer
from radreward.errors import InputError
from radreward.io.artifacts import load_tensors
from radreward.models import Backbone, Calibration, LoRA, PooledRewardModel
from radreward.models.generative_evaluator import GenerativeEvaluator, load_generative_evaluator
from radreward.models.reward_artifact import RewardModelArtifact, load_reward_model, save_reward_model
from radreward.prompts import PlainPairTemplate
from radreward.systems.green.prompt import GreenTemplate
from radreward.systems.ratescore.affinity_matrix import AffinityMatrix
from radreward.systems.ratescore.taggers import load_tagger
from radreward.systems.ratescore.taggers.neural import NeuralTagger
from radreward.systems.ratescore.taggers.span_tagger import SpanTagger
from radreward.systems.sentence_eval.artifact import (
    load_relation_artifact,
    make_relation_artifact,
    save_relation_artifact,
)
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor

TINY = "tiny-bert"


def _reward(folder: Path) -> None:
    calibration = Calibration([[(-1.0, 2.0), (0.0, 0.0)]] * len(RadCliQCriteria()))
    model = PooledRewardModel(Backbone(TINY, LoRA(2)), RadCliQCriteria())
    save_reward_model(RewardModelArtifact(model, PlainPairTemplate(), 64, calibration), folder)


def _generative(folder: Path) -> None:
    backbone = Backbone("tiny-llama", LoRA(2))
    encoder = ChatPromptEncoder("tiny-llama", RadCliQCriteria(), GreenTemplate(), 400, 50)
    GenerativeEvaluator(backbone, backbone.build(causal_lm=True), encoder).save(folder)


def _tagger(folder: Path) -> None:
    NeuralTagger(SpanTagger(Backbone(TINY, LoRA(2)), 8, 4), load_tokenizer(TINY)).save_pretrained(folder)


def _judge(folder: Path) -> None:
    predictor = RelationPredictor(RelationModel(Backbone(TINY, LoRA(2)), 8, 8), load_tokenizer(TINY))
    save_relation_artifact(make_relation_artifact(predictor), folder)


def _affinity(folder: Path) -> None:
    AffinityMatrix.from_preset("short").save(folder)


KINDS: dict[str, tuple[Callable[[Path], None], Callable[[Path], Any], str]] = {
    "reward": (_reward, load_reward_model, "config.json"),
    "generative": (_generative, load_generative_evaluator, "green.json"),
    "tagger": (_tagger, load_tagger, "config.json"),
    "judge": (_judge, load_relation_artifact, "judge.json"),
    "affinity": (_affinity, AffinityMatrix.load, "affinity.json"),
}
HOSTILE: tuple[Any, ...] = (
    *(None, True, -1, 0, 10**9, 10**30, 1e308, "", "no\x1b[2Jthing", "../../etc/passwd", "a" * 10_000),
    *([], {}, [None], {"a": None}, json.loads("[" * 400 + "]" * 400), json.loads('{"a":' * 400 + "1" + "}" * 400)),
)


@pytest.fixture(scope="module", params=list(KINDS))
def kind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Path]:
    """A saved folder, the function that loads it, and its settings file."""
    save, load, config = KINDS[request.param]
    folder = tmp_path_factory.mktemp(request.param) / "model"
    torch.manual_seed(0)
    save(folder)
    load(folder)
    return folder, load, folder / config


def _fails_in_one_line(load: Callable[[Path], Any], folder: Path, path: Path) -> str | None:
    """Return the message if loading fails; any error but an `InputError` that names the file is raised."""
    try:
        load(folder)
    except InputError as error:
        message = str(error)
        assert message.startswith(str(path)), message
        assert "\n" not in message
        assert len(message) < 800
        return message
    return None


def test_every_flipped_bit_of_a_file_is_reported(kind: tuple[Path, Any, Path]) -> None:
    folder, load, config = kind
    rng = random.Random(0)
    for path in (folder / name for name in json.loads(config.read_text())["sha256"]):
        for file in [path] if path.is_file() else path.iterdir():
            content = file.read_bytes()
            for _ in range(4):
                damaged, bit = bytearray(content), rng.randrange(8 * len(content))
                damaged[bit // 8] ^= 1 << bit % 8
                file.write_bytes(damaged)
                assert "SHA-256 differs" in (_fails_in_one_line(load, folder, path) or "")
            file.unlink()
            assert _fails_in_one_line(load, folder, path) is not None
            file.write_bytes(content)
    assert _fails_in_one_line(load, folder, config) is None


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all fields, nested ones included; of a list, of its first entry."""
    entries = value.items() if isinstance(value, dict) else enumerate(value[:1]) if isinstance(value, list) else ()
    for name, entry in entries:
        yield (*path, name)
        yield from _leaves(entry, (*path, name))


def test_hostile_settings_are_reported_in_one_line(kind: tuple[Path, Any, Path]) -> None:
    folder, load, config = kind
    original = config.read_text()
    try:
        for path in _leaves(json.loads(original)):
            if "training_info" in path[:-1]:
                continue
            for value in HOSTILE:
                settings = json.loads(original)
                parent = settings
                for name in path[:-1]:
                    parent = parent[name]
                parent[path[-1]] = value
                config.write_text(json.dumps(settings))
                _fails_in_one_line(load, folder, folder)  # settings that do not fit the weights name the weights
    finally:
        config.write_text(original)


@pytest.mark.parametrize("content", ["[" * 100_000, "1" * 5000, "[]", "", '{"format": 1e999}', "\x00"])
def test_other_content_of_settings_is_reported(kind: tuple[Path, Any, Path], content: str) -> None:
    folder, load, config = kind
    original = config.read_text()
    config.write_text(content)
    try:
        assert _fails_in_one_line(load, folder, config) is not None
    finally:
        config.write_text(original)


def test_shipped_folders_have_digests_of_all_their_weights() -> None:
    root = Path(radreward.__file__).parent
    listed = set()
    for config in root.glob("**/embedded/**/*.json"):
        digests = json.loads(config.read_text()).get("sha256", {})
        listed |= {config.with_name(name) for name in digests}
    weights = set(root.rglob("*.safetensors"))
    assert weights <= listed
    assert all(load_tensors(path) for path in weights)


def test_settings_of_another_rank_are_reported(tmp_path: Path) -> None:
    _judge(tmp_path / "model")
    config = tmp_path / "model" / "judge.json"
    settings = json.loads(config.read_text())
    for lora, message in (({"r": 1, "alpha": 4, "targets": "auto"}, "of rank 1 for"), ({"r": 2}, "'alpha' .* missing")):
        config.write_text(json.dumps({**settings, "lora": lora}))
        with pytest.raises(InputError, match=message):
            load_relation_artifact(tmp_path / "model")
