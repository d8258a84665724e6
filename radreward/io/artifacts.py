"""Model folders: JSON settings and safetensors weights, saved, loaded, checked and fingerprinted in one place.

Nothing in a model folder is ever executed. Use `radreward.io.atomic.atomic_folder` to write one.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from radreward.errors import InputError
from radreward.io.atomic import write_text_file
from radreward.io.input_files import open_stored

if TYPE_CHECKING:  # torch is imported on use, so that commands without tensors start fast
    import torch
    from torch import Tensor, nn


def read_json(path: str | Path) -> Any:
    """Return the content of a JSON file.

    Raises:
        InputError: If the file cannot be read or is not JSON.
    """
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: Expected a JSON file but it cannot be read ({error.strerror}).") from error
    except RecursionError as error:
        raise InputError(f"{path}: Expected JSON but it is nested too deeply.") from error
    except ValueError as error:
        raise InputError(f"{path}: Expected JSON but it cannot be parsed ({error}).") from error


def read_json_object(path: str | Path) -> dict[str, Any]:
    """Return the content of a JSON file that holds an object.

    Raises:
        InputError: If the file cannot be read, is not JSON, or holds another type.
    """
    value = read_json(path)
    if not isinstance(value, dict):
        raise InputError(f"{path}: Expected a JSON object but got {type(value).__name__}.")
    return value


def write_json(path: str | Path, value: Any) -> None:
    """Write a value as indented JSON; after an error, an earlier file is unchanged.

    Raises:
        ValueError: If a number is not finite.
        InputError: If the file cannot be written.
    """
    write_text_file(path, json.dumps(value, indent=2, allow_nan=False) + "\n")


def save_tensors(
    path: str | Path,
    state: Mapping[str, Tensor],
    dtype: torch.dtype | None = None,
    metadata: Mapping[str, str] | None = None,
) -> None:
    """Write tensors as safetensors.

    Args:
        path: The file to write.
        state: Tensors by name.
        dtype: Type to convert to, such as `torch.float16` for half the size; by default each keeps its own.
        metadata: Texts to store in the header.

    Raises:
        InputError: If a number is not finite, or is too large for `dtype`.
    """
    from safetensors.torch import save_file

    tensors = {name: value.detach().cpu().to(dtype or value.dtype).contiguous() for name, value in state.items()}
    _check_finite(path, tensors)
    save_file(tensors, path, None if metadata is None else dict(metadata))


def load_tensors(path: str | Path) -> dict[str, Tensor]:
    """Return the tensors of a safetensors file, on the CPU.

    Raises:
        InputError: If the file is missing or damaged, or a number is not finite.
    """
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        state = load_file(path)
    except (OSError, SafetensorError) as error:
        raise InputError(_unreadable(path, error)) from error
    _check_finite(path, state)
    return state


def load_metadata(path: str | Path) -> dict[str, str]:
    """Return the texts in the header of a safetensors file.

    Raises:
        InputError: If the file is missing or damaged.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            return dict(file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise InputError(_unreadable(path, error)) from error


def _unreadable(path: str | Path, error: Exception) -> str:
    if not Path(path).is_file():
        return f"{path}: Expected a safetensors file with weights but there is no such file."
    return f"{path}: Expected a safetensors file but it is damaged ({error}). Copy the file again."


def _check_finite(path: str | Path, state: Mapping[str, Tensor]) -> None:
    for name, value in state.items():
        # The sum is a fast test: it is finite only if all numbers are. As it can overflow, all numbers are tested then.
        if not value.sum().isfinite() and not value.isfinite().all():
            raise InputError(f"{path}: Expected {name!r} to hold finite numbers only, as {value.dtype}.")


def load_into(module: nn.Module, state: Mapping[str, Tensor], names: Collection[str] | None = None) -> None:
    """Copy tensors into the parameters and buffers of a module.

    Args:
        module: The module to change.
        state: Tensors by name.
        names: Names that `state` must have, by default all of the module's state.

    Raises:
        InputError: If a name is missing or unknown, or a shape differs. The module is then unchanged.
    """
    import torch

    own = module.state_dict()
    expected = set(own if names is None else names)
    if wrong := sorted(expected ^ set(state)):
        cause = "missing" if wrong[0] in expected else "unknown"
        raise InputError(f"Expected the weights of this model but {wrong[0]!r} is {cause}.")
    for name, value in state.items():
        if own[name].shape != value.shape:
            raise InputError(f"Expected {name!r} to have shape {tuple(own[name].shape)} but got {tuple(value.shape)}.")
    with torch.no_grad():
        for name, value in state.items():
            own[name].copy_(value)


def fingerprint(*parts: Any) -> str:
    """Return a SHA-256 that changes with any part.

    Args:
        parts: JSON scalars, bytes, tensors, arrays, paths (hashed by content), and mappings and sequences of these.

    Raises:
        TypeError: If a part is of another type.
        InputError: If a file cannot be read.

    >>> fingerprint({"a": 1, "b": 2}) == fingerprint({"b": 2, "a": 1})
    True
    >>> fingerprint("ab") == fingerprint("a", "b")
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        for header, content in _encode(part):
            digest.update(f"{header} {len(content)}\0".encode())
            digest.update(content)
    return digest.hexdigest()


def _encode(part: Any) -> Iterator[tuple[str, bytes | memoryview]]:
    """Yield kind and bytes of each value in a part; with their lengths they are unambiguous."""
    torch = sys.modules.get("torch")  # if torch is not imported, no part is a tensor
    if torch is not None and isinstance(part, torch.Tensor):
        values = part.detach().cpu().contiguous()
        yield f"{values.dtype} {tuple(values.shape)}", memoryview(values.flatten().view(torch.uint8).numpy())
    elif isinstance(part, np.ndarray):
        from torch import from_numpy

        yield from _encode(from_numpy(np.ascontiguousarray(part)))
    elif isinstance(part, Path):
        yield "file", file_fingerprint(part).encode()
    elif isinstance(part, Mapping):
        yield "mapping", str(len(part)).encode()
        for key in sorted(part):
            yield from _encode([key, part[key]])
    elif isinstance(part, list | tuple):
        yield "sequence", str(len(part)).encode()
        for value in part:
            yield from _encode(value)
    elif isinstance(part, bytes):
        yield "bytes", part
    elif part is None or isinstance(part, str | bool | int | float):
        yield "value", json.dumps(part).encode()
    else:
        raise TypeError(f"Expected a part of a fingerprint but got {type(part).__name__}.")


def file_fingerprint(path: str | Path) -> str:
    """Return the SHA-256 of a file, of standard input, or of the names and contents of all files of a folder.

    Raises:
        InputError: If a file cannot be read.
    """
    root = Path(path)
    if root.is_dir():
        files = (file for file in sorted(root.rglob("*")) if file.is_file())
        return fingerprint({file.relative_to(root).as_posix(): file for file in files})
    try:
        with open_stored(root) as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from error
