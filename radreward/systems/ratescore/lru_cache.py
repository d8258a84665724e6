"""In-memory cache of values that are computed in batches, limited to the most recently used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BatchLRUCache(Generic[Value]):
    """Values by text.

    Args:
        max_cached: Maximum number of values; the least recently used are dropped first.

    Raises:
        ValueError: If `max_cached` is less than 1.

    >>> cache = BatchLRUCache[int](max_cached=2)
    >>> cache.get_or_compute(["a", "bb", "ccc"], lambda texts: {text: len(text) for text in texts})
    {'a': 1, 'bb': 2, 'ccc': 3}
    >>> list(cache)
    ['bb', 'ccc']
    """

    def __init__(self, max_cached: int) -> None:
        if max_cached < 1:
            raise ValueError(f"Expected `max_cached` to be >= 1 but got {max_cached}.")
        self.max_cached = max_cached
        self._values: OrderedDict[str, Value] = OrderedDict()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def get_or_compute(
        self, texts: Iterable[str], compute: Callable[[list[str]], Mapping[str, Value]]
    ) -> dict[str, Value]:
        """Return the values of the distinct texts; `compute` gets those that are not cached, if any."""
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
