"""Build step: a wheel holds the experiments, which lie beside the package in a clone."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithExperiments(build_py):
    """Copies experiments/ into the package, unless the package is installed as editable."""

    def run(self) -> None:
        """See `build_py.run`."""
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib) / "radreward" / "experiments"
            shutil.copytree("experiments", target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithExperiments})
