"""Metrics and differences equal loops over runs, references and pairs; runs that differ in their data are rejected."""

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from radreward.criteria import Criteria, Criterion
from radreward.errors import InputError
from radreward.tuning.comparison import compare
from radreward.tuning.comparison_tables import difference_table
from radreward.tuning.runs import FinishedRun, find_runs, read_run

MakeRun = Callable[..., Path]


def pair_counts(run: FinishedRun, column: int | None) -> dict[str, tuple[int, int]]:
    """Return concordant and comparable pairs per reference by a loop; of the total if no column is given."""
    rewards, errors = (
        values.sum(1) if column is None else values[:, column]
        for values in (run.validation.rewards, run.validation.errors)
    )
    counts: dict[str, tuple[int, int]] = {}
    for i, j in itertools.combinations(range(len(rewards)), 2):
        if run.validation.group[i] == run.validation.group[j] and errors[i] != errors[j]:
            concordant, comparable = counts.get(run.validation.group[i], (0, 0))
            better, worse = (i, j) if errors[i] < errors[j] else (j, i)
            counts[run.validation.group[i]] = concordant + (rewards[better] > rewards[worse]), comparable + 1
    return counts


@pytest.fixture
def runs(make_run: MakeRun) -> list[FinishedRun]:
    return [
        read_run(make_run(f"{noise}-{seed}", seed=seed, noise=noise, lambda_=noise))
        for noise in (3.0, 0.3, 2.5)
        for seed in (0, 1)
    ]


def test_compare_metrics_are_means_over_runs(runs: list[FinishedRun]) -> None:
    comparison = compare(runs)
    for index, group in enumerate(comparison.run_groups):
        for tag in ("tone", "length", "total"):
            for name in ("tau_b", "spearman", "pair_accuracy", "count_mae"):
                values = [run.agreement[tag][name] for run in runs[2 * index : 2 * index + 2]]
                assert comparison.metrics[tag][index][name] == pytest.approx(
                    (statistics.mean(map(float, values)), statistics.stdev(map(float, values)))  # type: ignore[arg-type]
                ), (group.name, tag, name)


@pytest.mark.parametrize(("tag", "column"), [("tone", 0), ("length", 1), ("total", None)])
def test_compare_differences_equal_a_loop(runs: list[FinishedRun], tag: str, column: int | None) -> None:
    comparison = compare(runs)
    assert comparison.differences[tag][0] is None
    counts = [pair_counts(run, column).values() for run in runs]
    shares = [sum(concordant for concordant, _ in run) / sum(comparable for _, comparable in run) for run in counts]
    for index in (1, 2):
        difference = comparison.differences[tag][index]
        assert difference is not None
        assert difference.mean == pytest.approx(np.mean(shares[2 * index : 2 * index + 2]) - np.mean(shares[:2]))
        accuracies = [comparison.metrics[tag][i]["pair_accuracy"].mean for i in (index, 0)]
        assert difference.mean == pytest.approx(accuracies[0] - accuracies[1], abs=2e-6)  # type: ignore[operator]
        assert difference.p is not None
        assert difference.p_holm is not None
        assert difference.p <= difference.p_holm


def test_compare_better_scorer_is_significant_and_equal_one_is_not(runs: list[FinishedRun]) -> None:
    better, equal = compare(runs).differences["total"][1:]
    assert better is not None
    assert equal is not None
    assert better.p_holm is not None
    assert better.p_holm < 0.01
    assert better.p_holm == pytest.approx(2 * (better.p or 0))
    assert equal.p is not None
    assert equal.p > 0.05
    assert equal.low is not None
    assert equal.high is not None
    assert equal.low < 0 < equal.high


def test_compare_named_baseline_negates_the_difference(runs: list[FinishedRun]) -> None:
    default, named = compare(runs), compare(runs, baseline="lambda_=0.3")
    difference, negated = default.differences["total"][1], named.differences["total"][0]
    assert difference is not None
    assert negated is not None
    assert negated.mean == pytest.approx(-(difference.mean or 0))
    assert named.differences["total"][1] is None
    with pytest.raises(InputError, match=r"Expected one of: lambda_=3.0; lambda_=0.3; lambda_=2.5"):
        compare(runs, baseline="lambda_=7")


