"""Registry of scorers: names, saved folders and the classes that load them, by import path only."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward._lazy_imports import import_object
from radreward.errors import InputError
from radreward.io.hub import download_model, parse_hub_name
from radreward.scorers.load_settings import check_load_settings

if TYPE_CHECKING:
    from radreward.scorers.base import Scorer

SYSTEMS_DIR = Path(__file__).parents[1] / "systems"
EMBEDDED_DIR = SYSTEMS_DIR / "er2score" / "embedded"


class ScorerSpec(NamedTuple):
    """A class of scorers that can be loaded from a folder."""

    config_name: str
    """File that identifies a saved scorer of this class."""
    class_path: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScorer:
    """A scorer that `load` builds by name."""

    title: str
    """Name in tables and plots."""
    summary: str
    """One-line description."""
    spec: ScorerSpec
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of `from_pretrained`."""
    folder: Path | None = None
    """Folder of the weights, if any."""
    argument: str = ""
    """Setting that may follow the name after a colon, as in `bertscore:distilroberta-base`."""
    argument_help: str = ""
    """Description of the argument if it is required."""
    without_argument: ScorerSpec | None = None
    """Class of the scorer without the argument, if it is another one."""


REWARD_MODEL = ScorerSpec("config.json", "radreward.systems.er2score.scorer.RewardModelScorer")
RATESCORE = ScorerSpec("ratescore.json", "radreward.systems.ratescore.scorer.RaTEScore")
SENTENCE_EVAL = ScorerSpec("sentences.json", "radreward.systems.sentence_eval.scorer.SentenceScorer")
GREEN = ScorerSpec("green.json", "radreward.systems.green.scorer.GreenScorer")
RADREASON = ScorerSpec("radreason.json", "radreward.systems.radreason.scorer.RadReasonScorer")
EXPLAINED_GREEN = ScorerSpec("green_counter.json", "radreward.scorers.explained_counts.ExplainedGreen")
EXPLAINED_RADREASON = ScorerSpec("radreason_counter.json", "radreward.scorers.explained_counts.ExplainedRadReason")
BLEU = ScorerSpec("bleu.json", "radreward.scorers.lexical.BLEU")
ROUGE = ScorerSpec("rouge.json", "radreward.scorers.lexical.ROUGE")
CHRF = ScorerSpec("chrf.json", "radreward.scorers.lexical.ChrF")
METEOR = ScorerSpec("meteor.json", "radreward.scorers.meteor.METEOR")
CIDER = ScorerSpec("cider.json", "radreward.scorers.cider.CIDEr")
ENTITY_F1 = ScorerSpec("entity_f1.json", "radreward.scorers.entity_f1.EntityF1")
CHEXPERT_F1 = ScorerSpec("chexpert_f1.json", "radreward.scorers.chexpert_labels.CheXpertLabelF1")
BERTSCORE = ScorerSpec("bertscore.json", "radreward.scorers.embedding.BERTScore")
CHEXBERT = ScorerSpec("chexbert.json", "radreward.scorers.embedding.CheXbertSimilarity")
RADGRAPH = ScorerSpec("radgraph.json", "radreward.scorers.radgraph.RadGraphF1")
RADCLIQ_BLEU = ScorerSpec("radcliq_bleu.json", "radreward.scorers.radcliq.RadCliQBLEU2")
RADCLIQ = ScorerSpec("radcliq.json", "radreward.scorers.radcliq.RadCliQScorer")
ERROR_COUNT_JUDGE = ScorerSpec("error_count_judge.json", "radreward.scorers.llm_judge.ErrorCountJudge")
LINE_EDIT_JUDGE = ScorerSpec("line_edit_judge.json", "radreward.scorers.llm_judge.LineEditJudge")
CUSTOM = ScorerSpec("", "radreward.scorers.custom.CustomScorer")
"""Metric in a user's file, `my_file.py:my_metric`; never saved."""

SCORER_SPECS = (
    *(REWARD_MODEL, RATESCORE, SENTENCE_EVAL, GREEN, RADREASON, EXPLAINED_GREEN, EXPLAINED_RADREASON),
    *(BLEU, ROUGE, CHRF, METEOR, CIDER),
    *(ENTITY_F1, CHEXPERT_F1, BERTSCORE, CHEXBERT, RADGRAPH, RADCLIQ_BLEU, RADCLIQ),
    *(ERROR_COUNT_JUDGE, LINE_EDIT_JUDGE),
)
"""Classes of scorers that can be saved."""

