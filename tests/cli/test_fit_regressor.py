"""`radreward fit-regressor`: metrics, the saved scorer, and judging that is not repeated."""

from __future__ import annotations

import json
import random
import runpy
from itertools import product
from pathlib import Path

import pytest
import torch

import radreward
from radreward.cli import main
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.data.tokenizer import load_tokenizer
from radreward.models import Backbone, LoRA
from radreward.synthesis import synthesize_files
from radreward.systems.sentence_eval.artifact import make_relation_artifact, save_relation_artifact
from radreward.systems.sentence_eval.judges import RelationJudge
from radreward.systems.sentence_eval.model import RelationModel, RelationPredictor


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("judge") / "judge"
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = RelationModel(Backbone("tiny-bert", LoRA(2)), 8, 8)
    save_relation_artifact(make_relation_artifact(RelationPredictor(model, load_tokenizer("tiny-bert"))), folder)
    return folder


@pytest.fixture(scope="module")
def groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    return synthesize_files(folder, RadCliQSignificanceCriteria(), 25, 4, granularity="statement")


def test_fit_regressor_saves_a_scorer_and_judges_once(
    judge: Path, groups: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    search = tmp_path / "search.yaml"
    search.write_text("random-forest: [{max_depth: 4}]\ndecision-tree: [{max_depth: 2}, {max_depth: 3}]")
    command = ["fit-regressor", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]
    command.append(f"--search={search}")
    assert main(command) == 0
    output = capsys.readouterr().out
    assert "random forest" in output
    assert "highest possible" in output
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert metrics["pairs"] == 100
    assert set(metrics["tau_b"]) >= {"random-forest", "decision-tree"}
    scorer = radreward.load(tmp_path / "out")
    scores = scorer.score(["Left effusion. No edema."] * 2, ["Left effusion.", "..."])
    assert scores.total[0].isfinite()
    assert scores.status == ("ok", "no sentence in the candidate")

    def never(*_: object) -> None:
        raise AssertionError("the pairs were judged before")

    monkeypatch.setattr(RelationJudge, "judge", never)
    before = (tmp_path / "out" / "metrics.json").read_bytes()
    assert main([*command, "--method=decision-tree"]) == 0
    assert (tmp_path / "out" / "metrics.json").read_bytes() == before
    config = json.loads((tmp_path / "out" / "model" / "sentences.json").read_text())
    assert config["training_info"]["regressor"] == "decision-tree"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--data=nowhere.jsonl"], "nowhere.jsonl: Expected groups or pairs but there is no such file"),
        (["--method=ridge"], "--method: Expected best or one of decision-tree"),
        (["--judge=nowhere"], "--judge: Expected embedded or the folder of a judge but got 'nowhere'"),
        (["--criteria=nothing"], "nothing"),
    ],
)
def test_wrong_option_prints_one_line(
    options: list[str], message: str, groups: Path, judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        main(["fit-regressor", f"--data={groups}", f"--judge={judge}", f"--output={tmp_path / 'out'}", *options]) == 2
    )
    error = capsys.readouterr().err.strip()
    assert message in error
    assert "\n" not in error


