"""Full disks: every command ends with one line and exit code 2, and keeps what was on the disk."""

import shutil
from pathlib import Path

import pytest

from radreward.cli import main
from soak._commands import Command, prepare_commands

PAGE = 4096


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Command]:
    return {command.name: command for command in prepare_commands(tmp_path_factory.mktemp("inputs"))}


NAMES = (
    *("synthesize", "fit", "fit affinity", "evaluate", "score", "score parquet", "tune", "convert", "benchmark"),
    *("summarize", "judge-sentences", "fit-regressor", "refine", "synthesize-llm", "review-agreement"),
)


def fill(disk: Path, free: int) -> None:
    (disk / "data").write_bytes(bytes(shutil.disk_usage(disk).free - free))


@pytest.mark.parametrize("free", [0, PAGE], ids=["full at the start", "full at the first write"])
@pytest.mark.parametrize("name", NAMES)
def test_full_disk_is_one_line_and_exit_code_2(
    name: str, free: int, commands: dict[str, Command], small_disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(small_disk, free)
    command = commands[name]
    if name == "evaluate" and free:
        pytest.skip("its output fits into a page")
    assert main(command.line(small_disk)) == 2
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("radreward:")]
    assert len(lines) == 1
    assert str(small_disk / command.output) in lines[0]
    assert not free or "cannot be" in lines[0]
    left = {path.relative_to(small_disk).as_posix() for path in small_disk.rglob("*")}
    assert free or left == {"data"}


def test_every_command_with_an_output_is_tested(commands: dict[str, Command]) -> None:
    assert list(commands) == list(NAMES)
    from radreward.cli.parser import COMMANDS

    assert {name.split()[0] for name in NAMES} | {"compare", "list"} == set(COMMANDS)
