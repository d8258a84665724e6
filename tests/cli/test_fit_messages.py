"""Wrong settings of `fit` give one line, before anything is written."""

from pathlib import Path

import pytest

from radreward.cli import main

EVIDENCE = ["--model.architecture=evidence", "--model.pooling=auto", "--model.head_hidden_size=0"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--trainer.max_steps=0"], "trainer.max_steps: Expected at least one step"),
        (["--trainer.max_steps=-1", "--trainer.max_epochs=0"], "trainer.max_epochs: Expected at least one step"),
        (["--trainer.limit_train_batches=0"], "trainer.limit_train_batches: Expected at least one step"),
        (["--trainer.val_check_interval=0"], "trainer.val_check_interval: Expected steps, or a fraction"),
        (["--data.records=empty.jsonl"], "empty.jsonl: Expected groups"),
        (["--data.collator.max_length=20"], "groups.jsonl, group '"),
        (["--init-from=runs/nowhere"], "--init-from: runs/nowhere: Expected a"),
        (["--model.objective=FindingRegression"], "groups.jsonl: Expected candidates with the weights `matched` and"),
        (
            ["--model.objective=LocatedErrors", *EVIDENCE],
            "groups.jsonl: Expected candidates with `located_errors`, which LocatedErrors needs",
        ),
        (["--model.objective=LocatedErrors"], "LocatedErrors needs evidence per token: Expected `architecture`"),
        ([*EVIDENCE, "--model.head_hidden_size=4"], "Expected `architecture` to be pooled with `head_hidden_size` 4"),
    ],
)
def test_error_before_training_leaves_no_run_folder(
    arguments: list[str],
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty.jsonl").touch()
    assert main(["fit", f"--config={config}", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "run").exists()


LOSSES = {
    "constant": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return margin.sum(1)",
        "a loss that depends on",
    ),
    "matrix": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return accepted - rejected",
        "`pair_loss` to return (1,) losses but got (1, ",
    ),
    "number": (
        "PairObjective",
        "pair_loss(self, accepted, rejected, margin): return accepted.sum()",
        "`pair_loss` to return (1,) losses but got ()",
    ),
    "tensor": ("Objective", "forward(self, batch): return batch.rewards.sum(1)", "an ObjectiveOutput but got Tensor"),
    "part without needs": (
        "Objective",
        "forward(self, batch): return batch.finding_weights.predicted.sum()",
        "`needs` to name finding_weights",
    ),
    "reserved log": (
        "Objective",
        "forward(self, batch): loss = batch.rewards.mean(); return ObjectiveOutput(loss, {'loss': loss.detach()})",
        "a log key other than 'loss'",
    ),
    "log per criterion": (
        "Objective",
        "forward(self, batch): return ObjectiveOutput(batch.rewards.mean(), {'mean': batch.rewards.detach().mean(0)})",
        "the log 'mean' to be a tensor of shape () but got the shape (6,)",
    ),
    "log of a number": (
        "Objective",
        "forward(self, batch): return ObjectiveOutput(batch.rewards.mean(), {'temperature': 0.5})",
        "the log 'temperature' to be a tensor of shape () but got a float",
    ),
    "nothing": ("Objective", "forward(self, batch): pass", "an ObjectiveOutput but got NoneType"),
}


