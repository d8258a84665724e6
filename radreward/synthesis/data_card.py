"""The data card of generated groups: settings, sources and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from radreward.criteria import Criteria
from radreward.io.artifacts import write_json
from radreward.io.atomic import write_text_file
from radreward.io.text_tables import escape_markdown
from radreward.synthesis.candidate_writer import WrittenCandidate
from radreward.synthesis.group_generator import WrittenGroup
from radreward.synthesis.report_reader import ReportTexts
from radreward.synthesis.tiers import severity_tiers
from radreward.types import ReportGroup


class DataCard:
    """Settings and counts of generated groups."""

    def __init__(
        self,
        criteria: Criteria,
        seed: int,
        per_reference: int,
        source: str | None = None,
        reports: ReportTexts | None = None,
    ) -> None:
        self.criteria = criteria
        self.seed = seed
        self.per_reference = per_reference
        self.source = source
        self.reports = reports
        self.groups = 0
        self.system_counts: Counter[str] = Counter()
        self.error_counts: Counter[str] = Counter()
        self.candidates_with_error: Counter[str] = Counter()
        self.word_counts: Counter[str] = Counter()
        self.tier_counts: Counter[tuple[str, str]] = Counter()
        self.limited_groups = self.groups_without_tier = 0
        self.has_tiers = False

    def count_groups(self, written: Iterable[WrittenGroup]) -> Iterator[ReportGroup]:
        """Yield groups and count them."""
        for group, candidates in written:
            self.groups += 1
            self._count_tiers(candidates)
            self.word_counts["reference"] += len(group.reference.split())
            for candidate in group.candidates:
                self.system_counts[candidate.system or "unknown"] += 1
                self.word_counts["candidate"] += len(candidate.text.split())
                for tag, count in (candidate.errors or {}).items():
                    self.error_counts[tag] += int(count)
                    self.candidates_with_error[tag] += count > 0
            yield group

    def _count_tiers(self, candidates: Sequence[WrittenCandidate]) -> None:
        self.tier_counts.update((entry.tier, entry.outcome) for entry in candidates)
        self.tier_counts.update((entry.tier, "limited") for entry in candidates if entry.is_limited)
        self.limited_groups += any(entry.is_limited for entry in candidates)
        reached = {entry.reached_tier for entry in candidates}
        self.has_tiers |= bool(reached - {None})
        if self.has_tiers:
            self.groups_without_tier += not {tier.name for tier in severity_tiers(self.criteria)} <= reached

    def to_dict(self) -> dict[str, Any]:
        """Return the card as plain values."""
        candidates = self.system_counts.total()
        return {
            "label": "SYNTHETIC: errors were injected by rules; not for patient care",
            "source": self.source or "report grammar of radreward",
            "reports": self.reports and {"used": len(self.reports.texts), "empty rows": len(self.reports.empty_rows)},
            "criteria": self.criteria.name,
            "seed": self.seed,
            "groups": self.groups,
            "candidates": candidates,
            "per_reference": self.per_reference,
            "tiers": self._tiers(),
            "groups of limited references": self.limited_groups,
            "groups without a candidate in every tier": self.groups_without_tier if self.has_tiers else None,
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

    def _tiers(self) -> dict[str, dict[str, Any]]:
        """Return counts by requested tier: candidates in it and outside of it, and those of limited references."""
        tiers: dict[str, dict[str, Any]] = {}
        for tier in sorted({name for name, _ in self.tier_counts}):
            counts = {kind: self.tier_counts[tier, kind] for kind in ("in tier", "outside", "limited")}
            share = counts["in tier"] / (counts["in tier"] + counts["outside"])
            tiers[tier] = {**counts, "share in tier": round(share, 4)}
        return tiers

    def write(self, folder: Path) -> None:
        """Write card.json and card.md."""
        card = self.to_dict()
        write_json(folder / "card.json", card)
        lines = ["# Data card", "", f"**{card['label']}.**", ""]
        lines += [
            f"- {key}: {escape_markdown(str(card[key]))}"
            for key in ("source", "criteria", "seed", "groups", "candidates")
        ]
        if self.reports:
            lines.append(f"- reports: {len(self.reports.texts)}; skipped empty rows: {len(self.reports.empty_rows)}")
        lines += [f"- {line}" for line in tier_notes(card)]
        errors = [(tag, row["count"], row["candidates"]) for tag, row in card["errors"].items()]
        tiers = [(name, *row.values()) for name, row in card["tiers"].items()]
        systems = [(escape_markdown(name), count) for name, count in card["systems"].items()]
        lines += _table("criterion | errors | candidates with it", errors)
        lines += _table("requested tier | candidates in it | outside | of limited references | share in it", tiers)
        lines += _table("system | candidates", systems)
        write_text_file(folder / "card.md", "\n".join(lines) + "\n")


def tier_notes(card: Mapping[str, Any]) -> list[str]:
    """Return a line about the groups of a card that cannot have, or do not have, a candidate in every tier."""
    lacking, groups = card["groups without a candidate in every tier"], card["groups"]
    if lacking is None:
        return []
    limited = card["groups of limited references"] / groups
    hint = " `--candidates full-tiers` leaves them out." if limited < 1 else ""
    return [
        f"{limited:.0%} of the references are too short for every tier, or not completely parsed; "
        f"{lacking / groups:.0%} of the groups lack a tier.{hint}"
    ]


def _table(heading: str, rows: Iterable[tuple[object, ...]]) -> list[str]:
    """Return the lines of a Markdown table; all columns except the first are numbers."""
    rule = "| --- |" + " ---: |" * heading.count("|")
    return ["", f"| {heading} |", rule, *(f"| {' | '.join(map(str, row))} |" for row in rows)]
