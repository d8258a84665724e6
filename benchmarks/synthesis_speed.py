"""Groups per second of synthesis on one core, CPU time; the target is 10,000 in less than 2 minutes."""

from __future__ import annotations

import time
from collections import Counter

from benchmarks._figures import Figure
from radreward.criteria import RadCliQCriteria
from radreward.synthesis import synthesize

GROUPS, SECONDS = 10_000, 120.0


def main(groups: int = GROUPS) -> list[Figure]:
    """Run and print the benchmark."""
    start = time.process_time()
    systems = Counter(
        candidate.system for group in synthesize(RadCliQCriteria(), groups) for candidate in group.candidates
    )
    spent = time.process_time() - start
    print(f"{groups} groups, {systems.total()} candidates in {spent:.1f} s of one core: {groups / spent:.0f} groups/s")
    print(", ".join(f"{number} {name}" for name, number in systems.items()))
    return [Figure("synthesis on one core", groups / spent, "groups/s", at_least=GROUPS / SECONDS)]
