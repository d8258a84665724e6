"""Base class of the conformance suites."""

from __future__ import annotations

from abc import ABC
from typing import Any


class ConformanceSuite(ABC):  # noqa: B024 - the suites have the abstract method
    """Tests that a subclass runs on the object that it defines."""

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Check that a class of tests defines the object to test; pytest skips abstract classes without a message.

        Raises:
            TypeError: If it does not. The message names the class and the missing attribute.
        """
        super().__init_subclass__(**kwargs)
        names = {name for base in cls.__mro__ for name in getattr(base, "__abstractmethods__", ())}
        for name in sorted(names):
            if cls.__name__.startswith("Test") and getattr(getattr(cls, name), "__isabstractmethod__", False):
                suite = next(base.__name__ for base in cls.__mro__ if name in vars(base))
                raise TypeError(
                    f"{cls.__name__}: Expected the attribute `{name}`, the object that {suite} tests, but it is "
                    f"missing. Define it as `{name} = ...`."
                )
