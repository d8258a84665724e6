"""Storages of trials, and a lock across the workers of a study."""

from __future__ import annotations

import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from radreward.errors import InputError
from radreward.tuning.heartbeat import HEARTBEAT_INTERVAL, HEARTBEAT_TIMEOUT

LOCK_TIMEOUT = 30.0
"""Seconds after which a lock counts as abandoned; a worker holds it for a fraction of a second."""
CREATE_RETRIES = 10
"""Attempts to open a database whose tables another worker is creating."""
JOURNAL_PREFIX = "journal:"
_CONNECT_ARGS: dict[str, dict[str, Any]] = {  # timeouts in seconds
    "sqlite": {"timeout": 60},
    "postgresql": {"connect_timeout": 10},
    "mysql": {"connect_timeout": 10},
}


def open_storage(url: str | None, folder: Path) -> BaseStorage:
    """Open the storage of a URL.

    Args:
        url: URL of any database that Optuna supports; `journal:PATH` or a path that ends in `.journal` for a log file
            that several machines can share; None for the SQLite file `study.db` in the folder.
        folder: Folder of the study.

    Raises:
        InputError: If the storage cannot be used; names the URL without its password.
    """
    url = url or storage_location(None, folder)
    try:
        return _connect(url)
    except (ImportError, SQLAlchemyError, StorageInternalError, RuntimeError, OSError, ValueError) as error:
        raise InputError(f"storage {redact_password(url)}: cannot be used ({_short_reason(error)}).") from error


def storage_location(url: str | None, folder: Path) -> str:
    """Return what `optuna-dashboard` takes: the URL of the storage, without its password, or the path of a log file.

    >>> storage_location(None, Path("runs/margin"))
    'sqlite:///runs/margin/study.db'
    """
    return redact_password(url.removeprefix(JOURNAL_PREFIX)) if url else f"sqlite:///{folder / 'study.db'}"


def redact_password(url: str) -> str:
    """Return a URL without its password.

    >>> redact_password("postgresql://me:secret@host/studies")
    'postgresql://me:***@host/studies'
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url  # a path, or not a valid URL


def _connect(url: str) -> BaseStorage:
    path = Path(url.removeprefix(JOURNAL_PREFIX))
    if url.startswith(JOURNAL_PREFIX) or path.suffix == ".journal":
        path.parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(str(path)))
    for _ in range(CREATE_RETRIES):
        try:
            return _connect_database(url)
        except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
            if not _created_concurrently(error):
                raise
            time.sleep(0.5)
    return _connect_database(url)


def _connect_database(url: str) -> RDBStorage:
    backend = make_url(url).get_backend_name()
    options: dict[str, Any] = {"connect_args": _CONNECT_ARGS.get(backend, {})}
    # A file is opened and closed each time: Optuna closes no connection that is kept for later.
    options |= {"poolclass": NullPool} if backend == "sqlite" else {"pool_pre_ping": True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # the heartbeat
        return RDBStorage(
            url, engine_kwargs=options, heartbeat_interval=HEARTBEAT_INTERVAL, grace_period=HEARTBEAT_TIMEOUT
        )


def _created_concurrently(error: Exception) -> bool:
    """Return True if another worker is creating the tables of the database right now."""
    causes = (error, error.__cause__, error.__context__)
    return isinstance(error, RuntimeError) or any(
        isinstance(cause, IntegrityError) or "already exists" in str(cause) for cause in causes
    )


def _short_reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, ModuleNotFoundError) and cause.name == "psycopg":
        return "install its driver: pip install 'radreward[postgresql]'"
    return str(getattr(cause, "orig", None) or cause).strip().split("\n")[0].rstrip(".") or type(cause).__name__


@contextmanager
def study_lock(storage: BaseStorage, study: str) -> Iterator[None]:
    """Hold a short-lived lock across all workers of a study, on any machine.

    Optuna has no lock that works on every storage, but every storage rejects a second study of the same name: the
    worker that creates the study `<name> (lock)` holds the lock.

    Args:
        storage: Storage of the study.
        study: Name of the study.
    """
    name, own_id = f"{study} (lock)", uuid.uuid4().hex
    last_seen: tuple[str | None, float] = (None, time.monotonic())
    while True:
        try:
            optuna.create_study(storage=storage, study_name=name).set_user_attr("holder", own_id)
            break
        except DuplicatedStudyError:
            holder = _lock_holder(storage, name)
            if holder != last_seen[0]:
                last_seen = (holder, time.monotonic())
            elif time.monotonic() - last_seen[1] > LOCK_TIMEOUT:
                _release_lock(storage, name, holder)
            time.sleep(0.05)
    try:
        yield
    finally:
        _release_lock(storage, name, own_id)


def _lock_holder(storage: BaseStorage, name: str) -> str | None:
    with suppress(KeyError):  # released in the meantime
        holder: str | None = optuna.load_study(storage=storage, study_name=name).user_attrs.get("holder")
        return holder
    return None


def _release_lock(storage: BaseStorage, name: str, holder: str | None) -> None:
    if _lock_holder(storage, name) == holder:
        with suppress(KeyError):  # released by another worker in the meantime
            optuna.delete_study(storage=storage, study_name=name)
