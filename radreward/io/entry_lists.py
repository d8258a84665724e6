"""Mappings in Parquet: lists of objects with a name and a value, because `datasets` cannot read an Arrow map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

_FIELDS = ("name", "value")


def entry_list_type(value: pa.DataType) -> pa.DataType:
    """Return the Arrow type of a mapping from names to values of a type.

    >>> is_entry_list(entry_list_type(pa.float64())), is_entry_list(pa.list_(pa.string()))
    (True, False)
    """
    return pa.list_(pa.struct(dict(zip(_FIELDS, (pa.string(), value), strict=True))))


def is_entry_list(kind: pa.DataType) -> bool:
    """Return True for a type of `entry_list_type`."""
    return pa.types.is_list(kind) and pa.types.is_struct(kind.value_type) and set(kind.value_type.names) == set(_FIELDS)


def to_entries(value: Any) -> Any:
    """Return a mapping, which may contain mappings, as a list of entries; any other value unchanged.

    >>> to_entries({"r1": {"omission": 1.0}})
    [{'name': 'r1', 'value': [{'name': 'omission', 'value': 1.0}]}]
    """
    if not isinstance(value, Mapping):
        return value
    return [dict(zip(_FIELDS, (name, to_entries(entry)), strict=True)) for name, entry in value.items()]


def from_entries(value: Any) -> Any:
    """Return the mapping of a list of entries, or of the pairs that Arrow returns for a map; other values unchanged.

    The inverse of `to_entries`, except for an empty mapping, which stays an empty list.

    >>> from_entries([("r1", [{"name": "omission", "value": 1.0}])])
    {'r1': {'omission': 1.0}}
    """
    if not isinstance(value, list) or not value:
        return value
    if all(isinstance(entry, tuple) and len(entry) == len(_FIELDS) for entry in value):
        return {name: from_entries(entry) for name, entry in value}
    if all(isinstance(entry, Mapping) and set(entry) == set(_FIELDS) for entry in value):
        return {entry["name"]: from_entries(entry["value"]) for entry in value}
    return value
