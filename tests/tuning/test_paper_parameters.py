"""Parameters of the papers in docs/studies.md are settings of `fit`; all modules of pairs share one DataModule."""

import re
from pathlib import Path

import pytest
import yaml

from radreward.cli.tune import fit_runner
from radreward.tuning import load_study_config

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "studies.md").read_text(encoding="utf-8")
KEYS = re.findall(r"^\| .*? \| `(model\.\S+)`", PAGE, re.MULTILINE)
STUDIES = re.findall(r"^```yaml\n(study: .*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
WEIGHTING = "model.objective.weighting=DynamicWeighting"
BASES = {
    "experiments/ablations/base_small.yaml": ("lambda_", "objective.c", "weighting.alpha"),
    "experiments/radreason/grpo-both.yaml": ("sigma", "weighting.alpha", "scaling.beta"),
    "experiments/ratescore/affinity.yaml": ("weights.",),
    "experiments/radreason/sft.yaml": (),
}


def test_every_symbol_of_the_papers_has_a_key() -> None:
    assert len(KEYS) == 7
    assert all(any(part in key for parts in BASES.values() for part in parts) for key in KEYS)


def test_every_key_is_searched_by_a_study_of_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    searched = set()
    for text in STUDIES:
        path = tmp_path / "study.yaml"
        path.write_text(text, encoding="utf-8")
        config = load_study_config(path)
        first = config.space.conditional_branches()[0]
        fit_runner().dump_config(config.base, config.overrides_for(first))  # raises if a key is no setting
        searched |= {*first}
    assert searched == {*KEYS}


@pytest.mark.parametrize("base", BASES)
def test_keys_are_settings_of_a_module_that_reads_pairs_through_the_shared_datamodule(
    base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    keys = [key for key in KEYS if any(part in key for part in BASES[base])]
    weighting = [WEIGHTING] if any("weighting" in key for key in keys) else []
    config = yaml.safe_load(fit_runner().dump_config(Path(base), [*weighting, *(f"{key}=0.5" for key in keys)]))
    assert config["data"]["class_path"] == "radreward.data.PairedReportDataModule"
    for key in keys:
        value = config
        for part in key.split("."):
            value = value.get("init_args", value)[part]
        assert value == 0.5
