"""Build steps: a wheel holds the experiments, and its description has no link into the repository."""

import re
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

IMAGE = re.compile(r"!\[[^\]]*\]\((?!https?:)[^)]*\)\n*")
LINK = re.compile(r"\[([^\]]*)\]\((?!https?:)([^)]*)\)")


class BuildWithExperiments(build_py):
    """Copies experiments/ into the package, unless the package is installed as editable."""

    def run(self) -> None:
        """See `build_py.run`."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "radreward" / "experiments"
            shutil.copytree("experiments", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


def description(readme: str) -> str:
    """Return the README without pictures of the repository, and with paths instead of links into it."""
    text = LINK.sub(r"\1 (`\2`)", IMAGE.sub("", readme))
    return f"{text}\nPaths such as `docs/score.md` are those of the source distribution.\n"


setup(
    cmdclass={"build_py": BuildWithExperiments},
    long_description=description(Path("README.md").read_text(encoding="utf-8")),
    long_description_content_type="text/markdown",
)
