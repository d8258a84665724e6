"""Comparison tables: complete, escaped for their format, and within the width of the terminal."""

import csv
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from radreward.cli import main
from radreward.tuning.comparison import Comparison, compare
from radreward.tuning.comparison_tables import write_comparison
from radreward.tuning.runs import read_run

MakeRun = Callable[..., Path]
SPECIAL = "50%_&{x}^~\\$#|[1]*<y>"


@pytest.fixture
def comparison(make_run: MakeRun) -> Comparison:
    return compare(
        [read_run(make_run(f"{lam}-{seed}", seed, 1.0, lambda_=lam)) for lam in (1.0, SPECIAL) for seed in (0, 1)]
    )


def test_csv_has_every_number(comparison: Comparison, tmp_path: Path) -> None:
    with write_comparison(comparison, tmp_path / "new" / "out").csv.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    names = [group.name for group in comparison.run_groups]
    assert [(row["criterion"], row["run_group"]) for row in rows] == [
        (tag, name) for tag in ("tone", "length", "total") for name in names
    ]
    for row in rows:
        index = names.index(row["run_group"])
        expected = comparison.metrics[row["criterion"]][index]["tau_b"]
        assert (float(row["tau_b_mean"]), float(row["tau_b_std"])) == expected
        difference = comparison.differences[row["criterion"]][index]
        assert row["difference_p_holm"] == ("" if difference is None else str(difference.p_holm))
        assert len(row["folders"].split()) == int(row["runs"]) == 2


def test_markdown_tables_are_complete_and_escaped(comparison: Comparison, tmp_path: Path) -> None:
    text = write_comparison(comparison, tmp_path).markdown.read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    cells = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
    assert cells == {7}
    assert "$#\\|\\[1\\]\\*\\<y\\>" in text
    assert text.index("## Total") < text.index("## Tone")
    assert all(str(run.folder) in text for group in comparison.run_groups for run in group.runs)


def test_latex_tables_are_complete_and_escaped(comparison: Comparison, tmp_path: Path) -> None:
    text = write_comparison(comparison, tmp_path).latex.read_text(encoding="utf-8")
    assert r"lambda\_=50\%\_\&\{x\}\textasciicircum{}\textasciitilde{}\textbackslash{}\$\#\textbar{}{[}1]*" in text
    for table in re.findall(r"\\begin\{tabular\}\{l(r+)\}(.*?)\\end\{tabular\}", text, re.DOTALL):
        rows = [line for line in table[1].splitlines() if line.endswith(r"\\")]
        assert {len(re.findall(r"(?<!\\)&", row)) for row in rows} == {len(table[0])}
    body = text.split("\n", 1)[1]  # after the comment
    assert not re.search(r"(?<!\\)[%#~]", body)
    assert body.count("{") == body.count("}")


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
def test_latex_compiles(comparison: Comparison, tmp_path: Path) -> None:
    write_comparison(comparison, tmp_path)
    (tmp_path / "page.tex").write_text(
        "\\documentclass{article}\\usepackage{booktabs}\\begin{document}\\input{comparison}\\end{document}"
    )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "page.tex"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stdout[-2000:]


def test_compare_command_tables_fit_100_columns(
    make_run: MakeRun, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folders = [
        str(make_run(f"{lam}-{seed}", seed, 1.0, lambda_=lam, a_setting_with_a_long_name=f"{'long' * 12}{lam}"))
        for lam in (1.0, 2.0)
        for seed in (0, 1)
    ]
    assert main(["compare", *folders, "--per-criterion", "--output", str(tmp_path / "out")]) == 0
    lines = capsys.readouterr().out.splitlines()
    tables = [line for line in lines if str(tmp_path) not in line]
    assert max(map(len, tables)) <= 100
    assert sum(line.startswith("Tone") for line in lines) == 2
    assert sum(str(tmp_path / "out" / "comparison.") in line for line in lines) == 3


def test_compare_command_imports_no_training_code(make_run: MakeRun) -> None:
    code = "import sys; from radreward.cli import main; code = main(['compare', sys.argv[1]]); print(*sys.modules)"
    command = [sys.executable, "-c", f"{code}; sys.exit(code)", str(make_run("a"))]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    imported = process.stdout.splitlines()[-1].split()
    assert "radreward.tuning.comparison" in imported
    assert not {"torch", "lightning", "transformers", "scipy"} & set(imported)


@pytest.mark.parametrize("arguments", [["runs/none"], [], ["--group-by", "x"]])
def test_compare_command_invalid_arguments_exit_with_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", *arguments]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_compare_command_unwritable_folder_is_named(
    make_run: MakeRun, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = make_run("a")
    (tmp_path / "file").write_text("")
    assert main(["compare", str(folder), "--output", str(tmp_path / "file")]) == 2
    assert "file: Expected a folder to write into" in capsys.readouterr().err
