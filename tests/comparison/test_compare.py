"""Figures and differences are those of loops over runs, references and pairs; what cannot be compared is refused."""

import itertools
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from radreward.comparison import compare
from radreward.comparison.runs import FinishedRun, find_runs, read_run
from radreward.criteria import Criteria, Criterion
from radreward.errors import InputError

Make = Callable[..., Path]


def ordered_right(run: FinishedRun, column: int | None) -> dict[str, tuple[int, int]]:
    """By reference, pairs ordered right and pairs, by a loop; the total where no column is given."""
    rewards, errors = (
        values.sum(1) if column is None else values[:, column]
        for values in (run.validation.rewards, run.validation.errors)
    )
    found: dict[str, tuple[int, int]] = {}
    for i, j in itertools.combinations(range(len(rewards)), 2):
        if run.validation.group[i] == run.validation.group[j] and errors[i] != errors[j]:
            right, pairs = found.get(run.validation.group[i], (0, 0))
            better, worse = (i, j) if errors[i] < errors[j] else (j, i)
            found[run.validation.group[i]] = right + (rewards[better] > rewards[worse]), pairs + 1
    return found


@pytest.fixture
def runs(make_run: Make) -> list[FinishedRun]:
    return [
        read_run(make_run(f"{noise}-{seed}", seed=seed, noise=noise, lambda_=noise))
        for noise in (3.0, 0.3, 2.5)
        for seed in (0, 1)
    ]


def test_figures_are_means_over_runs(runs: list[FinishedRun]) -> None:
    found = compare(runs)
    for place, arm in enumerate(found.run_groups):
        for tag in ("tone", "length", "total"):
            for name in ("tau_b", "spearman", "pair_accuracy", "count_mae"):
                values = [run.agreement[tag][name] for run in runs[2 * place : 2 * place + 2]]
                assert found.metrics[tag][place][name] == pytest.approx(
                    (statistics.mean(map(float, values)), statistics.stdev(map(float, values)))  # type: ignore[arg-type]
                ), (arm.name, tag, name)


@pytest.mark.parametrize(("tag", "column"), [("tone", 0), ("length", 1), ("total", None)])
def test_differences_are_those_of_a_loop(runs: list[FinishedRun], tag: str, column: int | None) -> None:
    found = compare(runs)
    assert found.differences[tag][0] is None
    counted = [ordered_right(run, column) for run in runs]
    shares = [sum(right for right, _ in run.values()) / sum(pairs for _, pairs in run.values()) for run in counted]
    for place in (1, 2):
        difference = found.differences[tag][place]
        assert difference is not None
        assert difference.mean == pytest.approx(np.mean(shares[2 * place : 2 * place + 2]) - np.mean(shares[:2]))
        apart = found.metrics[tag][place]["pair_accuracy"].mean, found.metrics[tag][0]["pair_accuracy"].mean
        assert difference.mean == pytest.approx(apart[0] - apart[1], abs=2e-6)  # type: ignore[operator]
        assert difference.p is not None
        assert difference.p_holm is not None
        assert difference.p <= difference.p_holm


def test_a_better_scorer_is_told_from_chance(runs: list[FinishedRun]) -> None:
    found = compare(runs)
    better, alike = found.differences["total"][1:]
    assert better is not None
    assert alike is not None
    assert better.p_holm is not None
    assert better.p_holm < 0.01
    assert better.p_holm == pytest.approx(2 * (better.p or 0))
    assert alike.p is not None
    assert alike.p > 0.05
    assert alike.low is not None
    assert alike.high is not None
    assert alike.low < 0 < alike.high


def test_the_baseline_can_be_named(runs: list[FinishedRun]) -> None:
    one, other = compare(runs), compare(runs, baseline="lambda_=0.3")
    forth, back = one.differences["total"][1], other.differences["total"][0]
    assert forth is not None
    assert back is not None
    assert back.mean == pytest.approx(-(forth.mean or 0))
    assert other.differences["total"][1] is None
    with pytest.raises(InputError, match=r"Expected one of: lambda_=3.0; lambda_=0.3; lambda_=2.5"):
        compare(runs, baseline="lambda_=7")


def test_the_same_runs_give_the_same_numbers(runs: list[FinishedRun]) -> None:
    assert compare(runs) == compare(runs)


def test_the_order_of_rows_does_not_matter(make_run: Make, runs: list[FinishedRun]) -> None:
    path = make_run("other", lambda_=9.0)
    before = read_run(path)
    table = pq.read_table(path / "validation.parquet")
    pq.write_table(table.take(np.random.default_rng(0).permutation(len(table))), path / "validation.parquet")
    after = read_run(path)
    assert all(np.array_equal(a, b) for a, b in zip(before.validation, after.validation, strict=True))


def test_other_criteria_are_refused(make_run: Make) -> None:
    entries = [Criterion("tone", "Rude."), Criterion("width", "Wide.")]
    heavy = [Criterion("tone", "Rude."), Criterion("length", "Long.", weight=2)]
    one = read_run(make_run("a"))
    with pytest.raises(InputError, match=r"a/model/config\.json and .*b/model/config\.json: .*two with tone, length"):
        compare([one, read_run(make_run("b", criteria=Criteria("other", entries)))])
    with pytest.raises(InputError, match=r"same criteria but got length weighs 1 against 2"):
        compare([one, read_run(make_run("c", criteria=Criteria("two", heavy)))])


def test_other_candidates_are_refused(make_run: Make) -> None:
    one = read_run(make_run("a"))
    with pytest.raises(
        InputError, match=r"a/validation\.parquet and .*b/validation\.parquet.*48 candidates against 20"
    ):
        compare([one, read_run(make_run("b", references=5))])
    with pytest.raises(
        InputError, match=r"same validation data but got \d \w+ in candidate 1 of reference 'r0' against"
    ):
        compare([one, read_run(make_run("c", errors_seed=7))])
    path = make_run("d")
    table = pq.read_table(path / "validation.parquet")
    named = [name.replace("r3", "s3") for name in table["group"].to_pylist()]
    pq.write_table(table.set_column(0, "group", [named]), path / "validation.parquet")
    with pytest.raises(InputError, match=r"candidate 0 of reference 'r3' against candidate 0 of reference 'r4'"):
        compare([one, read_run(path)])


def test_the_runs_of_a_study(make_run: Make, tmp_path: Path) -> None:
    for number, state in enumerate(["complete", "failed", "complete", "pruned"]):
        folder = make_run(f"study/trials/{number}", noise=1.0 + number, lambda_=float(number))
        variant = "both" if number == 0 else "total"
        (folder / "trial.json").write_text(
            f'{{"state": "{state}", "params": {{"loss": "{variant}", "seed_everything": 0}}}}'
        )
    runs, left_out = find_runs([tmp_path / "study"])
    assert [run.folder.name for run in runs] == ["0", "2"]
    assert [text.removeprefix(str(tmp_path)) for text in left_out] == [
        "/study/trials/1: failed",
        "/study/trials/3: pruned",
    ]
    assert [arm.name for arm in compare(runs).run_groups] == ["both", "total"]
    assert [arm.name for arm in compare(runs, group_by="loss").run_groups] == ["both", "total"]
