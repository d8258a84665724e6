"""The Hugging Face Hub: models by name, downloaded and uploaded as JSON and safetensors only."""

from __future__ import annotations

import os
import pickle
import re
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from radreward.errors import InputError
from radreward.io.terminal import print_status

_HUB_TIMEOUT = 3.0
"""Seconds to wait for an answer."""
LOADING_ERRORS = (OSError, ValueError, ImportError, pickle.UnpicklingError)
"""Errors of `from_pretrained` that `hub_error_reason` explains."""
_MODEL_FILES = ("*.json", "*.safetensors", "README.md")
"""Files of a model on the Hub; none of them is executed."""


class HubName(NamedTuple):
    """Name of a model on the Hub."""

    repository: str
    """Owner and name."""
    revision: str | None
    """Commit, tag or branch; None for the newest."""


def parse_hub_name(name: str) -> HubName | None:
    """Return the parts of `owner/name` or `owner/name@revision`, or None if the text cannot be a name of the Hub.

    >>> parse_hub_name("Angelakeke/RaTE-NER-Deberta@v1")
    HubName(repository='Angelakeke/RaTE-NER-Deberta', revision='v1')
    >>> parse_hub_name("runs/tagger/model"), parse_hub_name("./tagger")
    (None, None)
    """
    match = re.fullmatch(r"(\w[\w.-]*/\w[\w.-]*)(?:@(\w[\w./-]*))?", name)
    return match and HubName(*match.groups())


@cache
def use_only_cache_if_hub_is_unreachable() -> None:
    """Switch Hugging Face libraries to their offline mode if the Hub does not answer; call it before any transfer.

    Otherwise they request every file of a model six times, which takes minutes without a network.
    """
    from huggingface_hub import constants, get_session

    try:
        get_session().head(constants.ENDPOINT, timeout=_HUB_TIMEOUT)
    except Exception:  # no network, a timeout, or offline mode; the type depends on the version
        constants.HF_HUB_OFFLINE = True
        print_status(f"{constants.ENDPOINT} does not answer; only models on this machine are available.")


def pretrained_options(name: str | Path, local_files_only: bool) -> dict[str, Any]:
    """Return arguments of a model's `from_pretrained`: no code, and no request if files are local.

    Weights are read from safetensors. If a model has none, its pickle file is read by torch's `weights_only`, which
    runs no code, and a line is printed.

    Args:
        name: Folder or Hub name of the model.
        local_files_only: Send no request to the Hub.
    """
    pickled = _has_only_pickled_weights(str(name), local_files_only)
    if pickled:
        print_status(f"{name}: weights are read from a pickle file with `weights_only`, because no safetensors exist.")
    return {
        "use_safetensors": not pickled,
        "weights_only": True,
        "trust_remote_code": False,
        "local_files_only": local_files_only,
        "adapter_kwargs": {"local_files_only": local_files_only},  # otherwise the Hub is searched for adapters
    }


def _has_only_pickled_weights(name: str, local_files_only: bool) -> bool:
    """Return True if a model has weights as .bin and none as safetensors; False if unknown."""
    from huggingface_hub import HfApi, constants, snapshot_download

    if Path(name).is_dir():
        files = os.listdir(name)
    else:
        try:
            if local_files_only or constants.HF_HUB_OFFLINE:
                files = os.listdir(snapshot_download(name, local_files_only=True))
            else:
                files = HfApi().list_repo_files(name)
        except (OSError, ValueError):  # loading the weights reports the reason
            return False
    kinds = {Path(file).suffix for file in files if re.match(r"(?:pytorch_)?model\b", file)}
    return ".bin" in kinds and ".safetensors" not in kinds


def hub_error_reason(error: Exception) -> str:
    """Return the reason why a model cannot be loaded from a folder or the Hub, in one line.

    >>> hub_error_reason(OSError("We couldn't connect to 'https://example.org' to load the files."))
    'it is not on this machine, and the Hub was not asked or does not answer'
    """
    from huggingface_hub import errors

    if isinstance(error, pickle.UnpicklingError):
        return "its pickle file holds more than weights, and its code is not run"
    text = " ".join(str(error).split())
    # Without these packages, transformers takes the vocabulary for one of tiktoken.
    if any(package in text for package in ("sentencepiece", "protobuf", "`tiktoken` is required")):
        return "its vocabulary needs two packages: pip install sentencepiece protobuf"
    if text.startswith("We couldn't connect to") or isinstance(error, errors.OfflineModeIsEnabled):
        return "it is not on this machine, and the Hub was not asked or does not answer"
    if isinstance(error, errors.GatedRepoError):
        return "access to it has to be requested on its page"
    if isinstance(error, errors.RevisionNotFoundError):
        return "it has no such revision"
    if isinstance(error, errors.RepositoryNotFoundError):
        return "there is none, or it is private and needs the token of an account with access (`hf auth login`)"
    return text[:300].rstrip(".")


def download_model(name: HubName, allow_download: bool) -> Path:
    """Return the folder of a model in the cache of this machine.

    Args:
        name: The model.
        allow_download: Ask the Hub, and download what the cache does not have; False sends nothing.

    Raises:
        InputError: If the model is not on this machine and cannot be downloaded.
    """
    from huggingface_hub import errors, snapshot_download

    if allow_download:
        use_only_cache_if_hub_is_unreachable()
    try:
        folder = snapshot_download(
            name.repository,
            revision=name.revision,
            allow_patterns=list(_MODEL_FILES),
            local_files_only=not allow_download,
        )
    except errors.LocalEntryNotFoundError as error:
        remedy = "the Hub does not answer" if allow_download else "allow_download=True (--allow-download) asks the Hub"
        raise InputError(
            f"{name.repository}: Expected a folder, or a model of the Hub on this machine, but there is none; {remedy}."
        ) from error
    except (OSError, ValueError) as error:
        raise InputError(f"{name.repository}: Expected a model of the Hub but {hub_error_reason(error)}.") from error
    return Path(folder)


def upload_model(folder: Path, repository: str, private: bool) -> str:
    """Upload the folder of a model to the Hub as its newest version, with the token of `hf auth login`.

    Args:
        folder: The folder.
        repository: Owner and name; created if it does not exist.
        private: Create a private repository; an existing one stays as it is.

    Returns:
        `owner/name@commit`.

    Raises:
        InputError: If the name is invalid, the folder holds another type of file, or the Hub refuses.
    """
    from huggingface_hub import HfApi

    name = parse_hub_name(repository)
    if name is None or name.revision:
        raise InputError(f"{repository}: Expected the name of a model on the Hub, owner/name.")
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not any(path.match(pattern) for pattern in _MODEL_FILES):
            raise InputError(f"{path.relative_to(folder)}: Expected JSON or safetensors only; it cannot be uploaded.")
    api = HfApi()
    use_only_cache_if_hub_is_unreachable()
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        commit = api.upload_folder(
            repo_id=repository, folder_path=folder, commit_message="Upload model", delete_patterns=list(_MODEL_FILES)
        )
    except (OSError, ValueError) as error:
        raise InputError(f"{repository}: cannot be uploaded because {hub_error_reason(error)}.") from error
    return f"{repository}@{commit.oid}"