def test_too_few_references_print_one_line(judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "few.jsonl"
    rows = [
        {
            "id": str(i),
            "reference": "Clear.",
            "candidate": "Edema.",
            "errors": dict.fromkeys(RadCliQSignificanceCriteria().tags, 0),
        }
        for i in range(8)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    assert main(["fit-regressor", f"--data={path}", f"--judge={judge}", f"--output={tmp_path / 'out'}"]) == 2
    assert "few.jsonl: Expected at least 15 references, for 5 × 3 folds, but got 1." in capsys.readouterr().err


def write_human_scores(path: Path, num_cases: int = 60) -> None:
    """Write made-up sentence scores of two raters in the published layout; good candidates have good overall scores."""
    rng = random.Random(0)
    lines = ["Case,Rater,Type,ID,Sentence,Match ID,Sentence Score,Overall Score"]
    for case, rater in product(range(num_cases), "xy"):
        scores = [1 if rng.random() < case / num_cases else rng.choice([0, -1]) for _ in "abc"]
        overall = round((sum(scores) + 3) * 5 / 6, 3)
        for name, score in zip("abc", scores, strict=True):
            match = name.upper() if score else ""
            lines.append(f"{case},{rater},Original,{name},Effusion {case} {name}.,{match},{score},{overall}")
        for name, score in zip("abc", scores, strict=True):
            lines.append(f"{case},{rater},Predicted,{name.upper()},No edema {name}.,{name if score else ''},{score},")
    path.write_text("\n".join(lines))


def test_human_sentence_scores_are_fitted_and_applied_to_any_judge(
    judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    human, out = tmp_path / "human.jsonl", tmp_path / "out"
    write_human_scores(tmp_path / "human.csv")
    assert main(["convert", f"--input={tmp_path / 'human.csv'}", "--from=sentences", f"--output={human}"]) == 0
    (tmp_path / "search.yaml").write_text("svr: [{C: 1.0}, {C: 5.0}]\ndecision-tree: [{max_depth: 3}]")
    command = ["fit-regressor", f"--scores={human}", f"--judge={judge}", f"--output={out}", "--features=fractions"]
    assert main([*command, f"--search={tmp_path / 'search.yaml'}"]) == 0
    metrics = json.loads((out / "metrics.json").read_text())
    assert (metrics["pairs"], metrics["criteria"]) == (60, "rating")
    assert set(metrics["tau_b"]) == {"svr", "decision-tree"}  # the raters' own score is the target
    assert metrics["tau_b"]["svr"]["mean"] > 0.6

    held_out = [json.loads(line) for line in (out / "held_out.jsonl").read_text().splitlines()]
    assert [row["id"] for row in held_out] == [str(case) for case in range(60)]
    assert all(abs(row["regressed"] - row["target"]) < 5 for row in held_out)

    pairs, judged = tmp_path / "pairs.jsonl", tmp_path / "judged.jsonl"
    texts = [("Left effusion. No edema.", "Left effusion."), ("No edema.", "...")]
    rows = [{"id": str(i), "reference": first, "candidate": second} for i, (first, second) in enumerate(texts)]
    pairs.write_text("\n".join(map(json.dumps, rows)))
    apply = ["judge-sentences", f"--input={pairs}", f"--output={judged}", f"--judge={judge}"]
    assert main([*apply, f"--regressor={out}"]) == 0
    regressed = [json.loads(line)["regressed"] for line in judged.read_text().splitlines()]
    expected = radreward.load(out / "model").score(*zip(*texts, strict=True)).total
    assert regressed[0] == pytest.approx(expected[0].item(), rel=1e-5)
    assert regressed[1] is None
    assert main([*apply, f"--regressor={tmp_path}"]) == 2
    assert "--regressor: Expected a folder of fit-regressor" in capsys.readouterr().err

    script = Path(__file__).resolve().parents[2] / "experiments" / "sentence_eval" / "compare_judges.py"
    monkeypatch.setattr("sys.argv", [str(script), str(human)])
    runpy.run_path(str(script), run_name="__main__")
    output = capsys.readouterr().out
    assert "1.000 (360; 0)" in output
    assert "human y" in output

    judged_rows = [json.loads(line) for line in human.read_text().splitlines()]
    others = tmp_path / "others.jsonl"
    rater = judged_rows[0]["rater"]
    own = [row for row in judged_rows if row["rater"] == rater]
    predicted = [{**row, "rater": None, "regressed": 2.0 * row["overall"] + 1} for row in own]
    predicted[0]["reference"][0]["sentence"] = "Split in another way."
    others.write_text("\n".join(map(json.dumps, predicted)))
    monkeypatch.setattr("sys.argv", [str(script), str(human), str(others)])
    runpy.run_path(str(script), run_name="__main__")
    output = capsys.readouterr().out
    [row] = [line for line in output.splitlines() if "others, regressed" in line]
    assert row.count("1.000") == 2
    assert "; 1)" in output  # one pair is left out
    for entry in predicted:
        entry["reference"] = [{"id": "a", "sentence": "All in one", "score": 1.0, "match": []}]
        entry["candidate"] = [{"id": "A", "sentence": "All in one", "score": 1.0, "match": []}]
    others.write_text("\n".join(map(json.dumps, predicted)))
    with pytest.raises(SystemExit, match="Expected sentences that both annotators scored but got none"):
        runpy.run_path(str(script), run_name="__main__")


def test_human_sentences_are_judged_as_they_are_and_fitted_pairs_are_marked(
    judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences without a full stop, as published: one per row, not one per report."""
    source, human, judged = tmp_path / "human.csv", tmp_path / "human.jsonl", tmp_path / "judged.jsonl"
    write_human_scores(source, 20)
    source.write_text(source.read_text().replace(".,", ","))
    assert main(["convert", f"--input={source}", "--from=sentences", f"--output={human}"]) == 0
    (tmp_path / "search.yaml").write_text("decision-tree: [{max_depth: 3}]")
    command = ["fit-regressor", f"--scores={human}", f"--judge={judge}", f"--search={tmp_path / 'search.yaml'}"]
    assert main([*command, f"--output={tmp_path / 'fit'}", "--rater=y"]) == 0
    assert main([*command, f"--output={tmp_path / 'none'}", "--rater=z"]) == 2
    assert "human.jsonl: Expected sentence scores of rater 'z' but got those of x, y." in capsys.readouterr().err

    apply = ["judge-sentences", f"--input={human}", f"--output={judged}", f"--judge={judge}"]
    assert main([*apply, f"--regressor={tmp_path / 'fit'}"]) == 0
    assert "The regressor was fitted to the references of 20 pairs" in " ".join(capsys.readouterr().out.split())
    rows = [json.loads(line) for line in judged.read_text().splitlines()]
    assert [row["id"] for row in rows] == [str(case) for case in range(20)]
    assert {len(row["reference"]) for row in rows} == {3}
    assert {row["fitted"] for row in rows} == {True}
    assert main([*apply, "--refine"]) == 2
    assert "Expected reports, which --refine corrects, but got sentence scores" in capsys.readouterr().err

    script = Path(__file__).resolve().parents[2] / "experiments" / "sentence_eval" / "compare_judges.py"
    monkeypatch.setattr("sys.argv", [str(script), str(human), str(judged), "--rater=y"])
    runpy.run_path(str(script), run_name="__main__")
    output = " ".join(capsys.readouterr().out.split())
    assert "overall score, against human y" in output
    assert "(120; 0)" in output  # κ covers every sentence
    assert "judged: the regressor was fitted to the references of 20 pairs" in output


def test_ratings_in_a_file_of_their_own_are_joined_by_id(
    judge: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_human_scores(tmp_path / "human.csv")
    for layout, name in (("sentences", "scores"), ("sentence-eval", "rated")):
        output = tmp_path / f"{name}.jsonl"
        assert main(["convert", f"--input={tmp_path / 'human.csv'}", f"--from={layout}", f"--output={output}"]) == 0
    (tmp_path / "search.yaml").write_text("svr: [{C: 1.0}]")
    command = ["fit-regressor", f"--judge={judge}", f"--search={tmp_path / 'search.yaml'}", "--features=fractions"]
    files = [f"--scores={tmp_path / 'scores.jsonl'}", f"--data={tmp_path / 'rated.jsonl'}"]
    assert main([*command, *files, f"--output={tmp_path / 'joined'}"]) == 0
    assert main([*command, files[0], f"--output={tmp_path / 'own'}"]) == 0
    joined, own = (json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("joined", "own"))
    assert joined == own
    capsys.readouterr()
    assert main([*command, f"--output={tmp_path / 'none'}"]) == 2
    assert "Expected --data or --scores but got neither" in capsys.readouterr().err
