"""Where the trials of a study are kept, and who of several workers may look and take."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import DuplicatedStudyError, StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError, IntegrityError, SQLAlchemyError

from radreward.errors import InputError

CONNECT_TIMEOUT = 30.0
"""Seconds in which a storage has to answer at first."""
LOCK_TIMEOUT = 30.0
"""Seconds after which a lock belongs to a worker that is no more; one is held for a fraction of a second."""
CREATE_RETRIES = 10
"""How often a new database is tried whose tables another worker makes."""
JOURNAL_PREFIX = "journal:"


def open_storage(url: str | None, folder: Path) -> BaseStorage:
    """The storage of a URL.

    Args:
        url: Of any database that Optuna knows; `journal:PATH` or a path that ends in `.journal` for a file that many
            machines append to; a SQLite file in the folder where nothing is given.
        folder: Of the study.

    Raises:
        InputError: If it cannot be used or does not answer; names it, without its password.
    """
    url = url or f"sqlite:///{folder / 'study.db'}"
    name = redact_password(url)
    try:
        storage = with_timeout(lambda: _connect(url), CONNECT_TIMEOUT)
    except TimeoutError as error:
        raise InputError(f"storage {name}: does not answer within {CONNECT_TIMEOUT:.0f} s.") from error
    except (ImportError, SQLAlchemyError, StorageInternalError, RuntimeError, OSError, ValueError) as error:
        raise InputError(f"storage {name}: cannot be used ({_short_reason(error)}).") from error
    return storage


def redact_password(url: str) -> str:
    """A URL without its password.

    >>> shown("postgresql://me:secret@host/studies")
    'postgresql://me:***@host/studies'
    """
    try:
        return make_url(url).render_as_string(hide_password=True)
    except ArgumentError:
        return url  # no URL, so a path or a mistake


def _connect(url: str) -> BaseStorage:
    path = Path(url.removeprefix(JOURNAL_PREFIX))
    if url.startswith(JOURNAL_PREFIX) or path.suffix == ".journal":
        path.parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(str(path)))
    kind = make_url(url).get_backend_name()
    waits: dict[str, dict[str, Any]] = {  # of a connection for its database, in seconds
        "sqlite": {"timeout": 60},
        "postgresql": {"connect_timeout": 10},
        "mysql": {"connect_timeout": 10},
    }
    options = {"connect_args": waits.get(kind, {}), "pool_pre_ping": kind != "sqlite"}
    for _ in range(CREATE_RETRIES):
        try:
            return RDBStorage(url, engine_kwargs=options)
        except (SQLAlchemyError, StorageInternalError, RuntimeError) as error:
            if not _created_concurrently(error):
                raise
            time.sleep(0.5)
    return RDBStorage(url, engine_kwargs=options)


def _created_concurrently(error: Exception) -> bool:
    """Whether another worker makes the tables at this very moment."""
    causes = (error, error.__cause__, error.__context__)
    return isinstance(error, RuntimeError) or any(
        isinstance(cause, IntegrityError) or "already exists" in str(cause) for cause in causes
    )


def with_timeout(function: Callable[[], BaseStorage], seconds: float) -> BaseStorage:
    """What a function returns or raises, unless it takes longer.

    Raises:
        TimeoutError: If it does. What it waits for is left to end with the process.
    """
    found: list[BaseStorage] = []
    raised: list[BaseException] = []

    def work() -> None:
        try:
            found.append(function())
        except BaseException as error:  # handed to the thread that waits
            raised.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        raise TimeoutError
    if raised:
        raise raised[0]
    return found[0]


def _short_reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    if isinstance(cause, ModuleNotFoundError) and cause.name == "psycopg":
        return "install its driver: pip install 'radreward[postgresql]'"
    return str(getattr(cause, "orig", None) or cause).strip().split("\n")[0].rstrip(".") or type(cause).__name__


@contextmanager
def study_lock(storage: BaseStorage, study: str) -> Iterator[None]:
    """Alone among the workers of a study, on whichever machines, for a moment.

    No storage but a database knows locks, but all refuse a second study of one name: whoever makes it holds the lock.

    Args:
        storage: Of the study.
        study: Its name.
    """
    name, mine = f"{study} (lock)", uuid.uuid4().hex
    seen: tuple[str | None, float] = (None, time.monotonic())
    while True:
        try:
            optuna.create_study(storage=storage, study_name=name).set_user_attr("holder", mine)
            break
        except DuplicatedStudyError:
            holder = _lock_holder(storage, name)
            if holder != seen[0]:
                seen = (holder, time.monotonic())
            elif time.monotonic() - seen[1] > LOCK_TIMEOUT:
                _release_lock(storage, name, holder)
            time.sleep(0.05)
    try:
        yield
    finally:
        _release_lock(storage, name, mine)


def _lock_holder(storage: BaseStorage, name: str) -> str | None:
    with suppress(KeyError):  # it was released in the meantime
        holder: str | None = optuna.load_study(storage=storage, study_name=name).user_attrs.get("holder")
        return holder
    return None


def _release_lock(storage: BaseStorage, name: str, holder: str | None) -> None:
    if _lock_holder(storage, name) == holder:
        with suppress(KeyError):  # another did at this very moment
            optuna.delete_study(storage=storage, study_name=name)
