"""Optional packages by the extra of this package that installs them, and the message for a missing one."""

from __future__ import annotations

from importlib.util import find_spec

from radreward.errors import InputError

EXTRAS = {
    "report": ("matplotlib", "pandas", "scipy", "sklearn", "threadpoolctl", "torchmetrics"),
    "train": ("datasets", "lightning", "optuna", "peft", "ruamel", "sqlalchemy", "tensorboard"),
    "serve": ("fastapi", "pydantic", "pydantic_core", "starlette", "uvicorn"),
    "lexical": ("nltk", "rouge_score", "sacrebleu"),
    "radgraph": ("appdirs", "radgraph"),
    "llm": ("openai",),
    "distributed": ("ray",),
    "quantization": ("bitsandbytes",),
    "postgresql": ("psycopg",),
    "vllm": ("vllm",),
    "kernels": ("liger_kernel",),
    "testing": ("hypothesis",),
}
"""Importable names by extra. Names that are in no extra come with the core."""
_INCLUDED = {"train": ("report",), "testing": ("report",)}
"""Extras that an extra installs too."""
_SEPARATE = {"vllm": " in a separate environment, because it requires the torch it was built for"}


def extra_of(package: str) -> str | None:
    """Return the extra that installs a package, by its importable name; None if no extra does.

    >>> extra_of("lightning"), extra_of("torch")
    ('train', None)
    """
    return next((extra for extra, packages in EXTRAS.items() if package.split(".")[0] in packages), None)


def install_command(extra: str) -> str:
    """Return the command that installs an extra.

    >>> install_command("train")
    "pip install 'radreward[train]'"
    """
    return f"pip install 'radreward[{extra}]'{_SEPARATE.get(extra, '')}"


def install_command_of_package(package: str) -> str:
    """Return the command that installs a package: that of its extra, if it has one.

    >>> install_command_of_package("nltk"), install_command_of_package("spacy")
    ("pip install 'radreward[lexical]'", 'pip install spacy')
    """
    extra = extra_of(package)
    return install_command(extra) if extra else f"pip install {package}"


def packages_of(extra: str) -> tuple[str, ...]:
    """Return the importable names that an extra installs, those of the extras that it includes too.

    >>> {"lightning", "scipy"} <= set(packages_of("train"))
    True
    """
    return EXTRAS[extra] + tuple(name for included in _INCLUDED.get(extra, ()) for name in packages_of(included))


def missing_package(user: str, package: str) -> InputError:
    """Return the error of a class, function or command that needs a package.

    >>> print(missing_package("BLEU-4", "sacrebleu"))
    BLEU-4 needs `sacrebleu`, which is not installed: pip install 'radreward[lexical]'.
    """
    return InputError(
        f"{user} needs `{package.split('.')[0]}`, which is not installed: {install_command_of_package(package)}."
    )


def is_installed(package: str) -> bool:
    """Return True if a package is installed, by its importable name; it is not imported."""
    return find_spec(package) is not None


def require_packages(user: str, *packages: str) -> None:
    """Check that packages are installed, without importing them.

    Raises:
        InputError: If one is missing. The message names it and the command that installs it.
    """
    for package in packages:
        if not is_installed(package):
            raise missing_package(user, package)


def require_extra(user: str, extra: str) -> None:
    """Check that all packages of an extra are installed; see `require_packages`."""
    require_packages(user, *packages_of(extra))
