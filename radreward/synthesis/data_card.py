"""The data card: what was made, of what, and how much of it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from radreward.criteria import Criteria
from radreward.synthesis.report_reader import ReportTexts
from radreward.types import ReportGroup


class DataCard:
    """Counts of what was made, and what it is."""

    def __init__(
        self,
        criteria: Criteria,
        seed: int,
        per_reference: int,
        source: str | None = None,
        reports: ReportTexts | None = None,
    ) -> None:
        self.criteria, self.seed, self.per_reference = criteria, seed, per_reference
        self.source, self.reports = source, reports
        self.groups = 0
        self.system_counts: Counter[str] = Counter()
        self.error_counts: Counter[str] = Counter()
        self.candidates_with_error: Counter[str] = Counter()
        self.word_counts: Counter[str] = Counter()

    def count_groups(self, groups: Iterable[ReportGroup]) -> Iterator[ReportGroup]:
        """The groups, counted on their way."""
        for group in groups:
            self.groups += 1
            self.word_counts["reference"] += len(group.reference.split())
            for candidate in group.candidates:
                self.system_counts[candidate.system or "unknown"] += 1
                self.word_counts["candidate"] += len(candidate.text.split())
                for tag, count in (candidate.errors or {}).items():
                    self.error_counts[tag] += int(count)
                    self.candidates_with_error[tag] += count > 0
            yield group

    def to_dict(self) -> dict[str, Any]:
        """The card as plain values."""
        candidates = sum(self.system_counts.values())
        return {
            "label": "SYNTHETIC: errors were made on purpose by rules; not for patient care",
            "source": self.source or "report grammar of radreward",
            "reports": self.reports and {"used": len(self.reports.texts), "empty rows": len(self.reports.empty_rows)},
            "criteria": self.criteria.name,
            "seed": self.seed,
            "groups": self.groups,
            "candidates": candidates,
            "per_reference": self.per_reference,
            "systems": dict(sorted(self.system_counts.items())),
            "mean_words": {
                "reference": round(self.word_counts["reference"] / self.groups, 1),
                "candidate": round(self.word_counts["candidate"] / candidates, 1),
            },
            "errors": {
                tag: {"count": self.error_counts[tag], "candidates": self.candidates_with_error[tag]}
                for tag in self.criteria.tags
            },
        }

    def write(self, folder: Path) -> None:
        """Write card.json and card.md."""
        values = self.to_dict()
        (folder / "card.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        lines = ["# Data card", "", f"**{values['label']}.**", ""]
        lines += [f"- {key}: {values[key]}" for key in ("source", "criteria", "seed", "groups", "candidates")]
        if self.reports:
            lines.append(f"- reports: {len(self.reports.texts)}; empty rows left out: {len(self.reports.empty_rows)}")
        lines += ["", "| criterion | errors | candidates with it |", "| --- | ---: | ---: |"]
        lines += [f"| {tag} | {row['count']} | {row['candidates']} |" for tag, row in values["errors"].items()]
        lines += ["", "| made by | candidates |", "| --- | ---: |"]
        lines += [f"| {name} | {count} |" for name, count in values["systems"].items()]
        (folder / "card.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
