"""Notebooks as pages of the site.

`python docs/notebook_pages.py` executes them into build/notebooks; without it, pages show no output. A notebook is
executed again only if it, the package or the experiments changed.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import Any

import nbformat
from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[1]
SOURCES = sorted((ROOT / "notebooks").glob("*.ipynb"))
EXECUTED = ROOT / "build" / "notebooks"


def on_config(config: Any) -> Any:
    """Add the notebooks to the navigation."""
    config.nav.insert(2, {"Notebooks": [f"notebooks/{path.stem}.md" for path in SOURCES]})
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add a page per notebook."""
    for path in SOURCES:
        executed = EXECUTED / path.name
        notebook = nbformat.read(executed if executed.is_file() else path, as_version=4)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=page(notebook)))
    return files


def page(notebook: Any) -> str:
    """Return the Markdown of a notebook with its output."""
    parts = []
    for cell in notebook.cells:
        parts.append(cell.source if cell.cell_type == "markdown" else f"```python\n{cell.source}\n```")
        parts += [text for output in cell.get("outputs", ()) if (text := _output(output))]
    return "\n\n".join(parts) + "\n"


def _output(output: Any) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f"![Figure](data:image/png;base64,{data['image/png'].strip()})"
    text = output.get("text") or data.get("text/plain")
    return f"```text\n{text.rstrip()}\n```" if text else ""


def inputs_digest(path: Path) -> str:
    """Return a hash of all files on which the output of a notebook depends."""
    digest = hashlib.sha256()
    files = (file for name in ("radreward", "experiments") for file in (ROOT / name).rglob("*") if file.is_file())
    for file in (path, *sorted(file for file in files if "__pycache__" not in file.parts)):
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()


def execute() -> None:
    """Execute the notebooks whose output is missing or outdated, each in a folder with the experiments."""
    from nbclient import NotebookClient

    for path in SOURCES:
        executed, digest = EXECUTED / path.name, inputs_digest(path)
        if executed.is_file() and nbformat.read(executed, as_version=4).metadata.get("inputs_digest") == digest:
            continue
        folder = EXECUTED / path.stem
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(ROOT / "experiments", folder / "experiments")
        notebook = nbformat.read(path, as_version=4)
        NotebookClient(notebook, timeout=None, resources={"metadata": {"path": str(folder)}}).execute()
        notebook.metadata.inputs_digest = digest
        nbformat.write(notebook, executed)
        shutil.rmtree(folder)


if __name__ == "__main__":
    execute()
