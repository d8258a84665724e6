"""`radreward list`: every name that an option takes, in one line that is the same in a terminal and in a pipe."""

import inspect

import pytest

from radreward import objectives
from radreward.cli import main
from radreward.criteria import PRESETS
from radreward.scorers import SCORERS
from radreward.tuning.sampler_names import SAMPLERS


def _lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    assert main(["list"]) == 0
    return capsys.readouterr().out.splitlines()


def test_list_names_everything_that_options_take_in_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    names = [line.split()[0] for line in _lines(capsys) if line.startswith("  ")]
    parts = {
        name for name in objectives.__all__ if name != "Rollouts" and not inspect.isabstract(getattr(objectives, name))
    }
    assert sorted(names) == sorted([*SCORERS, *PRESETS, *SAMPLERS, *parts])
    assert {"MajorityGuidedScaling", "MedianAdvantage", "CompletionAverage", "GaussianAccuracy"} <= parts


def test_list_has_the_summary_of_every_scorer_and_the_needs_of_those_that_are_not_usable(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rows = [line.split() for line in _lines(capsys) if line.startswith("  ")]
    lines = {name: " ".join(rest) for name, *rest in reversed(rows)}  # scorers come first; a preset may have the name
    for name, entry in SCORERS.items():
        assert lines[name].startswith(("usable ", "not usable Needs "))
        assert lines[name].endswith(entry.summary)
    assert lines["er2score"].startswith("usable Embedded")
    assert lines["chexbert"].startswith("not usable Needs the folder of CheXbert's weights after a colon. Cosine")


def test_list_does_not_depend_on_the_width_of_the_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    wide = _lines(capsys)
    monkeypatch.setenv("COLUMNS", "20")
    assert _lines(capsys) == wide
