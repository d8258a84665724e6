"""Outputs of commands: one writer at a time, and a standard output that cannot be written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.io.outputs import claimed_file, claimed_folder
from soak._commands import Command, prepare_commands
from tests.test_full_disk import NAMES


@pytest.fixture(scope="module")
def commands(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Command]:
    return {command.name: command for command in prepare_commands(tmp_path_factory.mktemp("inputs"))}


@pytest.mark.parametrize("name", sorted({*NAMES} - {"tune", "experiments"}))  # workers share studies
def test_output_of_a_running_command_is_refused_at_once(
    name: str, commands: dict[str, Command], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = commands[name]
    output = tmp_path / command.output
    with (claimed_file if output.suffix else claimed_folder)(output):
        assert main(command.line(tmp_path)) == 2
    error = capsys.readouterr().err
    assert f"radreward: {output}: process " in error
    assert "has been writing it since" in error


@pytest.mark.parametrize("command", [["list"], ["--help"]])
def test_output_nobody_can_read_is_one_line(command: list[str]) -> None:
    with open("/dev/full", "w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "radreward", *command], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (run.returncode, run.stderr) == (2, "radreward: [Errno 28] No space left on device\n")


def test_closed_pipe_ends_the_command_without_a_message() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "radreward", "list"]
    run = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, check=False)
    os.close(writer)
    assert (run.returncode, run.stderr) == (141, "")
