"""References in docs/: settings as the code prints them, and all public names."""

import ast
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import yaml

from radreward.models.transformers_attention import DECODER_TYPES, ENCODER_TYPES
from tests.source_files import FILES, PACKAGE, syntax_tree

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "fit.yaml"
# In a process of its own: the help lists the subclasses of the modules that are imported.
COMMAND = [sys.executable, "-m", "radreward", "fit", "--criteria", "radcliq", "--print_config=comments"]


def test_fit_reference_is_what_the_command_prints() -> None:
    environment = {**os.environ, "COLUMNS": "120"}
    printed = subprocess.run(COMMAND, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    written = REFERENCE.read_text(encoding="utf-8")
    assert _sorted_subclasses(written) == _sorted_subclasses(printed), "docs/fit.yaml is outdated: run `make docs`"


def _sorted_subclasses(text: str) -> str:
    """Return the reference with sorted lists of subclasses, which jsonargparse prints in any order."""
    return re.sub(r"(?<=known subclasses: )[^)]+", lambda match: ", ".join(sorted(match[0].split(", "))), text)


def test_fit_reference_documents_every_setting_of_the_model() -> None:
    text = REFERENCE.read_text(encoding="utf-8")
    settings = yaml.safe_load(text)
    assert settings["criteria"] == "radcliq"
    lines = text.splitlines()
    for name in settings["model"]["init_args"]:
        index = next(i for i, line in enumerate(lines) if line.startswith(f"    {name}:"))
        assert lines[index - 1].lstrip().startswith("#"), f"{name} has no comment"


def _public_names() -> set[str]:
    """Return the import paths of the names in every `__all__`."""
    names = set()
    for path in FILES:
        module = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        for node in syntax_tree(path).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
                names |= {f"{module}.{name}" for name in ast.literal_eval(node.value)}
    return names


def test_api_page_lists_every_public_name() -> None:
    listed = re.findall(r"^::: (\S+)$", (ROOT / "docs" / "api.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(_public_names())


def test_public_names_exist() -> None:
    for path in _public_names():
        module, _, name = path.rpartition(".")
        assert hasattr(import_module(module), name), path


def test_page_of_backbones_lists_every_architecture() -> None:
    text = (ROOT / "docs" / "backbones.md").read_text(encoding="utf-8")
    for title, types in (("Encoders", ENCODER_TYPES), ("Decoders", DECODER_TYPES)):
        [listed] = re.findall(rf"{title}: (.*?)\.\s", text, re.DOTALL)
        assert re.findall(r"`([\w-]+)`", listed) == sorted(types)
