"""`radreward --print-completion`: the script completes commands, options and values in a real bash."""

import shutil
import subprocess
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.cli.completion import SHELLS
from radreward.cli.fit_options import FIT_OPTIONS
from radreward.cli.parser import COMMANDS

BASH = shutil.which("bash")
needs_bash = pytest.mark.skipif(BASH is None, reason="needs bash")
COMPLETE = """
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
"$(complete -p radreward | sed -E 's/.* -F ([^ ]+) .*/\\1/')"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("completion") / "radreward.bash"
    with pytest.MonkeyPatch.context() as patch, path.open("w") as file:
        patch.setattr("sys.stdout", file)
        assert main(["--print-completion", "bash"]) == 0
    return path


def _completions(script: Path, *words: str) -> set[str]:
    """Return what bash offers for the last word of a command line."""
    command = [BASH or "", "--norc", "-c", COMPLETE, "bash", str(script), "radreward", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=script.parent)
    assert done.stderr == ""
    return set(done.stdout.split())


@needs_bash
def test_script_is_valid_bash(script: Path) -> None:
    done = subprocess.run([BASH or "", "-n", str(script)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@needs_bash
def test_bash_completes_commands(script: Path) -> None:
    assert _completions(script, "") >= set(COMMANDS)
    assert _completions(script, "sc") == {"score"}
    assert _completions(script, "fit") == {"fit", "fit-regressor"}


@needs_bash
def test_bash_completes_options_and_their_values(script: Path) -> None:
    assert _completions(script, "score", "--num") == {"--num-workers"}
    assert _completions(script, "score", "--precision", "") == {"fp32", "bf16"}
    assert _completions(script, "judge-sentences", "--max-tokens-f") == {"--max-tokens-field"}
    (script.parent / "pairs.jsonl").touch()
    assert _completions(script, "score", "--input", "pai") == {"pairs.jsonl"}
    assert _completions(script, "--print-completion", "") == set(SHELLS)


@needs_bash
def test_bash_completes_the_options_of_fit_that_it_accepts(script: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = {f"--{name.replace('_', '-')}" for name in FIT_OPTIONS}
    offered = _completions(script, "fit", "--")
    assert offered == expected | {"--help", "--config", "--seed"}
    with pytest.raises(SystemExit):
        main(["fit", "--help"])
    assert offered <= set(capsys.readouterr().out.split())


@pytest.mark.parametrize("shell", SHELLS)
def test_script_of_every_shell_has_commands_options_and_choices(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([f"--print-completion={shell}"]) == 0
    text = capsys.readouterr().out
    assert all(name in text for name in (*COMMANDS, "num-workers", "bf16", "checkpoint-every"))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--print-completion", "sh"], "--print-completion: Expected one of bash, zsh, tcsh but got 'sh'."),
        (["--print-completion"], "--print-completion: Expected one of bash, zsh, tcsh but got nothing."),
        (["--print-completion", "bash", "x"], "--print-completion: Expected one of bash, zsh, tcsh but got 'bash x'."),
    ],
)
def test_unknown_shell_is_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"radreward: {message}\n"
