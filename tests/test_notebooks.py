"""Every notebook runs from top to bottom."""

import os
import shutil
import sys
from multiprocessing.context import ForkServerContext
from pathlib import Path

import nbformat
import pytest
from IPython.core.interactiveshell import InteractiveShell

from docs import notebook_pages

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
LESS = {
    "custom_loss": {"groups=32": "groups=8", "STEPS, SEEDS = 8": "STEPS, SEEDS = 2"},
    "fit_affinities": {
        "groups=60": 'groups=12, granularity="statement"',
        '"model.bootstrap_samples=10"': '"model.bootstrap_samples=2", "model.n_folds=2"',
    },
    "explain_scores": {"groups=20": "groups=4"},
    "which_metric": {"groups=30": "groups=6", "n_resamples=300": "n_resamples=30", "reports=4": "reports=2"},
}
"""Less data, by notebook."""


def test_notebooks_exist() -> None:
    assert len(NOTEBOOKS) >= 2


def run_cells(cells: list[str], folder: Path) -> None:
    """Run the cells of a notebook in a folder, as a kernel does; the target of a new process."""
    os.chdir(folder)
    os.environ["IPYTHONDIR"] = str(folder / ".ipython")
    sys.path.insert(0, "")
    shell = InteractiveShell.instance()
    for cell in cells:
        shell.run_cell(cell).raise_error()  # type: ignore[no-untyped-call]


@pytest.mark.timeout(3000)
@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook_runs(path: Path, tmp_path: Path, processes: ForkServerContext) -> None:
    shutil.copytree(ROOT / "experiments", tmp_path / "experiments")
    cells = [cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    for written, smaller in LESS.get(path.stem, {}).items():
        assert any(written in cell for cell in cells), written
        cells = [cell.replace(written, smaller) for cell in cells]
    folder = tmp_path / "notebooks"
    folder.mkdir()
    process = processes.Process(target=run_cells, args=(cells, folder))
    process.start()
    process.join()
    assert process.exitcode == 0
    assert {entry.name for entry in folder.iterdir()} <= {".ipython"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook_is_stored_without_output(path: Path) -> None:
    cells = nbformat.read(path, as_version=4).cells
    assert not any(cell.get("outputs") for cell in cells)


def test_notebook_is_executed_again_only_if_something_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executions: list[str] = []

    class Client:
        def __init__(self, notebook: nbformat.NotebookNode, **_: object) -> None:
            self.notebook = notebook

        def execute(self) -> None:
            executions.append(self.notebook.cells[0].source)

    source, code = tmp_path / "a.ipynb", tmp_path / "radreward" / "code.py"
    cell = nbformat.v4.new_code_cell("1 + 1")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), source)
    for folder in ("radreward", "experiments", "executed"):
        (tmp_path / folder).mkdir()
    monkeypatch.setattr("nbclient.NotebookClient", Client)
    for name, value in {"ROOT": tmp_path, "SOURCES": [source], "EXECUTED": tmp_path / "executed"}.items():
        monkeypatch.setattr(notebook_pages, name, value)
    for content in ("one", "one", "two"):
        code.write_text(content)
        notebook_pages.execute()
    assert executions == ["1 + 1"] * 2
    assert [path.name for path in (tmp_path / "executed").iterdir()] == ["a.ipynb"]
