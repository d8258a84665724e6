"""Full-size files: each takes a step on the data of the command in its head, with less data and a tiny backbone."""

import re
import runpy
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from radreward.cli import build, main
from tests.logged_terms import fit_and_record

ROOT = Path(__file__).resolve().parents[1]
LOADED = {
    path: yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "experiments").rglob("*.yaml"))
}
HUB_NAME = re.compile(r"name: [\w.-]+/[\w.-]+")
FULL_SIZE = [
    path for path, content in LOADED.items() if "model" in content and HUB_NAME.search(yaml.safe_dump(content))
]
LESS_DATA = {"radreward": ["--groups", "12"], "python": ["--train", "40", "--test", "10"]}
FEWER_GROUPS = {"RewardModule": "6", "GRPOModule": "4", "SFTModule": "14", "LanguageModelModule": "8"}
"""Groups for modules that validate on half of them, or train on one batch; the others need groups for each fold."""
# The validation after training is enough. Less data instead of limits in batches: whether a limit of 1 is one batch or
# all of them depends on earlier imports, since Python takes `Union[int, float]` and `Union[float, int]` for the same.
TRAINER = (
    "max_steps=1",
    "check_val_every_n_epoch=2",
    "accumulate_grad_batches=1",
    "accelerator=cpu",
    "strategy=auto",
    "devices=1",
)
DECODER = (
    "model.backbone.lora={r: 2}",
    "model.backbone.dtype=float32",
    "trainer.precision=32-true",
    "data.collator.max_length=2000",
)
SMALL = {
    "RewardModule": (
        "data.collator.max_length=2000",
        "data.batch_size=2",
        "model.backbone.gradient_checkpointing=false",
    ),
    "SFTModule": (
        *DECODER,
        "data.batch_size=8",  # few batches of answers to decode
        "data.val_split=0.25",
        "model.max_decoded=1",
        "data.collator.max_answer_length=180",  # an untrained model never ends its answers
    ),
    "LanguageModelModule": (*DECODER, "data.batch_size=1", "data.collator.max_answer_length=100"),
    "GRPOModule": (
        *DECODER,
        "data.batch_size=1",
        "data.collator.max_answer_length=4",
        "init_from=null",
        "model.rollouts.num_generations=2",
    ),
    "TaggerModule": (
        "model.backbone.name=tiny-bert",
        "model.hidden_size=16",
        "data.batch_size=4",
        "data.val_split=0.2",
    ),
    "AffinityModule": (
        "data.val_split=0.2",  # two folds, each with a part for early stopping, need a few references
        "data.collator.tagger=rules",
        "data.collator.encoder.name=tiny-bert",
        "data.collator.encoder.max_length=200",
        "model.optimizer.n_trials=2",
        "model.n_folds=2",
        "trainer.max_steps=-1",
    ),
}
"""Settings that make a run small, by the name of the module."""


def module_name(content: dict[str, Any]) -> str:
    return str(content["model"].get("class_path", "RewardModule")).rpartition(".")[2]


def documented_commands(path: Path, *programs: str) -> list[list[str]]:
    """Return the commands in the head of a file that start with one of these words."""
    lines = re.findall(r"^#   (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line) for line in lines if line.startswith(programs)]


def make_documented_data(path: Path) -> None:
    """Run the data commands of a file, with less data, in the working directory."""
    for program, command, *options in documented_commands(path, "radreward synthesize", "python"):
        options += LESS_DATA[program]
        if program == "radreward":
            options[-1] = FEWER_GROUPS.get(module_name(LOADED[path]), options[-1])
            assert main([command, *options]) == 0
        else:
            with pytest.MonkeyPatch.context() as patch:
                module, *options = options
                assert command == "-m"
                patch.setattr("sys.argv", [module, *options])
                patch.delitem(sys.modules, module, raising=False)  # runpy warns of a module that is imported already
                runpy.run_module(module, run_name="__main__", alter_sys=True)


def test_full_size_files_of_every_paper_exist_and_name_their_commands() -> None:
    assert {path.parent.name for path in FULL_SIZE} == {"er2score", "green", "radreason", "ratescore"}
    assert {module_name(LOADED[path]) for path in FULL_SIZE} == set(SMALL)
    for path in FULL_SIZE:
        assert documented_commands(path, "radreward synthesize", "python"), f"{path}: no data command in its head"
        fit = ["radreward", "fit", "--config", str(path.relative_to(ROOT))]
        assert any(command[:4] == fit for command in documented_commands(path, "radreward fit")), f"{path}: no fit"


# bitsandbytes reads a field of torch by a name that torch is dropping.
@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning", "ignore:MatMul8bitLt:UserWarning")
@pytest.mark.parametrize("path", FULL_SIZE, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_full_size_file_takes_a_step_on_its_documented_data(
    path: Path, tmp_path: Path, tiny_llama: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    make_documented_data(path)
    kind = module_name(LOADED[path])
    split = [] if kind == "TaggerModule" else ["data.val_split=0.5"]
    tiny = kind in ("TaggerModule", "AffinityModule")  # these name an encoder
    backbone = [] if tiny else [f"model.backbone.name={tiny_llama}"]
    trainer = [f"trainer.{entry}" for entry in (*TRAINER, "enable_progress_bar=false", "logger=false")]
    training = build(path, *trainer, *split, *SMALL[kind], *backbone)
    assert type(training.module).__name__ == kind
    if kind == "RewardModule":
        (terms,) = fit_and_record(training)
        assert terms.keys() == {"loss", "individual", "total"}, "the terms of ER²Score, Eq. 1"
        assert terms["individual"] + terms["total"] == pytest.approx(terms["loss"], rel=1e-4)
    else:
        training.fit()
    assert training.trainer.global_step >= 1
    assert any(training.run_folder.model.iterdir())
