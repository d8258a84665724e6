"""Model cards: README.md of a saved model, written from its settings alone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from textwrap import shorten
from typing import Any

from radreward.io.atomic import write_text_file
from radreward.io.model_config import DIGESTS, FORMAT, write_config
from radreward.io.text_tables import escape_markdown

MODEL_CARD = "README.md"
_SECTIONS = frozenset({"criteria", "training_info", "format", DIGESTS})
"""Fields that are not listed as settings."""
_MAX_VALUE = 200
"""Characters of a value."""
_TEMPLATE = """---
library_name: radreward
tags: [radiology, evaluation, metric]
---
# Metric for radiology reports

Saved by radreward {version} as `{config_name}`. It scores a report against a reference.

**For research only.** Scores say nothing about a patient and must not guide care. This card states what the model's
files record and nothing else; measure the agreement with radiologists on your own data (`radreward benchmark`).

```python
import radreward

scorer = radreward.load("FOLDER")  # or the name on the Hub: radreward.load("OWNER/NAME", allow_download=True)
scores = scorer.score(references, candidates)
```

## Settings

{settings}

## Criteria

{criteria}

## Data and training

{training}

## Licence

The files record no licence. Pretrained weights, named under settings, keep theirs.
"""


def write_model_settings(
    path: Path,
    config: Mapping[str, Any],
    files: Collection[str] | None = None,
    format_version: int = FORMAT,
    other_settings: Mapping[str, Any] | None = None,
) -> None:
    """Write the settings of a model folder and its model card; arguments as for `write_config`.

    The card also lists `other_settings`, which other files of the folder record.
    """
    write_config(path, config, files, format_version)
    criteria = (config.get("criteria") or {}).get("criteria", ())
    card = _TEMPLATE.format(
        version=version("radreward"),
        config_name=path.name,
        settings=_list(_leaves({**_settings(config), **(other_settings or {})})),
        criteria=_list(
            (f"{row['name']} ({row['kind']}, weight {row['weight']:g})", row["description"]) for row in criteria
        ),
        training=_list(_leaves(config.get("training_info") or {})),
    )
    write_text_file(path.with_name(MODEL_CARD), card)


def _settings(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name not in _SECTIONS}


def _leaves(value: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the path and the value of each entry of nested objects; entries of a list of objects are numbered.

    >>> own = {"class_path": "Own", "init_args": {"c": 1}}
    >>> list(_leaves({"lora": {"r": 8}, "loss": own, "of": [{"c": 2}, {"c": 3}]}))
    [('lora r', 8), ('loss', 'Own'), ('loss c', 1), ('of 1 c', 2), ('of 2 c', 3)]
    """
    for name, entry in value.items():
        label = path if name in ("class_path", "init_args") else f"{path} {name}".strip()
        if isinstance(entry, Mapping):
            yield from _leaves(entry, label)
        elif isinstance(entry, list) and any(isinstance(part, Mapping) for part in entry):
            yield from _leaves({str(number): part for number, part in enumerate(entry, 1)}, label)
        else:
            yield label, entry


def _list(rows: Iterable[tuple[str, Any]]) -> str:
    lines = [f"- {escape_markdown(name)}: {escape_markdown(shorten(str(value), _MAX_VALUE))}" for name, value in rows]
    return "\n".join(lines) or "None recorded."