@pytest.mark.parametrize(("base", "method", "message"), LOSSES.values(), ids=LOSSES.keys())
def test_wrong_custom_loss_is_named_in_one_line(
    base: str,
    method: str,
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"loss_{abs(hash(method))}"  # modules are imported once
    (tmp_path / f"{name}.py").write_text(
        f"from radreward.objectives import {base}\nfrom radreward.types import ObjectiveOutput\n"
        f"class Mine({base}):\n    def {method}"
    )
    assert main(["fit", f"--config={config}", f"--model.objective={name}.Mine"]) == 2
    error = capfd.readouterr().err
    assert error.startswith("radreward: Mine: Expected ")
    assert message in error
    assert error.count("\n") == 1
    assert (tmp_path / "run").exists() == (method == LOSSES["constant"][1])  # the dry run finds the others


@pytest.mark.parametrize(
    ("base", "parameters", "value", "message"),
    [
        (
            "SumObjective",
            "objectives, steps=10",
            "{objectives: [MarginRewardEnforcement, BradleyTerry]}",
            "Expected objects as `objectives` but got names; annotate the parameter with `Sequence[Objective]`.",
        ),
        (
            "BradleyTerry",
            "weighting=None",
            "{weighting: DynamicWeighting}",
            "Expected objects as `weighting` but got names; annotate the parameter with `CriterionWeighting | None`.",
        ),
    ],
    ids=["objectives", "weighting"],
)
def test_custom_loss_without_annotations_names_parameter_and_remedy(
    base: str,
    parameters: str,
    value: str,
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    name = f"untyped_{base.lower()}"
    argument = parameters.partition(",")[0].partition("=")[0]
    (tmp_path / f"{name}.py").write_text(
        f"from radreward.objectives import {base}\nclass Mine({base}):\n"
        f"    def __init__(self, {parameters}):\n        super().__init__({argument}={argument})"
    )
    (tmp_path / "loss.yaml").write_text(f"model: {{objective: {{class_path: {name}.Mine, init_args: {value}}}}}")
    assert main(["fit", f"--config={config}", "--config=loss.yaml"]) == 2
    assert capsys.readouterr().err == f"radreward: Mine: {message}\n"


BAD = {
    "misspelt objective": (["--model.objective=MarginRewardEnforcment"], "Did you mean MarginRewardEnforcement?"),
    "objective of another family": (
        ["--model.objective=DynamicWeighting"],
        "Expected the name of an Objective but got 'DynamicWeighting'. Choose one of ",
    ),
    "objective of another type": (
        ["--model.objective=json.JSONDecoder"],
        "Expected the name of an Objective but got 'json.JSONDecoder'",
    ),
    "misspelt callback": (["--trainer.callbacks=EarlyStoping"], "Did you mean EarlyStopping?"),
    "setting of the criteria": (["--criteria.name=3"], "radreward: --criteria: Expected a str but got name=3."),
    "abbreviated setting": (
        ["--trainer.max_step=1"],
        "radreward: Expected a known option but got --trainer.max_step. See `radreward fit --help`.",
    ),
    "class in a missing file": (["--model.objective=my_loss.Mine"], "There is no file my_loss.py in "),
    "class missing in its file": (["--model.objective=other_loss.Mine"], "other_loss.py defines no Mine."),
    "class in a file with an error": (
        ["--model.objective=half_loss.Mine"],
        "radreward: model.objective: Expected a class in the module half_loss but its import raised NameError in ",
    ),
    "no criteria": (
        ["--criteria=null"],
        "radreward: --criteria: Expected the criteria of RewardModule, such as radcliq, but got none.",
    ),
    "no integer": (["--seed=abc"], "radreward: --seed: Expected a bool or an int but got abc."),
    "misspelt criteria": (["--criteria=radclik"], "radreward: Expected criteria to be one of radcliq, "),
    "unknown setting of the trainer": (
        ["--config=steps.yaml"],
        "radreward: Expected a setting of trainer but got 'max_stepz'. ",
    ),
    "criteria of other errors from a file": (["--criteria=own.yaml"], "row 1"),
    "misspelt collator": (["--data.collator=RewardColator"], "Did you mean RewardCollator?"),
    "misspelt setting": (
        ["--model.objective=BradleyTerry", "--model.objective.lamda=1"],
        "Expected a setting of BradleyTerry but got 'lamda'. Did you mean lambda_?",
    ),
    "unknown setting": (
        ["--model.poolin=3"],
        "Expected a setting of RewardModule but got 'poolin'. Did you mean pooling?",
    ),
    "constructor of an objective": (["--model.objective=CountRegression", "--model.objective.delta=-1"], "`delta`"),
    "weights for other criteria": (
        ["--model.objective.weighting=FixedWeighting", "--model.objective.weighting.weights=[1,2]"],
        "Expected `weights` to have 6",
    ),
    "constructor of the data": (["--data.batch_size=0"], "`batch_size`"),
    "wrong type": (["--data.collator.max_length=abc"], "data.collator.max_length: Expected an int but got abc."),
    "unknown choice": (["--trainer.precision=bf17"], "trainer.precision: Expected an int or one of "),
    "unknown key of a file": (
        ["--config=unknown.yaml"],
        "radreward: Expected a setting of `radreward fit` but got 'modle'.",
    ),
    "no records": (["--data.records=absent.jsonl"], "absent.jsonl"),
    "other criteria": (["--criteria=mrscore"], "row 1"),
    "missing criteria file": (["--criteria=absent.yaml"], "absent.yaml"),
    "unknown tiny backbone": (["--model.backbone.name=tiny-whale"], "tiny-whale"),
    "no checkpoint": (["--ckpt-path=last"], "last.ckpt"),
    "too long": (["--data.collator.max_length=4"], "max_length"),
    "more than positions": (["--data.collator.max_length=4097"], "`max_length` to be at most 4096, the positions of"),
}


@pytest.mark.parametrize(("arguments", "message"), BAD.values(), ids=BAD.keys())
def test_wrong_setting_prints_one_line(
    arguments: list[str],
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.yaml").write_text("trainer: {max_stepz: 3}")
    (tmp_path / "unknown.yaml").write_text("modle: 3")
    (tmp_path / "other_loss.py").write_text("Other = 3")
    (tmp_path / "half_loss.py").write_text("class Mine(PairObjective): pass")
    (tmp_path / "own.yaml").write_text("name: own\ncriteria: [{name: tone, description: Rude.}]")
    assert main(["fit", f"--config={config}", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1, error
    assert "<class" not in error


def test_missing_records_are_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fit"]) == 2
    assert capsys.readouterr().err == "radreward: data.records: Expected a value but got none. Set --data.records.\n"
