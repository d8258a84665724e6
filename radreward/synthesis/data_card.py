"""The data card: what was made, of what, and how much of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from radreward.criteria import Criteria
from radreward.synthesis.report_reader import Reports
from radreward.types import ReportGroup


class Card:
    """Counts of what was made, and what it is."""

    def __init__(
        self,
        criteria: Criteria,
        seed: int,
        per_reference: int,
        source: str | None = None,
        reports: Reports | None = None,
    ) -> None:
        self.criteria, self.seed, self.per_reference = criteria, seed, per_reference
        self.source, self.reports = source, reports
        self.groups = 0
        self.systems: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()
        self.affected: Counter[str] = Counter()
        self.words: Counter[str] = Counter()

    def counted(self, groups: Iterable[ReportGroup]) -> Iterator[ReportGroup]:
        """The groups, counted on their way."""
        for group in groups:
            self.groups += 1
            self.words["reference"] += len(group.reference.split())
            for candidate in group.candidates:
                self.systems[candidate.system or "unknown"] += 1
                self.words["candidate"] += len(candidate.text.split())
                for tag, count in (candidate.errors or {}).items():
                    self.errors[tag] += int(count)
                    self.affected[tag] += count > 0
            yield group

    def values(self) -> dict[str, Any]:
        """The card as plain values."""
        candidates = sum(self.systems.values())
        return {
            "label": "SYNTHETIC: errors were made on purpose by rules; not for patient care",
            "source": self.source or "report grammar of radreward",
            "reports": self.reports and {"used": len(self.reports.texts), "empty rows": len(self.reports.empty)},
            "criteria": self.criteria.name,
            "seed": self.seed,
            "groups": self.groups,
            "candidates": candidates,
            "per_reference": self.per_reference,
            "systems": dict(sorted(self.systems.items())),
            "mean_words": {
                "reference": round(self.words["reference"] / self.groups, 1),
                "candidate": round(self.words["candidate"] / candidates, 1),
            },
            "errors": {
                tag: {"count": self.errors[tag], "candidates": self.affected[tag]} for tag in self.criteria.tags
            },
        }

    def write(self, folder: Path) -> None:
        """Write card.json and card.md."""
        values = self.values()
        (folder / "card.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        lines = ["# Data card", "", f"**{values['label']}.**", ""]
        lines += [f"- {key}: {values[key]}" for key in ("source", "criteria", "seed", "groups", "candidates")]
        if self.reports:
            lines.append(f"- reports: {len(self.reports.texts)}; empty rows left out: {len(self.reports.empty)}")
        lines += ["", "| criterion | errors | candidates with it |", "| --- | ---: | ---: |"]
        lines += [f"| {tag} | {row['count']} | {row['candidates']} |" for tag, row in values["errors"].items()]
        lines += ["", "| made by | candidates |", "| --- | ---: |"]
        lines += [f"| {name} | {count} |" for name, count in values["systems"].items()]
        (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