def test_criterion_with_few_references_has_no_difference(make_run: MakeRun) -> None:
    runs = []
    for noise in (3.0, 0.3):
        folder = make_run(f"{noise}", noise=noise, lambda_=noise)
        path = folder / "validation.parquet"
        table = pq.read_table(path)
        errors = [1.0 if group == "r0" and candidate == 0 else 0.0 for group, candidate in zip(
            table["group"].to_pylist(), table["candidate"].to_pylist(), strict=True
        )]  # fmt: skip
        index = table.column_names.index("errors/tone")
        pq.write_table(table.set_column(index, "errors/tone", pa.array(errors)), path)
        runs.append(read_run(folder))
    comparison = compare(runs)
    assert comparison.differences["tone"][1] == (1, None, None, None, None, None)
    length, total = (comparison.differences[tag][1] for tag in ("length", "total"))
    assert length is not None
    assert total is not None
    assert (length.references, total.references) == (12, 12)
    assert length.p_holm == length.p  # the other criterion is no test
    row = difference_table(comparison, "tone").frame.iloc[0].tolist()
    assert row[1:] == ["1", *["–"] * 4]


def test_compare_is_deterministic(runs: list[FinishedRun]) -> None:
    first, second = compare(runs), compare(runs)
    assert (first.metrics, first.differences) == (second.metrics, second.differences)


def test_read_run_order_of_rows_has_no_effect(make_run: MakeRun, runs: list[FinishedRun]) -> None:
    path = make_run("other", lambda_=9.0)
    before = read_run(path)
    table = pq.read_table(path / "validation.parquet")
    pq.write_table(table.take(np.random.default_rng(0).permutation(len(table))), path / "validation.parquet")
    after = read_run(path)
    assert all(np.array_equal(a, b) for a, b in zip(before.validation, after.validation, strict=True))


def test_compare_different_criteria_are_rejected(make_run: MakeRun) -> None:
    entries = [Criterion("tone", "Rude."), Criterion("width", "Wide.")]
    heavy = [Criterion("tone", "Rude."), Criterion("length", "Long.", weight=2)]
    first = read_run(make_run("a"))
    with pytest.raises(InputError, match=r"a/model/config\.json and .*b/model/config\.json: .*two with tone, length"):
        compare([first, read_run(make_run("b", criteria=Criteria("other", entries)))])
    with pytest.raises(InputError, match=r"same criteria but got weight 1 of length against 2"):
        compare([first, read_run(make_run("c", criteria=Criteria("two", heavy)))])


def test_compare_different_candidates_are_rejected(make_run: MakeRun) -> None:
    first = read_run(make_run("a"))
    with pytest.raises(
        InputError, match=r"a/validation\.parquet and .*b/validation\.parquet.*48 candidates against 20"
    ):
        compare([first, read_run(make_run("b", references=5))])
    with pytest.raises(
        InputError, match=r"same validation data but got \d \w+ in candidate 1 of reference 'r0' against"
    ):
        compare([first, read_run(make_run("c", errors_seed=7))])
    path = make_run("d")
    table = pq.read_table(path / "validation.parquet")
    renamed = [name.replace("r3", "s3") for name in table["group"].to_pylist()]
    pq.write_table(table.set_column(0, "group", [renamed]), path / "validation.parquet")
    with pytest.raises(InputError, match=r"candidate 0 of reference 'r3' against candidate 0 of reference 'r4'"):
        compare([first, read_run(path)])


def test_find_runs_trials_of_a_study_that_have_not_started_are_counted(make_run: MakeRun, tmp_path: Path) -> None:
    for number, total in enumerate([2, 6]):  # the second start asked for more trials
        folder = make_run(f"study/trials/{number}", seed=number)
        (folder / "trial.json").write_text(f'{{"state": "complete", "params": {{}}, "trials": {total}}}')
    (tmp_path / "study" / "trials" / "2").mkdir()
    assert [text.removeprefix(str(tmp_path)) for text in find_runs([tmp_path / "study"])[1]] == [
        "/study/trials/2: not finished",
        "/study: 4 of 6 trials, of which 3 have not started; 2 are finished",
    ]


def test_find_runs_study_returns_finished_trials_and_skips_others(make_run: MakeRun, tmp_path: Path) -> None:
    for number, state in enumerate(["complete", "failed", "complete", "pruned"]):
        folder = make_run(f"study/trials/{number}", noise=1.0 + number, lambda_=float(number))
        variant = "both" if number == 0 else "total"
        (folder / "trial.json").write_text(
            f'{{"state": "{state}", "params": {{"loss": "{variant}", "seed_everything": 0}}}}'
        )
    runs, skipped = find_runs([tmp_path / "study"])
    assert [run.folder.name for run in runs] == ["0", "2"]
    assert [text.removeprefix(str(tmp_path)) for text in skipped] == [
        "/study/trials/1: failed",
        "/study/trials/3: pruned",
        "/study: 2 of 4 trials; 2 are finished",
    ]
    assert [group.name for group in compare(runs).run_groups] == ["both", "total"]
    assert [group.name for group in compare(runs, group_by="loss").run_groups] == ["both", "total"]
