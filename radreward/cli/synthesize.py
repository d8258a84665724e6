"""`radreward synthesize`: training groups with exactly counted errors."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from radreward.cli.errors import suppress_library_warnings, user_errors, warn_overwrite
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_line


def run(
    *,
    output: Path,
    reports: Path | None = None,
    text_column: str | None = None,
    granularity: Literal["report", "statement", "plain"] = "report",
    max_findings: int | None = None,
    criteria: str = "radcliq-significance",
    groups: int | None = None,
    per_reference: int = 3,
    profile: str | None = None,
    pairing: bool = False,
    generated_column: str | None = None,
    graded: bool = False,
    seed: int = 0,
) -> int:
    """Generate training groups with exactly counted errors, from your reports or from a grammar.

    Args:
        output: Folder for groups.parquet and its data card.
        reports: File with reports to perturb; by default a grammar generates the references.
        text_column: Column of --reports with the text, if it has no usual name.
        granularity: Kind of the generated texts: whole reports; single statements, from which a model learns words
            faster; or a few findings in plain words, for a decoder that starts from random weights.
        max_findings: Largest number of findings in a plain report; 4 by default.
        criteria: Preset or YAML file of the criteria by which errors are counted.
        groups: Number of references; by default 10,000, or with --reports one per report.
        per_reference: Candidates per reference.
        profile: How many errors of each kind candidates have: `balanced`, `details`, or a YAML file with lines such as
            `omission: [0.5, 0.3, 0.2]`, the probabilities of 0, 1 and 2 errors.
        pairing: Pair as GREEN does, in equal parts: with another report, with sentences removed and shuffled, with the
            most similar report, with errors in findings, severity and location.
        generated_column: Column of --reports with a report generator's outputs: a fifth pairing.
        graded: State one finding of each reference right, partly right, and not at all, in different candidates.
        seed: Seed; equal seeds give equal files.
    """
    with suppress_library_warnings(), user_errors(constructing=True), claimed_folder(output):
        from radreward.criteria import load_criteria
        from radreward.synthesis import synthesize_files
        from radreward.synthesis.error_profiles import load_profile

        warn_overwrite(output / "groups.parquet")
        path = synthesize_files(
            output,
            load_criteria(criteria),
            groups,
            per_reference,
            seed,
            reports,
            text_column,
            granularity,
            max_findings,
            load_profile(profile) if profile else None,
            pairing,
            generated_column,
            graded,
        )
    print_line(f"Groups: {path}, with a data card beside them.")
    return 0
