"""Text in, scores out."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward._lazy_imports import lazy_exports
from radreward.errors import InputError
from radreward.models import CONFIG

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer

SYSTEMS_DIR = Path(__file__).parents[1] / "systems"
EMBEDDED_DIR = SYSTEMS_DIR / "er2score" / "embedded"


class ScorerSpec(NamedTuple):
    """A kind of scorer that can be loaded."""

    config_name: str
    """The file of settings by which a saved one is known."""
    module: str
    class_name: str


class NamedScorer(NamedTuple):
    """A scorer that is in the package."""

    title: str
    """What tables call it."""
    spec: ScorerSpec
    settings: dict[str, Any]
    """Of its constructor."""
    folder: Path | None = None
    """Where it lies, if it has weights."""
    argument: str = ""
    """The setting that may follow the name after a colon, as in `bertscore:distilroberta-base`."""
    argument_help: str = ""
    """What that is, where it has to be given."""


REWARD_MODEL = ScorerSpec(CONFIG, "radreward.systems.er2score.scorer", "RewardModelScorer")
RATESCORE = ScorerSpec("ratescore.json", "radreward.systems.ratescore.scorer", "RaTEScore")
BLEU = ScorerSpec("bleu.json", "radreward.scorers.lexical", "BLEU")
ROUGE = ScorerSpec("rouge.json", "radreward.scorers.lexical", "ROUGE")
CHRF = ScorerSpec("chrf.json", "radreward.scorers.lexical", "ChrF")
SENTENCES = ScorerSpec("sentences.json", "radreward.systems.sentence_eval.scorer", "SentenceScorer")
METEOR = ScorerSpec("meteor.json", "radreward.scorers.meteor", "METEOR")
CIDER = ScorerSpec("cider.json", "radreward.scorers.cider", "CIDEr")
ENTITIES = ScorerSpec("entities.json", "radreward.scorers.entity_f1", "EntityF1")
LABELS = ScorerSpec("labels.json", "radreward.scorers.chexpert_labels", "Labels14")
BERTSCORE = ScorerSpec("bertscore.json", "radreward.scorers.embedding", "BERTScore")
CHEXBERT = ScorerSpec("chexbert.json", "radreward.scorers.embedding", "CheXbertSimilarity")
RADGRAPH = ScorerSpec("radgraph.json", "radreward.scorers.radgraph", "RadGraphF1")
RADCLIQ_BLEU = ScorerSpec("bleu_radcliq.json", "radreward.scorers.radcliq", "RadCliQBLEU2")
RADCLIQ = ScorerSpec("radcliq.json", "radreward.scorers.radcliq", "RadCliQ")
GREEN = ScorerSpec("green.json", "radreward.systems.green.scorer", "GreenScorer")
RADREASON = ScorerSpec("radreason.json", "radreward.systems.radreason.scorer", "RadReasonScorer")
ERROR_JUDGE = ScorerSpec("error_judge.json", "radreward.scorers.llm_judge", "ErrorCountJudge")
LINE_JUDGE = ScorerSpec("line_judge.json", "radreward.scorers.llm_judge", "LineEditJudge")
CUSTOM = ScorerSpec("", "radreward.scorers.custom", "CustomScorer")
"""Of `my_file.py:my_metric`; never saved."""
SCORER_SPECS = (
    REWARD_MODEL,
    RATESCORE,
    BLEU,
    ROUGE,
    CHRF,
    METEOR,
    CIDER,
    ENTITIES,
    LABELS,
    BERTSCORE,
    CHEXBERT,
    RADGRAPH,
    RADCLIQ_BLEU,
    RADCLIQ,
    ERROR_JUDGE,
    LINE_JUDGE,
    SENTENCES,
    GREEN,
    RADREASON,
)
SCORERS = {
    "embedded": NamedScorer("Reward model (embedded)", REWARD_MODEL, {}, EMBEDDED_DIR),
    "ratescore": NamedScorer("RaTEScore", RATESCORE, {}),
    "sentences": NamedScorer("Sentences", SENTENCES, {}, SYSTEMS_DIR / "sentence_eval" / "embedded" / "scorer"),
    "bleu-1": NamedScorer("BLEU-1", BLEU, {"order": 1}),
    "bleu-2": NamedScorer("BLEU-2", BLEU, {"order": 2}),
    "bleu-3": NamedScorer("BLEU-3", BLEU, {"order": 3}),
    "bleu-4": NamedScorer("BLEU-4", BLEU, {"order": 4}),
    "rouge-1": NamedScorer("ROUGE-1", ROUGE, {"variant": "1"}),
    "rouge-2": NamedScorer("ROUGE-2", ROUGE, {"variant": "2"}),
    "rouge-l": NamedScorer("ROUGE-L", ROUGE, {"variant": "l"}),
    "chrf": NamedScorer("chrF", CHRF, {}),
    "meteor": NamedScorer("METEOR (exact and stem)", METEOR, {}),
    "cider": NamedScorer("CIDEr-D", CIDER, {}),
    "entity-f1": NamedScorer("Entity F1 (SPICE-like)", ENTITIES, {}),
    "labels-14": NamedScorer("14 labels F1 (rules)", LABELS, {}),
    "bertscore": NamedScorer("BERTScore (MiniLM)", BERTSCORE, {}, argument="encoder"),
    "chexbert": NamedScorer(
        "CheXbert cosine", CHEXBERT, {}, argument="encoder", argument_help="the folder of CheXbert's weights"
    ),
    "radgraph": NamedScorer("RadGraph F1", RADGRAPH, {}, argument="model"),
    "radcliq-v0": NamedScorer(
        "RadCliQ-v0", RADCLIQ, {"version": "v0"}, argument="chexbert", argument_help="the folder of CheXbert's weights"
    ),
    "radcliq-v1": NamedScorer(
        "RadCliQ-v1", RADCLIQ, {"version": "v1"}, argument="chexbert", argument_help="the folder of CheXbert's weights"
    ),
    "g-rad": NamedScorer("Chat judge (radcliq)", ERROR_JUDGE, {"criteria": "radcliq"}, argument="model"),
    "chexprompt": NamedScorer(
        "Chat judge (radcliq-significance)", ERROR_JUDGE, {"criteria": "radcliq-significance"}, argument="model"
    ),
    "fineradscore": NamedScorer("Chat judge (lines)", LINE_JUDGE, {}, argument="model"),
    "green": NamedScorer("GREEN", GREEN, {}, argument="model", argument_help="the folder of a trained model"),
    "radreason": NamedScorer(
        "RadReason", RADREASON, {}, argument="model", argument_help="the folder of a trained model"
    ),
}
"""What is in the package."""

__all__ = ["SCORER_SPECS", "SCORERS", "Scorer", "resolve", "load"]

__getattr__ = lazy_exports(__name__)


class ResolvedScorer(NamedTuple):
    """What a scorer is made of."""

    spec: ScorerSpec
    folder: Path | None
    """None where the package alone makes it."""
    settings: dict[str, Any]


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """The scorer of a name, of a saved model's folder, of the folder of a run, or of a metric in a file of one's own.

    Args:
        name_or_path: A name of `NAMES`, a folder, or `my_file.py:my_metric` (see `CustomScorer`).
        settings: Those of `from_pretrained` of the scorer, such as `too_long`.

    Raises:
        InputError: If it is none of these, or needs an extra that is not installed.
    """
    kind, folder, given = resolve(name_or_path)  # told before anything heavy is imported
    scorer: Scorer = getattr(import_module(kind.module), kind.class_name).from_pretrained(
        folder, **{**given, **settings}
    )
    if not scorer.title and str(name_or_path) in SCORERS:
        scorer.title = SCORERS[str(name_or_path)].title
    return scorer


def resolve(name_or_path: str | Path) -> ResolvedScorer:
    """Of what kind a scorer is, in which folder it lies, and with which settings it is made.

    Raises:
        InputError: If there is none of that name or in that folder.
    """
    name, _, value = str(name_or_path).partition(":")
    if (known := SCORERS.get(name)) and (known.argument or not value):
        if known.argument_help and not value:
            raise InputError(f"{name}: Expected {known.argument_help} after a colon, as {name}:FOLDER.")
        if known.folder and not (known.folder / known.spec.config_name).is_file():
            raise InputError(f"{name}: Expected the model in {known.folder} but this installation has none.")
        return ResolvedScorer(
            known.spec, known.folder, {**known.settings, **({known.argument: value} if value else {})}
        )
    path = Path(name_or_path).expanduser()
    file, _, metric = str(path).rpartition(":")
    if file.endswith(".py") and metric:
        return ResolvedScorer(CUSTOM, path, {})
    if not path.is_dir() and (str(name_or_path).startswith((".", "~")) or len(path.parts) > 1):
        raise InputError(f"{path}: Expected the folder of a model or of a run but there is no such folder.")
    if not path.is_dir():
        near = get_close_matches(str(name_or_path).lower(), SCORERS, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(
            f"{path}: Expected the folder of a model, my_file.py:my_metric, or a name of {', '.join(SCORERS)}.{hint}"
        )
    for kind in SCORER_SPECS:
        for folder in (path / "model", path):
            if (folder / kind.config_name).is_file():
                return ResolvedScorer(kind, folder, {})
    if (path / "config.yaml").is_file():
        raise InputError(f"{path}: holds a run without a model; finish it with `radreward fit ... --ckpt_path=last`.")
    raise InputError(
        f"{path}: Expected the folder of a saved scorer or of a run, but no {CONFIG} or the like is there."
    )
