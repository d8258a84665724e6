"""Candidates corrected by a judge's findings, then judged and scored again: `judge-sentences --refine`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from radreward.cli.judging import ReportPairs
from radreward.extras import require_extra
from radreward.io.console import make_console, print_paths

if TYPE_CHECKING:
    from pyarrow import Schema

    from radreward.llm import ChatModel
    from radreward.systems.sentence_eval.judges import SentenceJudge
    from radreward.systems.sentence_eval.refinement import ReportRefiner


class Refinement:
    """Rows of corrected candidates, with scores before and after.

    Args:
        judge: The judge.
        model: The language model that corrects by the judge's remarks; None corrects by rules.
        max_tokens: Maximum number of tokens in an answer of the model.
        scorers: Names of metrics that score before and after.
        pairs: All pairs; metrics that depend on a corpus, such as CIDEr, are fitted to their references.
        seed: Seed of the bootstrap.

    Raises:
        InputError: If a scorer cannot be loaded, or the extra `report` is not installed.
    """

    failure = "Skipped"

    def __init__(
        self,
        judge: SentenceJudge,
        model: ChatModel | None,
        max_tokens: int,
        scorers: Sequence[str],
        pairs: ReportPairs,
        seed: int,
    ) -> None:
        require_extra("--refine", "report")
        from radreward.scorers import load
        from radreward.systems.sentence_eval.refinement import ChatRefiner, RuleRefiner
        from radreward.systems.sentence_eval.refinement_study import JUDGE_ROW

        self.judge = judge
        self.refiner: ReportRefiner = ChatRefiner(model, max_tokens) if model else RuleRefiner()
        references = [pairs.references[index] for index in pairs.valid]
        self.scorers = {name: load(name).fit_references(references) for name in scorers}
        self.seed = seed
        self.columns = {name: (f"before_{name}", f"after_{name}") for name in (JUDGE_ROW, *scorers)}
        self.scores: list[dict[str, tuple[float, float]]] = []
        self.failed: list[str] = []

    def fingerprint(self) -> dict[str, Any]:
        """Return JSON values that the rows depend on, besides the input, its columns and the judge."""
        return {"scorers": {name: scorer.fingerprint() for name, scorer in self.scorers.items()}}

    def schema(self) -> Schema:
        """Return the columns of the output."""
        import pyarrow as pa

        text = dict.fromkeys(("id", "reference", "candidate", "refined", "status", "explanation"), pa.string())
        change = pa.struct({"action": pa.string(), "sentence": pa.string(), "score": pa.float64()})
        scores = {column: pa.float64() for columns in self.columns.values() for column in columns}
        return pa.schema({**text, "corrections": pa.list_(change), **scores})

    def compute_rows(self, pairs: ReportPairs) -> list[dict[str, Any]]:
        """Return one row per pair."""
        from radreward.systems.sentence_eval.refinement_study import run_refinement_study

        results = run_refinement_study(pairs.references, pairs.candidates, self.judge, self.refiner, self.scorers)
        rows: list[dict[str, Any]] = []
        for pair_id, reference, candidate, error, result in zip(*pairs, results, strict=True):
            row: dict[str, Any] = {"id": None if pair_id is None else str(pair_id)}
            for name, value in (("reference", reference), ("candidate", candidate)):
                row[name] = value if value is None or isinstance(value, str) else str(value)
            row |= {"refined": result.refined_text, "status": error or result.status}
            row["explanation"] = result.judgement_before.explanation if result.judgement_before else ""
            row["corrections"] = [
                {"action": entry.action, "sentence": entry.sentence, "score": entry.judged_score}
                for entry in result.corrections
            ]
            for name, columns in self.columns.items():
                row |= zip(columns, result.scores.get(name, (None, None)), strict=True)
            rows.append(row)
        return rows

    def add_row(self, row: dict[str, Any], is_valid: bool) -> None:
        """Add the scores of a row to the report, if the row has both the score before and the score after."""
        pairs = {name: (row[before], row[after]) for name, (before, after) in self.columns.items()}
        self.scores.append({name: pair for name, pair in pairs.items() if None not in pair})
        if not row["refined"]:
            self.failed.append(f"{row['id']}: {row['status']}")

    def report(self, output: Path) -> None:
        """Print the changes of the scores, and write them beside the output."""
        from radreward.systems.sentence_eval import refinement_study

        changes = refinement_study.score_changes(self.scores, self.scorers, self.seed)
        tables = refinement_study.write_score_changes(changes, output.with_suffix(""))
        make_console().print(refinement_study.score_change_table(changes))
        print_paths((path.suffix[1:], path) for path in (output, *tables))
