"""The regressed overall score: sentences judged one by one, their scores counted, a regressor for the whole."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from radreward.errors import InputError
from radreward.scorers.base import STATUS_OK, Scorer
from radreward.systems.sentence_eval.judges import RelationJudge, SentenceJudge
from radreward.systems.sentence_eval.regressors import Regressor
from radreward.systems.sentence_eval.score_features import FEATURE_SETS, FeatureSet, feature_names, feature_values
from radreward.text.sentence_splitter import split_sentences
from radreward.types import Scores, SentenceJudgement

CONFIG, REGRESSOR, JUDGE = "sentences.json", "regressor.safetensors", "judge"
EMBEDDED_DIR = Path(__file__).with_name("embedded") / "scorer"
"""The scorer that comes with the package."""
FORMAT = 1
PAIRS_PER_BATCH = 512
"""Pairs that are held at a time."""
_CONFIG_KEYS = frozenset({"format", "judge", "features", "regressor", "training"})


class JudgedSentence(NamedTuple):
    """Evidence: a sentence, its score, and its counterparts in the other report."""

    side: Literal["reference", "candidate"]
    text: str
    score: float
    matches: tuple[str, ...]


class SentenceScorer(Scorer):
    """Sentence-level evaluation with a regressed overall score (Zhu et al., 2024, section III).

    Both reports are split into sentences; a judge scores each by the other report: 1 the same, 0.5 partly, -1 a
    contradiction, 0 no counterpart. How many of either report's sentences have which score are the features from
    which a regressor predicts the overall score, see `feature_values`. Without a regressor the total is the judge's
    own, from 0 to 5. The evidence of a row is a tuple of `JudgedSentence`; the sub-scores are the features, which are
    counted and not graded: more of the same is better, more without a counterpart is worse.

    Args:
        judge: What scores the sentences.
        regressor: What predicts the overall score from the features.
        features: Which set; "shares" as published, "findings" with what the sentences are about.
        training: What is told of its fit; nothing depends on it.

    Raises:
        ValueError: If there is no such set of features.
    """

    title = "Sentences"

    def __init__(
        self,
        judge: SentenceJudge,
        regressor: Regressor | None = None,
        feature_set: FeatureSet = "findings",
        training_info: dict[str, Any] | None = None,
    ) -> None:
        self.feature_names = feature_names(feature_set)
        self.judge, self.regressor, self.feature_set, self.training_info = (
            judge,
            regressor,
            feature_set,
            dict(training_info or {}),
        )

    @property
    def sub_names(self) -> tuple[str, ...]:
        """The features, as columns."""
        return self.feature_names

    def _score_valid(self, references: Sequence[str], candidates: Sequence[str]) -> Scores:
        """See `Scorer.score_texts`."""
        rows: list[tuple[float, ...]] = []
        status: list[str] = []
        evidence: list[tuple[JudgedSentence, ...] | None] = []
        for begin in range(0, len(references), PAIRS_PER_BATCH):
            pair = references[begin : begin + PAIRS_PER_BATCH], candidates[begin : begin + PAIRS_PER_BATCH]
            sides = [[split_sentences(text) for text in texts] for texts in pair]
            for ours, theirs, judgement in zip(*sides, self.judge.judge(*sides), strict=True):
                found = _pair_status(ours, theirs, judgement)
                own = feature_values(self.feature_set, judgement, ours, theirs) if found == STATUS_OK else None
                overall = math.nan if judgement.overall is None else judgement.overall
                rows.append((overall, *(own or (math.nan,) * len(self.feature_names))))
                status.append(found)
                evidence.append(_evidence(ours, theirs, judgement) if own else None)
        table = np.array(rows, dtype=np.float64).reshape(-1, 1 + len(self.feature_names))
        known = np.isfinite(table[:, 1:]).all(1)
        total = np.where(known, table[:, 0], np.nan)
        if self.regressor is not None:
            total[known] = self.regressor.predict(table[known, 1:])
        return Scores(
            torch.from_numpy(total).float(),
            torch.from_numpy(table[:, 1:]).float(),
            None,
            tuple(status),
            tuple(evidence),
        )

    def fingerprint(self) -> str:
        """See `Scorer.fingerprint`."""
        digest = hashlib.sha256(f"{self.feature_set} {self.judge.fingerprint()}".encode())
        if self.regressor is not None:
            digest.update(self.regressor.fingerprint().encode())
        return digest.hexdigest()

    def save_pretrained(self, folder: str | Path) -> None:
        """See `Scorer.save_pretrained`. A chat model is not saved: it is given again to `from_pretrained`.

        Raises:
            InputError: If the folder holds something else.
        """
        folder = Path(folder)
        if folder.exists() and not (folder / CONFIG).is_file() and (folder.is_file() or any(folder.iterdir())):
            raise InputError(f"{folder}: Expected a folder that is new, empty or holds a scorer of sentences.")
        folder.mkdir(parents=True, exist_ok=True)
        judge = "given"
        if isinstance(self.judge, RelationJudge):
            judge = self.judge.name or JUDGE
            if judge == JUDGE:
                self.judge.save_pretrained(folder / JUDGE)
        if self.regressor is not None:
            self.regressor.save(folder / REGRESSOR)
        config = {
            "format": FORMAT,
            "judge": judge,
            "features": self.feature_set,
            "regressor": None if self.regressor is None else REGRESSOR,
            "training": self.training_info,
        }
        (folder / CONFIG).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")

    @classmethod
    def from_pretrained(
        cls,
        folder: str | Path | None = None,
        precision: Literal["fp32"] = "fp32",
        on_too_long: Literal["reject", "truncate"] = "reject",
        device: str = "cpu",
        allow_download: bool = False,
        judge: SentenceJudge | None = None,
    ) -> SentenceScorer:
        """What `save_pretrained` wrote; without a folder the judge and the regressor of the package.

        Args:
            folder: Where it is.
            precision: fp32 only.
            too_long: No sentence is: a long one is read in parts.
            device: Where the judge runs.
            download: Whether a backbone that is not on this machine may be fetched from the hub.
            judge: What scores the sentences instead of the saved judge; a chat model has to be given.

        Raises:
            InputError: If a file is missing or broken, another precision is asked for, or the judge is not given.
        """
        if precision != "fp32":
            raise InputError(f"precision: Expected fp32 for scores of sentences but got {precision}.")
        path = Path(folder or EMBEDDED_DIR, CONFIG)
        config = _read_config(path)
        if judge is None:
            if config["judge"] == "given":
                raise InputError(
                    f"{path}: was fitted to a judge that is not saved with it: give one, as in "
                    "`SentenceScorer.from_pretrained(folder, judge=ChatJudge(...))`."
                )
            name = config["judge"] if config["judge"] != JUDGE else path.with_name(JUDGE)
            judge = RelationJudge.from_pretrained(name, device, allow_download)
        regressor = Regressor.load(path.with_name(REGRESSOR)) if config["regressor"] else None
        if regressor is not None:
            _check_feature_count(regressor, len(feature_names(config["features"])), path.with_name(REGRESSOR))
        return cls(judge, regressor, config["features"], config["training"])


def _pair_status(reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement) -> str:
    """Whether the pair has a score: every sentence of both reports has one."""
    for side, texts in (("reference", reference), ("candidate", candidate)):
        if not texts:
            return f"no sentence in the {side}"
    if any(entry is None for side in judgement[:2] for entry in side):
        return judgement.status
    return STATUS_OK


def _evidence(
    reference: Sequence[str], candidate: Sequence[str], judgement: SentenceJudgement
) -> tuple[JudgedSentence, ...]:
    shown = []
    sides: tuple[tuple[Literal["reference", "candidate"], Sequence[str], Sequence[str], Any], ...] = (
        ("reference", reference, candidate, judgement.reference_scores),
        ("candidate", candidate, reference, judgement.candidate_scores),
    )
    for side, texts, others, entries in sides:
        for text, entry in zip(texts, entries, strict=True):
            shown.append(JudgedSentence(side, text, entry.score, tuple(others[place] for place in entry.matches)))
    return tuple(shown)


def _read_config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: Expected the settings of a scorer of sentences ({error}).") from error
    if not isinstance(config, dict) or set(config) != _CONFIG_KEYS or config["format"] != FORMAT:
        raise InputError(f"{path}: Expected `format` {FORMAT}, `judge`, `features`, `regressor` and `training`.")
    if config["judge"] not in ("embedded", JUDGE, "given"):
        raise InputError(f"{path}: Expected `judge` to be embedded, judge or given but got {config['judge']!r}.")
    if config["features"] not in FEATURE_SETS:
        raise InputError(
            f"{path}: Expected `features` to be {' or '.join(FEATURE_SETS)} but got {config['features']!r}."
        )
    if config["regressor"] not in (None, REGRESSOR) or not isinstance(config["training"], dict):
        raise InputError(f"{path}: Expected `regressor` to be null or {REGRESSOR}, and `training` an object.")
    return config


def _check_feature_count(regressor: Regressor, count: int, path: Path) -> None:
    try:
        regressor.predict(np.zeros((1, count)))
    except (IndexError, ValueError) as error:
        raise InputError(f"{path}: Expected a regressor of {count} features ({error}).") from error
