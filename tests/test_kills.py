"""The soak of random kills, in small."""

from soak.kills import QUICK, run


def test_killed_and_continued_commands_write_equal_files() -> None:
    outcomes = list(run(0.0))
    assert [outcome.name for outcome in outcomes] == [f"kills of {name}" for name in QUICK]
    assert all(outcome.survived == outcome.tried == 1 for outcome in outcomes), outcomes
