"""Full disks: every command ends with one line and exit code 2, and keeps what was on the disk."""

import shutil
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.cli.parser import COMMANDS
from soak._commands import Command, prepare_commands

PAGE = 4096


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Command]:
    return {command.name: command for command in prepare_commands(tmp_path_factory.mktemp("inputs"))}


NAMES = (
    *("synthesize", "fit", "fit affinity", "evaluate", "score", "score parquet", "tune", "convert", "benchmark"),
    *("summarize", "judge-sentences", "fit-regressor", "judge-sentences refine"),
    *("synthesize llm", "experiments", "rate", "evaluate review"),
)


def fill(disk: Path, free: int) -> None:
    (disk / "filled").write_bytes(bytes(shutil.disk_usage(disk).free - free))


@pytest.mark.parametrize(
    ("name", "free"),
    [(name, free) for name in NAMES for free in (0, PAGE) if (name, free) != ("evaluate", PAGE)],  # fits into a page
)
def test_full_disk_is_one_line_and_exit_code_2(
    name: str, free: int, commands: dict[str, Command], small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(small_disk, free)
    command = commands[name]
    assert main(command.line(small_disk)) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("radreward:")]
    assert len(lines) == 1
    assert str((small_disk / command.output).with_suffix("")) in lines[0]  # `rate` also writes rate.key.json
    assert not free or "cannot be" in lines[0]
    left = {path.relative_to(small_disk).as_posix() for path in small_disk.rglob("*")}
    assert free or left == {"filled"}


def test_every_command_with_an_output_is_tested(commands: dict[str, Command]) -> None:
    assert list(commands) == list(NAMES)
    assert {name.split()[0] for name in NAMES} | {"compare", "list", "serve"} == set(COMMANDS)
