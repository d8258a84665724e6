"""In-memory cache of values that are computed in batches. Only the most recently used values are kept."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BatchLRUCache(Generic[Value]):
    """A cache of values by text.

    Args:
        max_cached: Maximum number of values. The least recently used are dropped first.

    Raises:
        ValueError: If `max_cached` is less than 1.

    >>> cache = BatchLRUCache[int](max_cached=2)
    >>> cache.get_or_compute(["a", "bb", "ccc"], lambda texts: {text: len(text) for text in texts})
    {'a': 1, 'bb': 2, 'ccc': 3}
    >>> cache.get_or_compute(["a", "bb"], lambda texts: dict.fromkeys(texts, 0))  # "a" was dropped
    {'bb': 2, 'a': 0}
    """

    def __init__(self, max_cached: int) -> None:
        if max_cached < 1:
            raise ValueError(f"Expected `max_cached` to be >= 1 but got {max_cached}.")
        self.max_cached = max_cached
        self._values: OrderedDict[str, Value] = OrderedDict()

    def get_or_compute(
        self, texts: Iterable[str], compute: Callable[[list[str]], Mapping[str, Value]]
    ) -> dict[str, Value]:
        """Return the values of the distinct texts. `compute` is called with the texts that are not cached, if any."""
        distinct = list(dict.fromkeys(texts))
        missing = [text for text in distinct if text not in self._values]
        values = {text: self._values[text] for text in distinct if text in self._values}
        for text in values:
            self._values.move_to_end(text)
        if missing:
            computed = compute(missing)
            values |= computed
            self._values |= computed
        while len(self._values) > self.max_cached:
            self._values.popitem(last=False)
        return values