_CHEXBERT_FOLDER = "the folder of CheXbert's weights"

SCORERS = {
    "er2score": NamedScorer(
        title="ER²Score",
        summary="Embedded reward model (MiniLM), trained with margin reward enforcement and count regression.",
        spec=REWARD_MODEL,
        folder=EMBEDDED_DIR,
    ),
    "ratescore": NamedScorer(
        title="RaTEScore",
        summary="Similarity of the medical entities of both reports; `ratescore:published` has the paper's models.",
        spec=RATESCORE,
        argument="models",
    ),
    "sentence-eval": NamedScorer(
        title="Sentence evaluation",
        summary="Sentence-by-sentence judgement with a trained relation model and regressor.",
        spec=SENTENCE_EVAL,
        folder=SYSTEMS_DIR / "sentence_eval" / "embedded" / "scorer",
    ),
    **{
        f"bleu-{order}": NamedScorer(
            title=f"BLEU-{order}",
            summary=f"BLEU with n-grams up to {order}.",
            spec=BLEU,
            settings={"order": order},
        )
        for order in (1, 2, 3, 4)
    },
    **{
        f"rouge-{variant}": NamedScorer(
            title=f"ROUGE-{variant.upper()}",
            summary=f"F1 of common {units}.",
            spec=ROUGE,
            settings={"variant": variant},
        )
        for variant, units in (("1", "words"), ("2", "word pairs"), ("l", "subsequences"))
    },
    "chrf": NamedScorer(title="chrF", summary="F-score of character n-grams.", spec=CHRF),
    "meteor": NamedScorer(
        title="METEOR (exact and stem)", summary="METEOR with exact and stem matches, without synonyms.", spec=METEOR
    ),
    "cider": NamedScorer(title="CIDEr-D", summary="N-gram similarity weighted by TF-IDF.", spec=CIDER),
    "entity-f1": NamedScorer(
        title="Entity F1 (SPICE-like)", summary="F1 of entities with their location, severity and type.", spec=ENTITY_F1
    ),
    "chexpert-f1": NamedScorer(
        title="CheXpert label F1 (rules)",
        summary="F1 of fourteen CheXpert observations labeled by rules.",
        spec=CHEXPERT_F1,
    ),
    "bertscore": NamedScorer(
        title="BERTScore (MiniLM)", summary="BERTScore F1 with any encoder.", spec=BERTSCORE, argument="encoder"
    ),
    "chexbert": NamedScorer(
        title="CheXbert similarity",
        summary="Cosine similarity of CheXbert embeddings.",
        spec=CHEXBERT,
        argument="encoder",
        argument_help=_CHEXBERT_FOLDER,
    ),
    "radgraph": NamedScorer(
        title="RadGraph F1",
        summary="F1 of RadGraph entities and relations (package `radgraph`).",
        spec=RADGRAPH,
        argument="model",
    ),
    **{
        f"radcliq-{version}": NamedScorer(
            title=f"RadCliQ-{version}",
            summary=f"Linear combination of RadGraph F1, BERTScore, CheXbert and BLEU-2 ({version}).",
            spec=RADCLIQ,
            settings={"version": version},
            argument="chexbert",
            argument_help=_CHEXBERT_FOLDER,
        )
        for version in ("v0", "v1")
    },
    "g-rad": NamedScorer(
        title="G-Rad",
        summary="Error counts by an LLM for the six RadCliQ error types.",
        spec=ERROR_COUNT_JUDGE,
        settings={"criteria": "radcliq"},
        argument="model",
    ),
    "chexprompt": NamedScorer(
        title="CheXprompt",
        summary="Error counts by an LLM, significant and insignificant errors separately.",
        spec=ERROR_COUNT_JUDGE,
        settings={"criteria": "radcliq-significance"},
        argument="model",
    ),
    "fineradscore": NamedScorer(
        title="FineRadScore",
        summary="Line-by-line corrections by an LLM, with severities.",
        spec=LINE_EDIT_JUDGE,
        argument="model",
    ),
    "green": NamedScorer(
        title="GREEN",
        summary="Error analysis by the evidence of `er2score`, or by a generative evaluator: green:FOLDER.",
        spec=GREEN,
        argument="model",
        without_argument=EXPLAINED_GREEN,
    ),
    "radreason": NamedScorer(
        title="RadReason",
        summary="Counts with reasons by the evidence of `er2score`, or by a generative evaluator: radreason:FOLDER.",
        spec=RADREASON,
        argument="model",
        without_argument=EXPLAINED_RADREASON,
    ),
}
"""Scorers by the name that `load` and the commands accept."""


