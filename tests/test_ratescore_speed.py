import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[1]
KINDS = {"AB": "ABNORMALITY", "AN": "ANATOMY", "DI": "DISEASE"}
PACKAGE = [
    ("BAB BAB O O BAN IAB BAB O IAB", [(1, 1, "Abnormality"), (4, 5, "Anatomy"), (6, 6, "Abnormality")]),
    ("IAN O BAN O O", [(2, 2, "Anatomy")]),
    ("O IAN O BAN", []),
    ("IAN O O O IDI O BDI O", [(6, 6, "Disease")]),
    ("BAN O O BAB O IAN", [(3, 3, "Abnormality")]),
    ("O BAN IAB IAB BAN O O BAN", [(1, 3, "Anatomy"), (4, 4, "Anatomy")]),
    ("O IDI BAB", []),
    ("BDI BDI O IAN IAB O O IDI", [(1, 1, "Disease")]),
    ("IDI O O IAN O", []),
    ("O BAN IAB O", [(1, 2, "Anatomy")]),
    ("O BAN IAB", [(1, 1, "Anatomy")]),
    ("O BAN O", [(1, 1, "Anatomy")]),
    ("O BAN O BAN O IAN BAN IAN", [(1, 1, "Anatomy"), (3, 3, "Anatomy")]),
    ("IAB O IAN BAB O", [(3, 3, "Abnormality")]),
    ("O O O O O O IAN", []),
    ("O IAB O O BDI O O O", [(4, 4, "Disease")]),
    (
        "O IDI BAN BDI BAB IDI BAN O BAN",
        [(2, 2, "Anatomy"), (3, 3, "Disease"), (4, 5, "Abnormality"), (6, 6, "Anatomy")],
    ),
    ("O O BDI IAN BAB IAN O IAB IAB", [(2, 3, "Disease"), (4, 5, "Abnormality")]),
    ("BDI IDI O O O IAN O IAB", []),
    ("BDI O O O O IDI O", []),
    ("IDI O O", []),
    ("O O BAB O O O IDI O O", [(2, 2, "Abnormality")]),
    ("IAN BDI BAN IAN BDI O O O BDI", [(1, 1, "Disease"), (2, 3, "Anatomy"), (4, 4, "Disease")]),
    ("IAN IAN O BAB", []),
]
"""Tags of random sentences, special tokens included, and the entities that RaTEScore 0.6.0 decodes."""


@pytest.fixture
def speed(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT)  # benchmarks run from the root of the repository and are not installed
    return import_module("benchmarks.ratescore_speed")


@pytest.mark.parametrize(("tags", "spans"), PACKAGE)
def test_package_spans_equal_those_of_the_package(
    speed: ModuleType, tags: str, spans: list[tuple[int, int, str]]
) -> None:
    labels = [tag if tag == "O" else f"{tag[0]}-{KINDS[tag[1:]]}" for tag in tags.split()]
    assert import_module("benchmarks._ratescore_package").package_spans(labels) == spans


def imitation(folder: Path, speed: ModuleType, change: float = 0.0) -> Callable[..., None]:
    """Return a replacement of the package that writes our own scores."""

    def run(command: list[str], **kwargs: object) -> None:
        assert command[:2] == ["python", "-c"]
        pairs = json.loads((folder / "pairs.json").read_text())
        scores = speed.package_scorer(folder)[0].score(pairs["references"], pairs["candidates"]).total
        texts = {*pairs["references"], *pairs["candidates"]}
        result = {
            "seconds": 1e6,
            "scores": (scores + change).tolist(),
            "with_empty": [0.5, 0.5],
            "sentences": {text: [text[start:end] for start, end in speed.sentence_spans(text)] for text in texts},
        }
        (folder / "peer.json").write_text(json.dumps(result))

    return run


def test_main_prints_results_and_returns_a_figure(
    speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(speed.subprocess, "run", imitation(tmp_path, speed))
    [figure] = speed.main(8, None, tmp_path, lambda folder: Path("python"), layers=1, width=16)
    printed = capsys.readouterr().out
    result = json.loads(printed.splitlines()[-1])
    assert (figure.value, figure.verdict) == (result["ratio"], "met")
    assert result["pairs"] == 8
    assert result["split_differently"] == 0
    assert result["compared"] + result["tied"] == 8
    assert result["compared"] > 0
    assert result["distinct_sentences"] < result["all_sentences"]


def test_main_without_a_pair_to_compare_raises(
    speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(speed.subprocess, "run", imitation(tmp_path, speed))
    monkeypatch.setattr(speed, "has_tied_match", lambda *texts: True)
    with pytest.raises(ValueError, match="Expected pairs to compare but all 8 are"):
        speed.main(8, None, tmp_path, lambda folder: Path("python"), layers=1, width=16)


def test_main_different_scores_raise(speed: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed.subprocess, "run", imitation(tmp_path, speed, 1e-3))
    with pytest.raises(AssertionError, match="scores differ"):
        speed.main(8, None, tmp_path, lambda folder: Path("python"), layers=1, width=16)


def test_ratescore_memory_prints_peaks(speed: ModuleType, capsys: pytest.CaptureFixture[str]) -> None:
    import_module("benchmarks.ratescore_memory").main(3, 6, "ratescore")
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["rows"] == [3, 6]
    assert min(result["bytes"]) > 50 * 2**20  # every process that imports torch has more
