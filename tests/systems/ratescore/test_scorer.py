import json
import math
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from radreward.errors import InputError
from radreward.systems.ratescore import PRESETS, AffinityMatrix
from radreward.systems.ratescore.encoder import EntityEncoder, NameEmbedding, NameEmbeddings
from radreward.systems.ratescore.scorer import RaTEScore
from radreward.systems.ratescore.taggers import RuleTagger
from radreward.types import ENTITY_TYPES, Entity

REFERENCE = "Small left pleural effusion. No pneumothorax. The heart is enlarged."
CANDIDATES = [
    "Left effusion. Cardiomegaly. No pneumothorax.",
    "No pleural effusion. Right pneumothorax. The heart is normal in size.",
    REFERENCE,
]


@pytest.fixture(scope="module")
def encoder() -> EntityEncoder:
    return EntityEncoder()


@pytest.fixture(scope="module")
def scorer(encoder: EntityEncoder) -> RaTEScore:
    return RaTEScore(RuleTagger(), encoder, AffinityMatrix.from_preset("long"))


def naive(reference: Sequence[Entity], candidate: Sequence[Entity], encoder: EntityEncoder) -> float:
    """Return the score by the formula, entity by entity."""
    penalty, weight = PRESETS["long"]
    opposed = ({"Abnormality", "Disease"}, {"Non-Abnormality", "Non-Disease"})

    def direction(query: Sequence[Entity], other: Sequence[Entity]) -> float:
        top = bottom = 0.0
        for entity in query:
            cosines = [float(torch.dot(*encoder.embed([entity.name, o.name]).vectors)) for o in other]
            nearest = other[max(range(len(other)), key=cosines.__getitem__)]
            w = weight[ENTITY_TYPES.index(entity.type)][ENTITY_TYPES.index(nearest.type)]
            clash = any(entity.type in a and nearest.type in b for a, b in (opposed, opposed[::-1]))
            top += max(max(cosines), 0.0) * w * (penalty if clash else 1.0)
            bottom += w
        return top / bottom

    precision, recall = direction(reference, candidate), direction(candidate, reference)
    return 2 * precision * recall / (precision + recall)


def test_total_equals_the_formula(scorer: RaTEScore, encoder: EntityEncoder) -> None:
    scores = scorer.score([REFERENCE] * 3, CANDIDATES)
    tagged = RuleTagger().tag_reports([REFERENCE, *CANDIDATES])
    assert scores.total.tolist() == pytest.approx(
        [naive(tagged[0], entities, encoder) for entities in tagged[1:]], abs=1e-5
    )
    assert scores.total[2] == pytest.approx(1.0)


def test_sub_scores_and_evidence_sum_to_one_minus_total(scorer: RaTEScore) -> None:
    scores = scorer.score([REFERENCE] * 3, CANDIDATES)
    assert scores.sub_scores is not None
    assert scores.evidence is not None
    torch.testing.assert_close(1 + scores.sub_scores.sum(1), scores.total)
    assert (scores.sub_scores <= 0).all()
    for total, sub, shown in zip(scores.total, scores.sub_scores, scores.evidence, strict=True):
        assert 1 - sum(match.score_loss for match in shown) == pytest.approx(total.item(), abs=1e-6)
        anatomy = [match.score_loss for match in shown if match.entity.type == "Anatomy"]
        assert -sum(anatomy) == pytest.approx(sub[1].item(), abs=1e-6)
    first = scores.evidence[1][0]
    assert first.side == "reference"
    assert REFERENCE[first.entity.start : first.entity.end] == first.entity.name
    assert CANDIDATES[1][first.match.start : first.match.end] == first.match.name


def test_unscored_rows_keep_their_position_and_have_a_status(scorer: RaTEScore) -> None:
    references = [REFERENCE, "", REFERENCE, "Thank you.", REFERENCE]
    candidates = [REFERENCE, REFERENCE, "Thank you.", REFERENCE, CANDIDATES[0]]
    scores = scorer.score(references, candidates)
    assert scores.status == ("ok", "empty reference", "no entity in the candidate", "no entity in the reference", "ok")
    assert scores.total.isnan().tolist() == [False, True, True, True, False]
    assert scores.sub_scores is not None
    assert scores.sub_scores.isnan().all(1).tolist() == [False, True, True, True, False]
    assert scores.total[4] == scorer.score([REFERENCE], CANDIDATES[:1]).total[0]


def test_no_entity_score_is_used_and_reported(encoder: EntityEncoder) -> None:
    half = RaTEScore(RuleTagger(), encoder, AffinityMatrix.from_preset("long"), no_entity_score=0.5)
    scores = half.score([REFERENCE, REFERENCE], ["Thank you.", ""])
    assert scores.total[0] == 0.5
    assert scores.status == ("no entities: the score is that of the setting", "empty candidate")