class ResolvedScorer(NamedTuple):
    """Class, folder and settings of a scorer."""

    spec: ScorerSpec
    folder: Path | None
    """None if the scorer is built from its settings only."""
    settings: dict[str, Any]


def load(name_or_path: str | Path, **settings: Any) -> Scorer:
    """Load a scorer by its name, from the folder of a saved model or a run, from the Hub, or from a user's file.

    Args:
        name_or_path: A key of `SCORERS`, a folder, `owner/name` or `owner/name@revision` of the Hugging Face Hub, or
            `my_file.py:my_metric` (see `CustomScorer`).
        settings: Arguments of the scorer's `from_pretrained`, such as `on_too_long`. Without `allow_download=True`,
            models of the Hub are only read from the cache of this machine, and nothing is sent.

    Raises:
        InputError: If there is no such scorer or setting, or the scorer needs an extra that is not installed.
    """
    if not isinstance(name_or_path, str | Path):
        raise InputError(f"Expected the name or the folder of a scorer but got {type(name_or_path).__name__}.")
    resolved = resolve(name_or_path, bool(settings.get("allow_download")))  # reports errors before heavy imports
    scorer_class = import_object(resolved.spec.class_path)
    if resolved.spec is not CUSTOM:  # whose file decides
        check_load_settings(str(name_or_path), scorer_class, settings)
    scorer: Scorer = scorer_class.from_pretrained(resolved.folder, **{**resolved.settings, **settings})
    if (named := SCORERS.get(str(name_or_path))) and not named.without_argument:
        scorer.title = named.title
    return scorer


def resolve(name_or_path: str | Path, allow_download: bool = False) -> ResolvedScorer:
    """Return the class, folder and settings of a scorer without importing it.

    Args:
        name_or_path: See `load`.
        allow_download: Allow the download of a model from the Hub.

    Raises:
        InputError: If there is no scorer of that name or in that folder.
    """
    name, _, value = str(name_or_path).partition(":")
    if (named := SCORERS.get(name)) and (named.argument or not value):
        return _resolve_named(name, named, value)
    path = Path(name_or_path).expanduser()
    file, _, metric = str(path).rpartition(":")
    if file.endswith(".py") and metric:
        return ResolvedScorer(CUSTOM, path, {})
    if path.is_dir():
        return _resolve_folder(path)
    if hub_name := parse_hub_name(str(name_or_path)):
        return _resolve_folder(download_model(hub_name, allow_download))
    if str(name_or_path).startswith((".", "~")) or len(path.parts) > 1:
        raise InputError(f"{path}: Expected the folder of a model or of a run but there is no such folder.")
    similar = get_close_matches(str(name_or_path).lower(), SCORERS, n=1)
    hint = f" Did you mean {similar[0]}?" if similar else ""
    raise InputError(
        f"{path}: Expected the folder of a model, my_file.py:my_metric, or one of the names {', '.join(SCORERS)}.{hint}"
    )


def _resolve_named(name: str, named: NamedScorer, value: str) -> ResolvedScorer:
    if named.argument_help and not value:
        raise InputError(f"{name}: Expected {named.argument_help} after a colon, as in {name}:FOLDER.")
    if named.folder and not (named.folder / named.spec.config_name).is_file():
        raise InputError(f"{name}: Expected the model in {named.folder} but this installation does not contain it.")
    if not value and named.without_argument:
        return ResolvedScorer(named.without_argument, None, {})
    return ResolvedScorer(named.spec, named.folder, named.settings | ({named.argument: value} if value else {}))


def _resolve_folder(path: Path) -> ResolvedScorer:
    for spec in SCORER_SPECS:
        for folder in (path / "model", path):
            if (folder / spec.config_name).is_file():
                return ResolvedScorer(spec, folder, {})
    if (path / "config.yaml").is_file():
        raise InputError(
            f"{path}: contains a run without a model; finish it with `radreward fit ... --ckpt_path=last`."
        )
    raise InputError(
        f"{path}: Expected the folder of a saved scorer or of a run but it contains no config.json or similar file."
    )
