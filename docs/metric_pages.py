"""One page per metric on the site, from the registry and the class of the metric."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from mkdocs.structure.files import File

from radreward._lazy_imports import import_object
from radreward.scorers.base import Scorer
from radreward.scorers.registry import SCORERS, NamedScorer


class Metric(NamedTuple):
    """The scorers of one class, which share a page."""

    names: list[str]
    entries: list[NamedScorer]

    @property
    def uri(self) -> str:
        """Path of the page."""
        return f"metrics/{self.names[0]}.md"

    @property
    def title(self) -> str:
        """Titles of the scorers; only the first and the last of many."""
        titles = [entry.title for entry in self.entries]
        return titles[0] if len(titles) == 1 else f"{titles[0]} to {titles[-1]}"


def metrics() -> Iterator[Metric]:
    """Yield the metrics in the order of the registry."""
    for spec in dict.fromkeys(entry.spec for entry in SCORERS.values()):
        names = [name for name, entry in SCORERS.items() if entry.spec == spec]
        yield Metric(names, [SCORERS[name] for name in names])


def on_config(config: Any) -> Any:
    """Add the pages to the navigation."""
    config.nav.insert(2, {"Metrics": [{metric.title: metric.uri} for metric in metrics()]})
    return config


def on_files(files: Any, *, config: Any) -> Any:
    """Add the pages."""
    for metric in metrics():
        files.append(File.generated(config, metric.uri, content=page(metric)))
    return files


def page(metric: Metric) -> str:
    """Return the Markdown of a page."""
    scorer, facts = import_object(metric.entries[0].spec.class_path), metric.entries[0].facts
    rows = {
        "names": ", ".join(f"`{name}`" for name in metric.names),
        "range of the total": _range(scorer),
        "direction": "higher is better" if scorer.higher_is_better else "lower is better",
        "quality": "from 0 to 1" if scorer.has_quality is True else _other_quality(scorer),
        "errors": "from 0, lower is better" if _counts_errors(scorer) else "none",
        "may be averaged": facts.mean,
        "a good score": facts.good,
        "needs": facts.needs,
        "cost": "see the table of [reinforcement learning](../reinforcement.md)",
        "licence": facts.licence,
    }
    summaries = (f"- `{name}`: {entry.summary}" for name, entry in zip(*metric, strict=True))
    lines = [f"# {metric.title}", "", *summaries]
    lines += ["", "| | |", "| --- | --- |", *(f"| {name} | {value} |" for name, value in rows.items())]
    lines += ["", f"::: {metric.entries[0].spec.class_path}", "    options:", "      members: false", ""]
    return "\n".join(lines)


def _range(scorer: Any) -> str:
    if isinstance(scorer.total_range, property) or "total_range" in inspect.getsource(scorer.__init__):
        return "depends on the settings"
    low, high = scorer.total_range
    return f"{'unbounded' if low is None else f'{low:g}'} to {'unbounded' if high is None else f'{high:g}'}"


def _counts_errors(scorer: Any) -> bool:
    """Return True for scorers that count errors by themselves, or by criteria of their class or of their model."""
    sources = (inspect.getsource(base) for base in scorer.__mro__ if issubclass(base, Scorer) and base is not Scorer)
    return (
        scorer.criteria is not None
        or scorer.has_errors is True
        or any(re.search(r"self\.criteria\b[^=\n]*=", text) for text in sources)
    )


def _other_quality(scorer: Any) -> str:
    varies = isinstance(scorer.has_quality, property) or "has_quality" in inspect.getsource(scorer.__init__)
    return "depends on the model" if varies else "none"
