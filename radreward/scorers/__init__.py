"""Text in, scores out."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward._lazy_imports import lazy
from radreward.errors import InputError
from radreward.models import CONFIG

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer

SYSTEMS = Path(__file__).parents[1] / "systems"
EMBEDDED = SYSTEMS / "er2score" / "embedded"


class Kind(NamedTuple):
    """A kind of scorer that can be loaded."""

    settings: str
    """The file of settings by which a saved one is known."""
    module: str
    name: str


class Name(NamedTuple):
    """A scorer that is in the package."""

    title: str
    """What tables call it."""
    kind: Kind
    settings: dict[str, Any]
    """Of its constructor."""
    folder: Path | None = None
    """Where it lies, if it has weights."""
    takes: str = ""
    """The setting that may follow the name after a colon, as in `bertscore:distilroberta-base`."""
    needs: str = ""
    """What that is, where it has to be given."""


REWARD_MODEL = Kind(CONFIG, "radreward.systems.er2score.scorer", "RewardModelScorer")
RATESCORE = Kind("ratescore.json", "radreward.systems.ratescore.scorer", "RaTEScore")
BLEU = Kind("bleu.json", "radreward.scorers.lexical", "BLEU")
ROUGE = Kind("rouge.json", "radreward.scorers.lexical", "ROUGE")
CHRF = Kind("chrf.json", "radreward.scorers.lexical", "ChrF")
SENTENCES = Kind("sentences.json", "radreward.systems.sentence_eval.scorer", "SentenceScorer")
METEOR = Kind("meteor.json", "radreward.scorers.meteor", "METEOR")
CIDER = Kind("cider.json", "radreward.scorers.cider", "CIDEr")
ENTITIES = Kind("entities.json", "radreward.scorers.entity_f1", "EntityF1")
LABELS = Kind("labels.json", "radreward.scorers.chexpert_labels", "Labels14")
BERTSCORE = Kind("bertscore.json", "radreward.scorers.embedding", "BERTScore")
CHEXBERT = Kind("chexbert.json", "radreward.scorers.embedding", "EmbeddingCosine")
RADGRAPH = Kind("radgraph.json", "radreward.scorers.radgraph", "RadGraphF1")
RADCLIQ_BLEU = Kind("bleu_radcliq.json", "radreward.scorers.radcliq", "RadCliQBLEU2")
RADCLIQ = Kind("radcliq.json", "radreward.scorers.radcliq", "RadCliQ")
GREEN = Kind("green.json", "radreward.systems.green.scorer", "GreenScorer")
RADREASON = Kind("radreason.json", "radreward.systems.radreason.scorer", "RadReasonScorer")
ERROR_JUDGE = Kind("error_judge.json", "radreward.scorers.llm_judge", "ErrorJudge")
LINE_JUDGE = Kind("line_judge.json", "radreward.scorers.llm_judge", "LineJudge")
CUSTOM = Kind("", "radreward.scorers.custom", "CustomScorer")
"""Of `my_file.py:my_metric`; never saved."""
KINDS = (
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
NAMES = {
    "embedded": Name("Reward model (embedded)", REWARD_MODEL, {}, EMBEDDED),
    "ratescore": Name("RaTEScore", RATESCORE, {}),
    "sentences": Name("Sentences", SENTENCES, {}, SYSTEMS / "sentence_eval" / "embedded" / "scorer"),
    "bleu-1": Name("BLEU-1", BLEU, {"order": 1}),
    "bleu-2": Name("BLEU-2", BLEU, {"order": 2}),
    "bleu-3": Name("BLEU-3", BLEU, {"order": 3}),
    "bleu-4": Name("BLEU-4", BLEU, {"order": 4}),
    "rouge-1": Name("ROUGE-1", ROUGE, {"variant": "1"}),
    "rouge-2": Name("ROUGE-2", ROUGE, {"variant": "2"}),
    "rouge-l": Name("ROUGE-L", ROUGE, {"variant": "l"}),
    "chrf": Name("chrF", CHRF, {}),
    "meteor": Name("METEOR (exact and stem)", METEOR, {}),
    "cider": Name("CIDEr-D", CIDER, {}),
    "entity-f1": Name("Entity F1 (SPICE-like)", ENTITIES, {}),
    "labels-14": Name("14 labels F1 (rules)", LABELS, {}),
    "bertscore": Name("BERTScore (MiniLM)", BERTSCORE, {}, takes="encoder"),
    "chexbert": Name("CheXbert cosine", CHEXBERT, {}, takes="encoder", needs="the folder of CheXbert's weights"),
    "radgraph": Name("RadGraph F1", RADGRAPH, {}, takes="model"),
    "radcliq-v0": Name(
        "RadCliQ-v0", RADCLIQ, {"version": "v0"}, takes="chexbert", needs="the folder of CheXbert's weights"
    ),
    "radcliq-v1": Name(
        "RadCliQ-v1", RADCLIQ, {"version": "v1"}, takes="chexbert", needs="the folder of CheXbert's weights"
    ),
    "g-rad": Name("Chat judge (radcliq)", ERROR_JUDGE, {"criteria": "radcliq"}, takes="model"),
    "chexprompt": Name(
        "Chat judge (radcliq-significance)", ERROR_JUDGE, {"criteria": "radcliq-significance"}, takes="model"
    ),
    "fineradscore": Name("Chat judge (lines)", LINE_JUDGE, {}, takes="model"),
    "green": Name("GREEN", GREEN, {}, takes="model", needs="the folder of a trained model"),
    "radreason": Name("RadReason", RADREASON, {}, takes="model", needs="the folder of a trained model"),
}
"""What is in the package."""

__all__ = ["KINDS", "NAMES", "Scorer", "find", "load"]

__getattr__ = lazy(__name__)


class Found(NamedTuple):
    """What a scorer is made of."""

    kind: Kind
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
    kind, folder, given = find(name_or_path)  # told before anything heavy is imported
    scorer: Scorer = getattr(import_module(kind.module), kind.name).from_pretrained(folder, **{**given, **settings})
    if not scorer.title and str(name_or_path) in NAMES:
        scorer.title = NAMES[str(name_or_path)].title
    return scorer


def find(name_or_path: str | Path) -> Found:
    """Of what kind a scorer is, in which folder it lies, and with which settings it is made.

    Raises:
        InputError: If there is none of that name or in that folder.
    """
    name, _, value = str(name_or_path).partition(":")
    if (known := NAMES.get(name)) and (known.takes or not value):
        if known.needs and not value:
            raise InputError(f"{name}: Expected {known.needs} after a colon, as {name}:FOLDER.")
        if known.folder and not (known.folder / known.kind.settings).is_file():
            raise InputError(f"{name}: Expected the model in {known.folder} but this installation has none.")
        return Found(known.kind, known.folder, {**known.settings, **({known.takes: value} if value else {})})
    path = Path(name_or_path).expanduser()
    file, _, metric = str(path).rpartition(":")
    if file.endswith(".py") and metric:
        return Found(CUSTOM, path, {})
    if not path.is_dir() and (str(name_or_path).startswith((".", "~")) or len(path.parts) > 1):
        raise InputError(f"{path}: Expected the folder of a model or of a run but there is no such folder.")
    if not path.is_dir():
        near = get_close_matches(str(name_or_path).lower(), NAMES, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        raise InputError(
            f"{path}: Expected the folder of a model, my_file.py:my_metric, or a name of {', '.join(NAMES)}.{hint}"
        )
    for kind in KINDS:
        for folder in (path / "model", path):
            if (folder / kind.settings).is_file():
                return Found(kind, folder, {})
    if (path / "config.yaml").is_file():
        raise InputError(f"{path}: holds a run without a model; finish it with `radreward fit ... --ckpt_path=last`.")
    raise InputError(
        f"{path}: Expected the folder of a saved scorer or of a run, but no {CONFIG} or the like is there."
    )
