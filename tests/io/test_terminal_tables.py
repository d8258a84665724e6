"""Tables of a terminal: every cell is printed at every width, and every part has the names of its rows."""

import io
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radreward.io.console import PlainTextConsole, make_console
from radreward.io.terminal_tables import TerminalTable
from radreward.io.text_tables import text_frame, with_fewer_columns


def _printed(table: TerminalTable, width: int) -> str:
    file = io.StringIO()
    PlainTextConsole(file=file, width=width).print(table)
    return file.getvalue()


def _interval_table(num_columns: int, num_rows: int = 3) -> TerminalTable:
    columns = ["", *(f"criterion {column}" for column in range(num_columns))]
    rows = [
        [f"scorer-{row}", *(f"0.{row}{column:02} (0.721 to 0.861)*" for column in range(num_columns))]
        for row in range(num_rows)
    ]
    return TerminalTable("AUC", text_frame(columns, rows))


@settings(deadline=None, max_examples=60)
@given(st.integers(45, 200), st.integers(1, 14), st.integers(1, 4))
def test_table_of_any_width_prints_every_cell_beside_its_name(width: int, num_columns: int, num_rows: int) -> None:
    lines = _printed(_interval_table(num_columns, num_rows), width).splitlines()
    assert max(map(len, lines)) <= width
    assert "…" not in "".join(lines)
    for row in range(num_rows):
        named = [line for line in lines if line.startswith(f"scorer-{row} ")]
        cells = re.findall(r"0\.\d{3} \(0\.721 to 0\.861\)\*", "".join(named))
        assert cells == [f"0.{row}{column:02} (0.721 to 0.861)*" for column in range(num_columns)]


def test_table_that_fits_is_one_part_without_count() -> None:
    printed = _printed(_interval_table(2), 80)
    assert printed.splitlines()[0] == "AUC"
    assert "continued" not in printed


def test_table_is_one_part_if_its_first_column_may_wrap() -> None:
    columns = ["criterion", "τ-b", "max", "AUC", "ρ", "pairs", "counts", "MAE", "accuracy"]
    frame = text_frame(columns, [["false prediction of finding", *["0.55"] * 8]])
    printed = _printed(TerminalTable("Validation part", frame), 80)
    assert "continued" not in printed
    assert all(column in printed for column in columns)


def test_table_in_parts_counts_them_and_repeats_names() -> None:
    printed = _printed(_interval_table(6), 80)
    assert [line.strip() for line in printed.splitlines() if " of 3)" in line] == [
        "AUC (1 of 3)",
        "continued (2 of 3)",
        "continued (3 of 3)",
    ]
    assert printed.count("scorer-0 ") == 3


def test_long_text_wraps_in_its_column_and_numbers_do_not() -> None:
    reason = "ValueError: expected a number of steps above zero but got minus five"
    printed = _printed(TerminalTable("Trials", text_frame(["trial", "tau", "reason"], [["0", "0.1234", reason]])), 60)
    assert "0.1234" in printed
    words = re.sub(r"\s+", "", printed)
    assert reason.replace(" ", "") in words
    assert "…" not in printed


@pytest.mark.parametrize("width", [14, 20, 30])
def test_long_names_in_narrow_terminal_wrap_and_keep_numbers(width: int) -> None:
    name = "raters: 3, each against the mean of the others"
    printed = _printed(TerminalTable("Agreement", text_frame(["", "τ-b"], [[name, "0.785"]])), width)
    assert "0.785" in printed
    assert re.sub(r"\s", "", name) in re.sub(r"\s", "", printed.replace("0.785", ""))


def test_empty_table_prints_its_header() -> None:
    assert "value" in _printed(TerminalTable("Nothing", text_frame(["name", "value"], [])), 40)


def test_hostile_cells_and_titles_print_no_control_characters() -> None:
    frame = text_frame(["\x1b[2Jname", "n"], [["[red]a[/red]\x1b]0;x\x07", "1\r2"]])
    printed = _printed(TerminalTable("\x9b31mtitle [b]", frame), 60)
    assert "[red]a[/red]" in printed
    assert "title [b]" in printed
    assert not re.search("[\x00-\x09\x0b-\x1f\x9b]", printed)


def test_frame_with_more_columns_than_rows_is_swapped() -> None:
    frame = text_frame(["", "a", "b", "c"], [["x", 1, 2, 3], ["y", 4, 5, 6]])
    swapped = with_fewer_columns(frame)
    assert list(swapped.columns) == ["", "x", "y"]
    assert swapped.to_numpy().tolist() == [["a", "1", "4"], ["b", "2", "5"], ["c", "3", "6"]]
    assert with_fewer_columns(swapped) is swapped


def test_console_has_width_of_terminal_and_100_columns_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "163")
    assert make_console().width == 100
    monkeypatch.setattr("rich.console.Console.is_terminal", True)
    assert make_console().width == 163
