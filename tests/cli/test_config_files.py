"""Unusable files of `--config` give one line that names the file."""

from pathlib import Path

import pytest

from radreward.cli import main

UNUSABLE = {
    "missing configuration": (["--config=absent.yaml"], "absent.yaml: Expected a YAML file but there is no such file."),
    "misspelt configuration": (["--config=confg.yaml"], "Did you mean config.yaml?"),
    "configuration that only runs resemble": (
        ["--config=trial.yaml"],
        "radreward: trial.yaml: Expected a YAML file but there is no such file.\n",
    ),
    "directory as configuration": (["--config=folder"], "folder: Expected a YAML file but got a directory."),
    "broken configuration": (["--config=broken.yaml"], "broken.yaml, line 2, column 3: Expected YAML but"),
    "configuration of another kind": (
        ["--config", "list.yaml"],
        "list.yaml: Expected settings as `key: value` but got list",
    ),
    "configuration of bytes": (["-c", "bytes.yaml"], "bytes.yaml: Expected YAML in UTF-8"),
}


@pytest.mark.parametrize(("arguments", "message"), UNUSABLE.values(), ids=UNUSABLE.keys())
def test_unusable_configuration_prints_one_line(
    arguments: list[str],
    message: str,
    config: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "broken.yaml").write_text("run: a\n b: [1\n")
    (tmp_path / "list.yaml").write_text("- 1")
    (tmp_path / "bytes.yaml").write_bytes(b"run: \xff")
    (tmp_path / "folder").mkdir()
    run = tmp_path / "runs" / "toy" / "trials" / "3"
    (run / "logs").mkdir(parents=True)
    for name in ("versions.json", "trail.yaml", "logs/trials.yaml"):
        (run / name).touch()
    assert main(["fit", f"--config={config}", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1, error
