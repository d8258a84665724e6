"""`radreward synthesize`: training groups with exactly counted errors."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from radreward.cli.errors import user_errors, warn_overwrite
from radreward.cli.inputs import check_minimum, find_classes_here
from radreward.cli.llm_writing import LLMWriting
from radreward.errors import InputError
from radreward.io.outputs import claimed_folder
from radreward.io.terminal import print_line

if TYPE_CHECKING:
    from radreward.synthesis.candidate_writer import CandidateWriter


def run(
    *,
    output: Path,
    reports: Path | None = None,
    text_column: str | None = None,
    granularity: Literal["report", "statement", "plain"] = "report",
    max_findings: int | None = None,
    criteria: str = "radcliq-significance",
    groups: int | None = None,
    per_reference: int | None = None,
    candidates: str = "tiers",
    generated_column: str | None = None,
    writing: LLMWriting,
    seed: int = 0,
) -> int:
    """Generate training groups with exactly counted errors, by rules or with a language model.

    Args:
        output: Folder for groups.parquet and its data card, or for the files of --llm-task.
        reports: File with reports (analysis and reasoning: with pairs); by default a grammar generates the references.
        text_column: Column of --reports with the text, if it has no usual name.
        granularity: Kind of the generated texts: `report`, whole reports; `statement`, single statements, from which a
            model learns words faster; `plain`, a few findings in plain words, for a decoder with random weights.
        max_findings: Maximum number of findings in a plain report; 4 by default.
        criteria: Preset (see `radreward list`) or YAML file of the criteria.
        groups: Number of references; by default 10,000, or with --reports one per report.
        per_reference: Candidates per reference; by default 3, or 1 with --llm-task.
        candidates: Strategy that makes the candidates. `tiers`: tiers of error severity in turn; `full-tiers`: only if
            there is one of every tier. `pairings`: those of GREEN, in equal parts (another report; sentences removed
            and shuffled; the most similar report; errors in findings, severity and location). `graded`: one finding
            right, partly right, missing, and replaced by another. `contrast`: a correct report in other words, and
            copies with an error. `balanced`, `details`: error profiles. A YAML file with lines such as
            `omission: [0.5, 0.3, 0.2]`, the probabilities of 0, 1 and 2 errors, or the class_path of a CandidateWriter.
        generated_column: Column of --reports with the outputs of a report generator, a fifth pairing.
        writing: Data that a language model writes.
        seed: Seed of all sampling; equal seeds give equal results.
    """
    with claimed_folder(output):
        check_minimum(1, groups=groups, per_reference=per_reference)
        if writing.llm_task:
            _check_no_rules(
                {
                    "--candidates": candidates != "tiers",
                    "--generated-column": generated_column,
                    "--max-findings": max_findings,
                    "--granularity": granularity != "report",
                }
            )
            return writing.write(output, reports, text_column, criteria, groups, per_reference or 1, seed)
        from radreward.criteria import load_criteria
        from radreward.synthesis import synthesize_files

        writer = _load_writer(candidates, generated_column, reports)
        warn_overwrite(output / "groups.parquet")
        path = synthesize_files(
            output,
            load_criteria(criteria),
            groups,
            per_reference or 3,
            seed=seed,
            reports=reports,
            text_column=text_column,
            granularity=granularity,
            max_findings=max_findings,
            candidates=writer,
        )
    _print_written(path, granularity)
    return 0


def _print_written(path: Path, granularity: str) -> None:
    from radreward.io.artifacts import read_json_object
    from radreward.synthesis.data_card import tier_notes

    notes = tier_notes(read_json_object(path.with_name("card.json")))
    for note in notes if granularity == "report" else ():  # shorter texts have too few findings for all tiers
        print_line(note)
    print_line(f"Groups: {path}, with a data card beside them.")


def _check_no_rules(options: Mapping[str, object]) -> None:
    if given := [name for name, value in options.items() if value not in (None, False)]:
        raise InputError(f"--llm-task: Expected no option of candidates written by rules but got {given[0]}. Omit it.")


def _load_writer(candidates: str, generated_column: str | None, reports: Path | None) -> CandidateWriter:
    from radreward.synthesis.candidate_strategies import load_candidate_writer
    from radreward.synthesis.green_pairings import GreenPairingWriter

    if not generated_column:
        find_classes_here()
        with user_errors(constructing=True):
            return load_candidate_writer(candidates)
    if candidates != "pairings" or reports is None:
        raise InputError("--generated-column: Expected --candidates pairings and --reports with this column.")
    return GreenPairingWriter(generated_column)
