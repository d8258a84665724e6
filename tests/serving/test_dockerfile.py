"""The Dockerfile, by its instructions only: tests have no Docker."""

import json
import re
import tomllib
from pathlib import Path

from radreward.cli.parser import parse_options

ROOT = Path(__file__).resolve().parents[2]
INSTRUCTIONS = [
    (line.partition(" ")[0], line.partition(" ")[2])
    for line in (ROOT / "Dockerfile").read_text().splitlines()
    if line and not line.startswith("#")
]


def test_copied_files_exist_and_are_in_the_context() -> None:
    context = (ROOT / ".dockerignore").read_text().splitlines()
    for sources in (text.split()[:-1] for name, text in INSTRUCTIONS if name == "COPY"):
        for source in sources:
            assert (ROOT / source).exists()
            assert f"!{source}" in context


def test_command_is_one_of_the_command_line_and_its_extras_exist() -> None:
    values = dict(INSTRUCTIONS)
    program, command, *arguments = json.loads(values["CMD"])
    options = parse_options(command, arguments)
    assert (program, str(options.port)) == ("radreward", values["EXPOSE"])
    [extras] = re.findall(r'"\.\[(.*)\]"', (ROOT / "Dockerfile").read_text())
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert set(extras.split(",")) <= set(extra)
    assert values["USER"] != "root"
