"""Storages of studies: databases, which detect dead workers by their heartbeat, and journal files."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from radreward.errors import InputError
from radreward.extras import install_command
from radreward.io.in_place import check_database, check_file, foreign_file
from radreward.io.sqlite_files import connect_again
from radreward.tuning.optuna_warnings import allow_experimental
from radreward.tuning.retries import retry

_HEARTBEAT_INTERVAL = 10
"""Seconds between two heartbeats of a worker."""
_GRACE_PERIOD = 60
"""Seconds without a heartbeat after which a worker counts as dead."""
_SECRET_IN_QUERY = re.compile(r"([?&;][^=&;]*(?:password|passwd|pwd|secret|token)[^=&;]*=)[^&;]*", re.IGNORECASE)
_JOURNAL_PREFIX = "journal:"
_CONNECT_ARGS: dict[str, dict[str, Any]] = {  # timeouts in seconds
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
        InputError: If the storage cannot be used. The message names the URL without its password.
    """
    url = url or storage_location(None, folder)
    try:
        if url.startswith(_JOURNAL_PREFIX) or url.endswith(".journal"):
            return _open_journal(Path(url.removeprefix(_JOURNAL_PREFIX)))
        return _open_database(url)
    except (ImportError, SQLAlchemyError, StorageInternalError, RuntimeError, OSError, ValueError) as error:
        raise InputError(f"storage {redact_password(url)}: cannot be used ({_short_reason(error)}).") from error


def storage_location(url: str | None, folder: Path) -> str:
    """Return the argument of `optuna-dashboard`: the URL of a storage without its password, or the path of a log file.

    >>> storage_location(None, Path("runs/margin"))
    'sqlite:///runs/margin/study.db'
    """
    return (
        redact_password(url.removeprefix(_JOURNAL_PREFIX)) if url else f"sqlite:///{(folder / 'study.db').as_posix()}"
    )


def redact_password(url: str) -> str:
    """Return a URL without its password, which stands before the host or in the query.

    >>> redact_password("postgresql://me:secret@host/studies")
    'postgresql://me:***@host/studies'
    >>> redact_password("postgresql://host/studies?user=me&password=secret&sslmode=require")
    'postgresql://host/studies?password=***&sslmode=require&user=me'
    """
    with suppress(ArgumentError):  # a path, or not a valid URL
        url = make_url(url).render_as_string(hide_password=True)
    return _SECRET_IN_QUERY.sub(r"\1***", url)


def _open_journal(path: Path) -> JournalStorage:
    path.parent.mkdir(parents=True, exist_ok=True)
    check_file(path, (b"{",))
    lock = path.with_name(f"{path.name}.lock")
    if os.path.lexists(lock) and not (lock.is_symlink() and os.readlink(lock) == str(path)):  # Optuna's own lock
        raise foreign_file(lock, "a file of something else")
    return JournalStorage(JournalFileBackend(str(path)))


def _open_database(url: str) -> RDBStorage:
    location = make_url(url)
    backend = location.get_backend_name()
    options: dict[str, Any] = {"connect_args": _CONNECT_ARGS.get(backend, {})}
    if backend != "sqlite":
        options["pool_pre_ping"] = True
    elif location.database in (None, "", ":memory:"):
        options["poolclass"] = NullPool
    elif location.query:
        raise InputError(f"storage {url}: Expected the URL of an SQLite file without options. Remove those after `?`.")
    else:
        path = Path(str(location.database))
        check_database(path)  # not for every connection: the thread of the heartbeat may hold a lock
        creator = partial(connect_again, path, check_same_thread=False)
        # Open and close a file each time: Optuna never closes a pooled connection.
        options |= {"poolclass": NullPool, "creator": creator}
    with allow_experimental():
        return RDBStorage(
            url,
            engine_kwargs=options,
            heartbeat_interval=_HEARTBEAT_INTERVAL,
            grace_period=_GRACE_PERIOD,
            heartbeat_stale_trial_callback=retry,
        )


def _short_reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, ModuleNotFoundError) and cause.name == "psycopg":
        return f"install its driver: {install_command('postgresql')}"
    return str(getattr(cause, "orig", None) or cause).strip().split("\n")[0].rstrip(".") or type(cause).__name__