class LongNames(RuleTagger):
    """Tagger that returns every sentence as one entity."""

    def tag(self, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        return [(Entity(text, "Disease", 0, len(text)),) for text in sentences]


def test_entity_over_the_limit_is_rejected_or_truncated(encoder: EntityEncoder) -> None:
    long = " ".join(["Pleural effusion and edema"] * 12)
    weights = AffinityMatrix.from_preset("long")
    rejecting = RaTEScore(LongNames(), encoder, weights).score(["Effusion", long], ["Effusion", "Effusion"])
    assert rejecting.status[0] == "ok"
    assert rejecting.status[1].startswith("over the limit: Expected an entity of at most 30 tokens but got 'Pleural")
    assert rejecting.total.isnan().tolist() == [False, True]
    cutting = RaTEScore(LongNames(), encoder, weights, on_too_long="truncate").score([long], ["Effusion"])
    assert cutting.status == ("truncated",)
    assert cutting.total.isfinite().all()


def test_sentences_are_tagged_once_and_names_embedded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tagged: list[str] = []
    encoded: list[str] = []
    tag, run = RuleTagger.tag, EntityEncoder._compute

    def counted_tag(self: RuleTagger, sentences: Sequence[str]) -> list[tuple[Entity, ...]]:
        tagged.extend(sentences)
        return tag(self, sentences)

    def counted_encode(self: EntityEncoder, names: Sequence[str]) -> dict[str, NameEmbedding]:
        encoded.extend(names)
        return run(self, names)

    monkeypatch.setattr(RuleTagger, "tag", counted_tag)
    monkeypatch.setattr(EntityEncoder, "_compute", counted_encode)
    scorer = RaTEScore(RuleTagger(), EntityEncoder("tiny-bert"), AffinityMatrix.from_preset("long"))
    for _ in range(2):
        scorer.score([REFERENCE] * 3, CANDIDATES)
    assert len(tagged) == len(set(tagged)) == 8
    assert len(encoded) == len(set(encoded)) > 5


def test_windows_do_not_change_scores(scorer: RaTEScore, monkeypatch: pytest.MonkeyPatch) -> None:
    references, candidates = [REFERENCE, *CANDIDATES] * 2, [*CANDIDATES, REFERENCE] * 2
    unchunked = scorer.score(references, candidates)
    monkeypatch.setattr(scorer, "pairs_per_window", 3)
    chunked = scorer.score(references, candidates)
    torch.testing.assert_close(chunked.total, unchunked.total)
    assert chunked.status == unchunked.status
    chunked_entities, entities = ([[m.entity for m in row] for row in s.evidence or ()] for s in (chunked, unchunked))
    assert chunked_entities == entities != []


def test_score_of_no_pairs_is_empty(scorer: RaTEScore) -> None:
    scores = scorer.score([], [])
    assert scores.total.shape == (0,)
    assert scores.sub_scores is not None
    assert scores.sub_scores.shape == (0, 5)
    assert scores.evidence == ()


def test_saved_scorer_gives_the_same_scores(encoder: EntityEncoder, tmp_path: Path) -> None:
    weights = AffinityMatrix(torch.rand(5, 5), 0.25, "mismatch", clamp_cosines=False)
    first = RaTEScore(RuleTagger(), EntityEncoder("embedded", "first"), weights, no_entity_score=0.5)
    first.save_pretrained(tmp_path / "saved")
    first.save_pretrained(tmp_path / "saved")  # replaces the older one
    again = RaTEScore.from_pretrained(tmp_path / "saved")
    assert again.fingerprint() == first.fingerprint()
    assert torch.equal(again.score([REFERENCE] * 3, CANDIDATES).total, first.score([REFERENCE] * 3, CANDIDATES).total)
    assert again.no_entity_score == 0.5
    assert {path.suffix for path in (tmp_path / "saved").rglob("*.*")} == {".json", ".md", ".safetensors"}
    another = RaTEScore(RuleTagger(), encoder, weights, no_entity_score=0.5)
    assert another.fingerprint() != first.fingerprint()


def test_invalid_folder_is_rejected(scorer: RaTEScore, tmp_path: Path) -> None:
    scorer.save_pretrained(tmp_path)
    path = tmp_path / "ratescore.json"
    settings = json.loads(path.read_text())
    for change, message in (
        ({"format": 2}, "Expected `format` to be 1"),
        ({"no_entity_score": 7}, r"ratescore\.json: .*Expected `no_entity_score` to be null or in \[0, 1\] but got 7"),
        ({"encoder": {"name": "embedded", "layers": 3}}, r"ratescore\.json: .*layers"),
    ):
        path.write_text(json.dumps(settings | change))
        with pytest.raises(InputError, match=message):
            RaTEScore.from_pretrained(tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    path.unlink()
    with pytest.raises(InputError, match="Expected a folder that is new, empty or holds a RaTEScore"):
        scorer.save_pretrained(tmp_path)


def test_invalid_settings_are_rejected(encoder: EntityEncoder) -> None:
    weights = AffinityMatrix.from_preset("long")
    with pytest.raises(ValueError, match=r"Expected `no_entity_score` to be null or in \[0, 1\] but got nan"):
        RaTEScore(RuleTagger(), encoder, weights, no_entity_score=math.nan)
    with pytest.raises(InputError, match="precision: Expected fp32 for RaTEScore but got bf16"):
        RaTEScore.from_pretrained(precision="bf16")  # type: ignore[arg-type]


def test_orthogonal_embeddings_give_zero(scorer: RaTEScore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports without similar names score 0: embeddings of different names are orthogonal."""

    def orthogonal(self: EntityEncoder, names: Sequence[str]) -> NameEmbeddings:
        return NameEmbeddings(torch.eye(len(names)), (False,) * len(names))

    monkeypatch.setattr(EntityEncoder, "embed", orthogonal)
    assert scorer.score(["Effusion."], ["Pneumothorax."]).total.tolist() == [0.0]
    assert scorer.score(["Effusion."], ["Effusion."]).total.tolist() == [1.0]
