"""Table of the files that radreward creates, opens for writing or deletes, and of what it does with other files there.

The table in docs/reliability.md is the one that `python -m tests.own_files` prints.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import yaml
from lightning.pytorch import Trainer
from lightning.pytorch.loggers import CSVLogger

from radreward.cli import fit_regressor, main
from radreward.criteria import RadCliQSignificanceCriteria
from radreward.errors import InputError
from radreward.io.cache import SQLiteCache
from radreward.io.outputs import claimed_folder
from radreward.modules.loggers import log_text
from radreward.modules.run_folder import RunFolder
from radreward.modules.run_resume import start_run
from radreward.scorers.custom import CustomScorer
from radreward.scoring.chunk_store import ChunkStore
from radreward.synthesis import synthesize_files
from radreward.tuning import load_study_config, run_study
from radreward.tuning.storage import open_storage
from tests.tuning.fake_training import fake_runner, parabola

OBSTACLES = ("symbolic link", "hard link", "foreign file", "folder", "read-only", "other owner")
"""What stands at the path of a file; the last two are empty files."""
ROW = {"id": "a", "reference": "Clear lungs. No effusion.", "candidate": "Clear lungs. Small left effusion."}


class OwnFile(NamedTuple):
    """A file or folder that radreward creates, opens for writing or deletes."""

    name: str
    """As in the documentation."""
    commands: str
    path: str
    """In the folder of a test."""
    action: Callable[[Path], object]
    outcomes: str
    """First letters of the outcomes for all obstacles, in their order."""
    prepare: Callable[[Path], object] = lambda folder: None
    """Called before the obstacle is there."""


OUTCOMES = {"r": "refused", "n": "new file", "k": "kept", "u": "added to"}


def score(folder: Path) -> None:
    (folder / "pairs.jsonl").write_text(json.dumps(ROW) + "\n")
    arguments = ["score", "--scorers", "bleu-1", f"--input={folder / 'pairs.jsonl'}", f"--output={folder / 's.jsonl'}"]
    if main(arguments) != 0:
        raise InputError("refused")


def claim_folder(folder: Path) -> None:
    with claimed_folder(folder / "out"):
        pass


def make_chunks(folder: Path) -> ChunkStore:
    return ChunkStore(folder / "s.jsonl", {"input": "x"})


def write_chunk(folder: Path) -> None:
    import pyarrow as pa

    make_chunks(folder).write(0, pa.schema([]), [ROW])


def judge(folder: Path) -> None:
    scorer = CustomScorer(lambda reference, candidate: 0.5)
    fit_regressor._judge(folder / "data" / "groups.parquet", folder / "out", RadCliQSignificanceCriteria(), scorer)  # type: ignore[arg-type]


def write_groups(folder: Path) -> None:
    synthesize_files(folder / "data", RadCliQSignificanceCriteria(), 1, 2, granularity="statement")


def use_cache(folder: Path) -> None:
    with closing(SQLiteCache(folder / "a.sqlite")) as cache:
        cache.put({"a": b"1"})


def use_journal(folder: Path) -> None:
    open_storage(f"journal:{folder / 'a.journal'}", folder).create_new_study([])


def tune(folder: Path) -> None:
    (folder / "base.yaml").write_text("run: here\n")
    space = {"x": {"low": 0.0, "high": 10.0}}
    study = {"study": "toy", "base": str(folder / "base.yaml"), "trials": 1, "prune": False, "space": space}
    (folder / "study.yaml").write_text(yaml.safe_dump(study))
    run_study(load_study_config(folder / "study.yaml"), fake_runner(parabola), folder / "study")


def tune_more(folder: Path) -> None:
    text = (folder / "study.yaml").read_text().replace("trials: 1", "trials: 2")
    (folder / "study.yaml").write_text(text)
    run_study(load_study_config(folder / "study.yaml"), fake_runner(parabola), folder / "study")


def resume_run(folder: Path) -> None:
    run = RunFolder(folder / "run")
    start_run(run, {}, resume=True)
    logger = run.logger()
    logger.log_hyperparams({"a": 1})
    logger.experiment.add_scalar("a", 1.0, 0)
    logger.save()


def log_example(folder: Path) -> None:
    trainer = Trainer(logger=CSVLogger(folder, name="", version="logs"), accelerator="cpu", devices=1)
    log_text(trainer, "a", "An example.", 20)


OWN_FILES = (
    OwnFile("the output, and each file of an output folder", "all", "s.jsonl", score, "nnnrnn"),
    OwnFile("`OUTPUT.rejects.jsonl`", "`score`", "s.jsonl.rejects.jsonl", score, "nnnrnn"),
    OwnFile("`.OUTPUT.radreward-lock`", "all", ".s.jsonl.radreward-lock", score, "rrrrrr"),
    OwnFile("`FOLDER/.radreward-lock`", "all", "out/.radreward-lock", claim_folder, "rrrrrr"),
    OwnFile("`.OUTPUT-XXXXXXXX.radreward-tmp/`", "all", ".s.jsonl-abcdefgh.radreward-tmp", score, "kkkkkk"),
    OwnFile("`OUTPUT.parts/`", "`score`, `judge-sentences`, `fit-regressor`", "s.jsonl.parts", score, "rrrrrr"),
    OwnFile(
        "`OUTPUT.parts/00000000.jsonl` and `.json`",
        "`score`, `judge-sentences`, `fit-regressor`",
        "s.jsonl.parts/00000000.jsonl",
        write_chunk,
        "nnnrnn",
        make_chunks,
    ),
    OwnFile(
        "`FOLDER/.radreward-pairs.jsonl`",
        "`fit-regressor`",
        "out/.radreward-pairs.jsonl",
        judge,
        "nnnrnn",
        write_groups,
    ),
    OwnFile(
        "`scores.sqlite`, `answers.sqlite`, `~/.cache/radreward/lengths.sqlite`",
        "`benchmark`, chat models, `fit`",
        "a.sqlite",
        use_cache,
        "rrrrrr",
    ),
    OwnFile("`scores.sqlite-wal`", "`benchmark`, chat models", "a.sqlite-wal", use_cache, "rrrrrr", use_cache),
    OwnFile("`scores.sqlite-shm`", "`benchmark`, chat models", "a.sqlite-shm", use_cache, "rrrrrr", use_cache),
    OwnFile("`scores.sqlite-journal`", "`benchmark`, chat models", "a.sqlite-journal", use_cache, "rrrrrr", use_cache),
    OwnFile("`study.db`", "`tune`", "study/study.db", tune, "rrrrrr"),
    OwnFile("`study.db-journal`", "`tune`", "study/study.db-journal", tune_more, "rrrrrr", tune),
    OwnFile("`STUDY/trials/`", "`tune`", "study/trials", tune, "rrrrrr"),
    OwnFile("`STUDY/trials/N/`", "`tune`", "study/trials/1", tune_more, "rrrrrr", tune),
    OwnFile("`--storage a.journal`", "`tune`", "a.journal", use_journal, "rrrrrr"),
    OwnFile("`a.journal.lock`", "`tune`", "a.journal.lock", use_journal, "rrrrrr"),
    OwnFile("`RUN/checkpoints/`, `RUN/logs/`", "`fit`, `tune`", "run/logs", resume_run, "rrrurr"),
    OwnFile("`RUN/logs/hparams.yaml`", "`fit`, `tune`", "run/logs/hparams.yaml", resume_run, "rkkrkk"),
    OwnFile(
        "`LOG_DIR/NAME/STEP.png` and `.md` of a CSV logger", "`fit`, `tune`", "logs/a/20.md", log_example, "nnnrnn"
    ),
)


def table() -> str:
    """Return the table in Markdown."""
    header = ["file or folder", "commands", *OBSTACLES]
    rows = [[own.name, own.commands, *(OUTCOMES[letter] for letter in own.outcomes)] for own in OWN_FILES]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, ["---"] * len(header), *rows))


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
