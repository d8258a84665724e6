"""The reward model as a scorer."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch

import radreward
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.models import Backbone, RewardModel, RewardModelArtifact
from radreward.prompts import PlainPairTemplate
from radreward.scorers import SCORERS
from radreward.systems.er2score.scorer import RewardModelScorer

REFERENCES = ["lungs are clear"] * 3 + ["small left effusion"] * 2
CANDIDATES = ["clear lungs", "right effusion", "no change", "left effusion", "clear lungs"]


def _saved(limit: int = 200) -> RewardModelArtifact:
    torch.manual_seed(0)
    model = RewardModel(Backbone("tiny-bert"), RadCliQCriteria())
    for name, value in model.named_parameters():
        if "lora_B" in name or "head.out.weight" in name:
            torch.nn.init.normal_(value, std=0.3)
    return RewardModelArtifact(model, PlainPairTemplate(), limit)


def test_scores_do_not_depend_on_the_batch_or_the_packing() -> None:
    for precision in ("fp32", "int8"):
        whole = RewardModelScorer(_saved(), precision).score(REFERENCES, CANDIDATES)
        rows = RewardModelScorer(_saved(), precision, packing="rows", max_batch_tokens=1)
        alone = torch.cat([rows.score([r], [c]).total for r, c in zip(REFERENCES, CANDIDATES, strict=True)])
        torch.testing.assert_close(whole.total, alone, rtol=1e-5, atol=1e-5)
        assert whole.sub_scores is not None
        torch.testing.assert_close(whole.total, RadCliQCriteria().total_quality(whole.sub_scores))
        assert whole.total.std() > 1e-3


def test_too_long_is_rejected_or_cut_and_said() -> None:
    references, candidates = ["a", "", "a"], ["b", "b", "b" * 300]
    rejected = RewardModelScorer(_saved()).score(references, candidates)
    assert rejected.status[:2] == ("ok", "empty reference")
    assert "at most 200 tokens but the prompt has 304" in rejected.status[2]
    assert rejected.total.isnan().tolist() == [False, True, True]
    cut = RewardModelScorer(_saved(), on_too_long="truncate").score(references, candidates)
    assert cut.status == ("ok", "empty reference", "truncated")
    assert cut.total.isnan().tolist() == [False, True, False]


def test_saved_and_loaded_scores_alike(tmp_path: Path) -> None:
    scorer = RewardModelScorer(_saved())
    scorer.save_pretrained(tmp_path / "model")
    loaded = radreward.load(tmp_path / "model")
    assert torch.equal(loaded.score(REFERENCES, CANDIDATES).total, scorer.score(REFERENCES, CANDIDATES).total)
    assert loaded.fingerprint() == scorer.fingerprint()
    assert RewardModelScorer(_saved(), "int8").fingerprint() != scorer.fingerprint()


def test_a_name_a_model_and_the_run_around_it_load_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = RewardModelScorer(_saved())
    run = tmp_path / "run"
    scorer.save_pretrained(run / "model")
    monkeypatch.setitem(SCORERS, "embedded", SCORERS["embedded"]._replace(folder=run / "model"))
    expected = scorer.score(REFERENCES, CANDIDATES).total
    for name in ("embedded", run / "model", run, str(run)):
        loaded = radreward.load(name)
        assert torch.equal(loaded.score(REFERENCES, CANDIDATES).total, expected)
        assert loaded.fingerprint() == scorer.fingerprint()
    eight = radreward.load("embedded", precision="int8", too_long="truncate")
    assert isinstance(eight, RewardModelScorer)
    assert (eight.precision, eight.on_too_long) == ("int8", "truncate")


def test_unknown_names_are_told() -> None:
    with pytest.raises(InputError, match="a name of embedded"):
        radreward.load("nobody")


def test_folders_without_a_model_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="Expected the folder of a saved scorer or of a run"):
        radreward.load(tmp_path)
    monkeypatch.setitem(SCORERS, "embedded", SCORERS["embedded"]._replace(folder=tmp_path / "none"))
    with pytest.raises(InputError, match="embedded: Expected the model in .*none"):
        radreward.load("embedded")


def test_many_windows_score_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = RewardModelScorer(_saved(), on_too_long="truncate")
    references, candidates = [*REFERENCES, "a", "b"], [*CANDIDATES, "b" * 300, ""]
    whole = scorer.score(references, candidates)
    monkeypatch.setattr("radreward.systems.er2score.scorer.SORT_WINDOW", 2)
    parts = scorer.score(references, candidates)
    assert parts.status == whole.status
    torch.testing.assert_close(parts.total, whole.total, rtol=1e-5, atol=1e-5, equal_nan=True)


def test_a_backbone_of_half_precision_can_be_scored_in_8_bits() -> None:
    torch.manual_seed(0)
    saved = RewardModelArtifact(
        RewardModel(Backbone("tiny-bert", dtype="bfloat16"), RadCliQCriteria()), PlainPairTemplate(), 200
    )
    assert RewardModelScorer(saved, "int8").score(["a b"], ["a"]).total.isfinite().all()


def test_8_bits_of_a_quantised_model_are_refused() -> None:
    saved = _saved()
    saved.model.backbone.quantization = "4bit"
    with pytest.raises(InputError, match="quantised already"):
        RewardModelScorer(saved, "int8")


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys, radreward; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
