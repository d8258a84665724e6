"""The bridge to RadEval, with a stand-in for the package in an environment of its own; see `standin_radeval`."""

from __future__ import annotations

import gc
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.errors import InputError
from radreward.scorers import load
from radreward.scorers.base import Scorer
from radreward.scorers.radeval_process import PYTHON_VARIABLE, RadEvalProcess
from radreward.testing import ScorerConformance
from tests.scorers.standin_radeval import SOURCE, VERSION, install

REFERENCES = ["Left effusion. No edema.", "Clear lungs.", "No edema."]
CANDIDATES = ["Left effusion.", "Fail here.", "No edema."]


@pytest.fixture(scope="module")
def interpreter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("standin") / "environment")


@pytest.fixture(autouse=True)
def standin(interpreter: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(PYTHON_VARIABLE, str(interpreter))
    gc.freeze()  # else, every collection looks at all objects of the tests before
    yield
    gc.collect()  # a process that stays open is a warning, which is an error


class TestStandInConformance(ScorerConformance):
    scorer = staticmethod(lambda: load("radeval:bleu"))


def test_standin_failing_pair_has_no_score_and_its_reason() -> None:
    scores = load("radeval:bleu").score(REFERENCES, CANDIDATES)
    assert scores.total.isnan().tolist() == [False, True, False]
    assert scores.total[[0, 2]].tolist() == [0.5, 1]
    assert scores.status == ("ok", "RadEval raised ValueError: cannot read this", "ok")


def test_standin_wrong_number_of_scores_falls_back_to_single_pairs() -> None:
    scores = load("radeval:srrbert").score(REFERENCES[:2], REFERENCES[:2])
    assert scores.total.tolist() == [1, 1]
    assert scores.status == ("ok", "ok")


def test_standin_metric_of_several_scores_needs_the_name_of_one() -> None:
    assert load("radeval:rouge.rougeL").score(REFERENCES[2:], CANDIDATES[2:]).total.tolist() == [0.5]
    for name in ("rouge", "rouge.rouge3"):
        message = f"radeval:{name}: Expected one of the scores radeval:rouge.rouge1, radeval:rouge.rougeL"
        with pytest.raises(InputError, match=message):
            load(f"radeval:{name}")


def test_standin_radcliq_is_lower_for_better_candidates() -> None:
    scorer: Scorer = load("radeval:radcliq")
    assert not scorer.higher_is_better
    assert load("radeval:bleu").higher_is_better
    assert scorer.title == "RadEval radcliq"


def test_standin_models_of_the_hub_need_permission() -> None:
    with pytest.raises(InputError, match=r"cannot load 'bertscore' \(OSError: no such model .*use --allow-download"):
        load("radeval:bertscore")
    with pytest.raises(
        InputError, match=r"cannot load 'temporal' \(OSError: hub.invalid: the network is used only with"
    ):
        load("radeval:temporal")
    assert load("radeval:bertscore", allow_download=True).score(["A b."], ["A b."]).total.tolist() == [1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("radeval", "Expected the name of a metric of RadEval after a colon, as in radeval:bleu"),
        ("radeval:blue", "Expected a metric of bleu, rouge, .* but got 'blue'"),
        ("radeval:radfact_ct", "'radfact_ct' sends reports to a server"),
    ],
)
def test_name_of_no_local_metric_raises(name: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load(name)


def test_missing_package_raises_with_the_remedy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(PYTHON_VARIABLE)
    with pytest.raises(InputError, match="radeval needs the package RadEval, .* export RADREWARD_RADEVAL_PYTHON="):
        load("radeval:bleu")
    monkeypatch.setenv(PYTHON_VARIABLE, str(tmp_path / "none"))
    with pytest.raises(InputError, match=r"RADREWARD_RADEVAL_PYTHON: Expected the path .* but got '.*none'\. Install"):
        load("radeval:bleu")
    (tmp_path / "none").write_bytes(b"no program")
    (tmp_path / "none").chmod(0o755)
    with pytest.raises(InputError, match=r"none cannot be run .*Install it in an environment"):
        load("radeval:bleu")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, r"No module named 'radeval'\)\. Install it in an environment"),
        ("class RadEval:\n    def __init__(self, do_bleu=False): ...", "unexpected keyword argument .*Install it"),
        ("raise SystemExit(3)", r"RadEval's process ended with code 3 \(no message\)"),
    ],
    ids=["absent", "version 1", "ends"],
)
def test_interpreter_with_another_package_raises(
    source: str | None, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    python = install(tmp_path / "environment", source=source or "")
    if source is None:
        next(tmp_path.glob("**/radeval/__init__.py")).rename(tmp_path / "gone.py")
        next(tmp_path.glob("**/site-packages/radeval")).rmdir()
    monkeypatch.setenv(PYTHON_VARIABLE, str(python))
    with pytest.raises(InputError, match=message):
        load("radeval:bleu")


def test_standin_process_that_dies_is_reported_with_its_last_message() -> None:
    scorer = load("radeval:bleu")
    for _ in range(2):
        with pytest.raises(InputError, match=r"RadEval's process ended with code 7 \(out of memory\)"):
            scorer.score(REFERENCES[:1], ["End now."])


def test_standin_process_ends_with_the_scorer() -> None:
    process = RadEvalProcess("bleu")
    pid = process._process.pid
    os.kill(pid, 0)
    del process
    gc.collect()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_fingerprint_depends_on_metric_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = load("radeval:bleu").fingerprint()
    assert before == load("radeval:bleu").fingerprint() != load("radeval:green").fingerprint()
    monkeypatch.setenv(PYTHON_VARIABLE, str(install(tmp_path / "newer", VERSION + ".1", SOURCE)))
    assert load("radeval:bleu").fingerprint() != before


def test_standin_score_command_keeps_rows_of_failing_pairs(tmp_path: Path) -> None:
    pairs = [
        {"id": str(number), "reference": reference, "candidate": candidate}
        for number, (reference, candidate) in enumerate(zip(REFERENCES, CANDIDATES, strict=True))
    ]
    source, output = tmp_path / "pairs.jsonl", tmp_path / "scores.jsonl"
    source.write_text("".join(json.dumps(pair) + "\n" for pair in pairs))
    # exit code 1: a row is rejected
    assert main(["score", "--scorers", "radeval:bleu", f"--input={source}", f"--output={output}"]) == 1
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [row["id"] for row in rows] == ["0", "1", "2"]
    assert [row["status"][:14] for row in rows] == ["ok", "RadEval raised", "ok"]
