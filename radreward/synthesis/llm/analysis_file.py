"""Error analyses that a language model wrote, as target answers of SFT (GREEN, section 3.1: analyses by GPT-4)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from radreward.criteria import Criteria
from radreward.data.collators.sft import AnalysisWriter
from radreward.errors import InputError
from radreward.io.validated_rows import RowError, list_field, read_validated_rows, text_field
from radreward.prompts.generative_template import ErrorAnalysis


class AnalysisFileWriter(AnalysisWriter):
    """Analyses from the files that `radreward synthesize --llm-task analysis` writes, by reference and candidate.

    The counts of the answer are those of the data. Descriptions of errors are the stated ones, or their quotes.

    Args:
        files: One or several files written.jsonl.
        fallback: Writes the analysis of a pair that no file has; by default, such a pair is an error.

    Raises:
        InputError: If a file cannot be read or lacks a field. The message names the file, the row and the field.
    """

    def __init__(self, files: str | list[str], fallback: AnalysisWriter | None = None) -> None:
        self.files = [files] if isinstance(files, str) else list(files)
        self.fallback = fallback
        self._analyses: dict[tuple[str, str], Mapping[str, Any]] = {}
        for file in self.files:
            self._analyses.update(entry for _, entry in read_validated_rows(Path(file), _parse_row))

    def write(
        self, reference: str, candidate: str, error_counts: tuple[float, ...], criteria: Criteria, rng: Random
    ) -> ErrorAnalysis:
        """See `AnalysisWriter.write`.

        Raises:
            InputError: If no file has the pair, and there is no fallback.
        """
        row = self._analyses.get(_key(reference, candidate))
        if row is None:
            if self.fallback is None:
                raise InputError(
                    f"{', '.join(self.files)}: Expected an analysis of every pair but got none of the candidate "
                    f"{candidate[:80]!r}. Set `fallback`, or run --llm-task analysis on the same pairs."
                )
            return self.fallback.write(reference, candidate, error_counts, criteria, rng)
        texts = tuple(
            tuple(_description(error) for error in row["stated"] if error["tag"] == tag) for tag in criteria.tags
        )
        return ErrorAnalysis(error_counts, row["explanation"], texts, tuple(row["matched_findings"]))


def _key(reference: str, candidate: str) -> tuple[str, str]:
    return " ".join(reference.split()), " ".join(candidate.split())


def _description(error: Mapping[str, Any]) -> str:
    return str(error["description"] or error["candidate"] or error["reference"])


def _parse_row(values: Mapping[str, Any]) -> tuple[tuple[str, str], Mapping[str, Any]]:
    columns = ("stated", "matched_findings")
    if missing := [name for name in columns if name not in values]:
        raise RowError(f"field {missing[0]!r}: Expected a column of this name, as `--llm-task analysis` writes it")
    stated, matched = (list_field(values, name) for name in columns)
    for error in stated:
        if not isinstance(error, Mapping) or not {"tag", "reference", "candidate", "description"} <= set(error):
            raise RowError(
                f"field 'stated': Expected objects with tag, reference, candidate, description but got {error!r}"
            )
    if not all(isinstance(finding, str) for finding in matched):
        raise RowError(f"field 'matched_findings': Expected a list of texts but got {matched!r}")
    row = {"explanation": text_field(values, "explanation"), "stated": stated, "matched_findings": matched}
    return _key(text_field(values, "reference"), text_field(values, "candidate")), row
