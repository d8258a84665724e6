"""RewardModelScorer: batching, truncation, saving and loading."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

import radreward
from radreward.criteria import RadCliQCriteria
from radreward.errors import InputError
from radreward.io.numbers import shortest_float32
from radreward.models import Backbone, PooledRewardModel, RewardModelArtifact
from radreward.models.precision import has_bfloat16_products
from radreward.prompts import PlainPairTemplate
from radreward.scorers import SCORERS
from radreward.systems.er2score.scorer import REWARD_DECIMALS, RewardModelScorer
from radreward.testing.hostile_reports import REPORTS

REFERENCES = ["lungs are clear"] * 3 + ["small left effusion"] * 2
CANDIDATES = ["clear lungs", "right effusion", "no change", "left effusion", "clear lungs"]


def _artifact(max_length: int = 200) -> RewardModelArtifact:
    torch.manual_seed(0)
    model = PooledRewardModel(Backbone("tiny-bert"), RadCliQCriteria())
    for name, value in model.named_parameters():
        if "lora_B" in name or "head.out.weight" in name:
            torch.nn.init.normal_(value, std=0.3)
    return RewardModelArtifact(model=model, template=PlainPairTemplate(), max_length=max_length)


def test_scores_do_not_depend_on_batch_or_packing() -> None:
    batched = RewardModelScorer(_artifact()).score(REFERENCES, CANDIDATES)
    rows = RewardModelScorer(_artifact(), packing="rows", max_batch_tokens=1)
    alone = torch.cat([rows.score([r], [c]).total for r, c in zip(REFERENCES, CANDIDATES, strict=True)])
    # A reward near the middle of two rounded values may become either of them.
    torch.testing.assert_close(batched.total, alone, rtol=0.0, atol=1.5 * 10**-REWARD_DECIMALS)
    assert batched.sub_scores is not None
    torch.testing.assert_close(batched.total, RadCliQCriteria().total(batched.sub_scores))
    assert batched.total.std() > 1e-3


def test_totals_have_the_decimals_of_their_rewards() -> None:
    references = ["Small effusion.", "Large right pneumothorax. Edema.", "Rib fracture."]
    totals = radreward.load("er2score").score(references, ["No effusion.", "Edema.", "Mild edema."]).total
    assert [shortest_float32(total) for total in totals.tolist()] == [
        round(total, REWARD_DECIMALS) for total in totals.tolist()
    ]


def test_too_long_pairs_are_rejected_or_truncated() -> None:
    references, candidates = ["a", "", "a"], ["b", "b", "b" * 300]
    rejected = RewardModelScorer(_artifact()).score(references, candidates)
    assert rejected.status[:2] == ("ok", "empty reference")
    assert "at most 200 tokens but the prompt has 304" in rejected.status[2]
    assert rejected.total.isnan().tolist() == [False, True, True]
    truncated = RewardModelScorer(_artifact(), on_too_long="truncate").score(references, candidates)
    assert truncated.status == ("ok", "empty reference", "truncated")
    assert truncated.total.isnan().tolist() == [False, True, False]


def test_save_and_load_keep_scores_and_fingerprint(tmp_path: Path) -> None:
    scorer = RewardModelScorer(_artifact())
    scorer.save_pretrained(tmp_path / "model")
    loaded = radreward.load(tmp_path / "model")
    assert torch.equal(loaded.score(REFERENCES, CANDIDATES).total, scorer.score(REFERENCES, CANDIDATES).total)
    assert loaded.fingerprint() == scorer.fingerprint()


def test_load_by_name_model_folder_and_run_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = RewardModelScorer(_artifact())
    run = tmp_path / "run"
    scorer.save_pretrained(run / "model")
    monkeypatch.setitem(SCORERS, "er2score", replace(SCORERS["er2score"], folder=run / "model"))
    expected = scorer.score(REFERENCES, CANDIDATES).total
    for name in ("er2score", run / "model", run, str(run)):
        loaded = radreward.load(name)
        assert torch.equal(loaded.score(REFERENCES, CANDIDATES).total, expected)
        assert loaded.fingerprint() == scorer.fingerprint()
    truncating = radreward.load("er2score", on_too_long="truncate")
    assert isinstance(truncating, RewardModelScorer)
    assert truncating.on_too_long == "truncate"


def test_load_folder_without_model_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCORERS, "er2score", replace(SCORERS["er2score"], folder=tmp_path / "none"))
    with pytest.raises(InputError, match="er2score: Expected the model in .*none"):
        radreward.load("er2score")


def test_scores_do_not_depend_on_the_windows() -> None:
    scorer = RewardModelScorer(_artifact(), on_too_long="truncate")
    references, candidates = [*REFERENCES, "a", "b"], [*CANDIDATES, "b" * 300, ""]
    batched = scorer.score(references, candidates)
    scorer.pairs_per_window = 2
    parts = scorer.score(references, candidates)
    assert parts.status == batched.status
    torch.testing.assert_close(parts.total, batched.total, rtol=1e-5, atol=1e-5, equal_nan=True)


@pytest.mark.skipif(not has_bfloat16_products(), reason="needs a CPU with AMX or AVX512-BF16")
def test_bf16_scores_are_near_those_of_fp32_and_have_a_fingerprint_of_their_own() -> None:
    artifact = _artifact()
    full, half = RewardModelScorer(artifact), RewardModelScorer(artifact, "bf16")
    expected, actual = (scorer.score(REFERENCES, CANDIDATES).total for scorer in (full, half))
    assert not torch.equal(actual, expected)
    torch.testing.assert_close(actual, expected, rtol=0.02, atol=0.02)
    assert half.fingerprint() != full.fingerprint()
    assert torch.equal(full.score(REFERENCES, CANDIDATES).total, expected)  # the artifact is not modified


def test_bf16_of_quantized_model_is_an_error() -> None:
    artifact = _artifact()
    artifact.model.backbone.quantization = "4bit"
    reasons = ("Expected fp32 for a quantized model but got bf16", "this CPU has no bfloat16", "Expected torch 2.11")
    with pytest.raises(InputError, match="|".join(reasons)):
        RewardModelScorer(artifact, "bf16")


def test_shipped_model_scores_reports_only() -> None:
    scores = radreward.load("er2score").score(REFERENCES[:2], ["The cat sat on the mat.", "Lungs are clear."])
    assert scores.status == ("no finding and no normal statement recognised in the candidate", "ok")
    assert scores.total.isnan().tolist() == [True, False]
    assert not RewardModelScorer(_artifact()).requires_report  # its backbone is not English


def test_identical_reports_and_normal_ones_have_quality_one() -> None:
    scores = radreward.load("er2score").score([*REPORTS, "Lungs are clear."], [*REPORTS, "No acute disease."])
    assert scores.quality is not None
    assert scores.quality.tolist() == [1.0] * (len(REPORTS) + 1)
