"""`radreward memory`: a table of what a run needs, and one line for what cannot be."""

from pathlib import Path

import pytest

from radreward.cli import main

CONFIG = Path(__file__).resolve().parents[2] / "experiments" / "er2score" / "llama3-8b.yaml"
SMALL = ("model.backbone.name=tiny-llama", "--prefix=40", "--candidate=10")


def test_every_choice_has_a_row_and_the_configured_one_is_marked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", f"--config={CONFIG}", *SMALL]) == 0
    printed = capsys.readouterr().out
    assert "GiB of a step of tiny-llama: 6 references of 40 tokens," in printed
    rows = [line for line in printed.splitlines() if line.startswith("| bfloat16")]
    assert [tuple(cell.strip() for cell in line.split("|")[2:4]) for line in rows] == [
        ("tree", "no"),
        ("tree", "yes *"),
        ("rows", "no"),
        ("rows", "yes"),
    ]
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([f"--config={CONFIG}", "trainer.precision=bf16-true"], "trainer.precision: Expected one of 32-true"),
        ([f"--config={CONFIG}", "model.hidde=3"], "no setting 'hidde'. Did you mean hidden?"),
        ([f"--config={CONFIG}", *SMALL, "--candidates=0"], "Expected `candidates` to be >= 1 but got 0."),
        ([f"--config={CONFIG}", "--prefix=9000"], "at most 8192"),
        (["--config=nowhere.yaml"], "nowhere.yaml: Expected a configuration of fit but there is no such file."),
    ],
)
def test_what_cannot_be_is_one_line(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["memory", *arguments]) == 2
    printed = capsys.readouterr().err
    assert told in printed
    assert printed.count("\n") == 1
