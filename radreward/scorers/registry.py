"""Registry of scorers: one entry per scorer with its title, class and facts, without an import of the scorer.

`load`, the commands, `radreward list` and the pages of the documentation read these entries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

_SYSTEMS_DIR = Path(__file__).parents[1] / "systems"


class ScorerSpec(NamedTuple):
    """A class of scorers that can be loaded from a folder."""

    config_name: str
    """File that identifies a saved scorer of this class."""
    class_path: str


class ScorerFacts(NamedTuple):
    """Facts for the page of a scorer, in Markdown; links are relative to `docs/metrics/`."""

    needs: str
    """Packages, weights and models."""
    mean: str
    """Advice on averaging its scores, with the reason."""
    good: str
    """Scores of good candidates."""
    licence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedScorer:
    """A scorer that `load` builds by name."""

    title: str
    """Name in tables and plots."""
    summary: str
    """One-line description."""
    spec: ScorerSpec
    facts: ScorerFacts
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of `from_pretrained`."""
    folder: Path | None = None
    """Folder of the weights, if any."""
    argument: str = ""
    """Name of the setting that may follow the scorer's name after a colon, as in `bertscore:distilroberta-base`."""
    argument_help: str = ""
    """Description of the argument if it is required."""
    argument_example: str = "FOLDER"
    """Example of the argument, for the message that asks for it."""
    without_argument: ScorerSpec | None = None
    """Class of the scorer without the argument, if the class differs."""
    packages: tuple[str, ...] = ()
    """Importable names of optional packages that the scorer needs if its name has no argument."""
    hub_models: tuple[str, ...] = ()
    """Models of the Hub that the scorer needs."""
    variables: tuple[str, ...] = ()
    """Environment variables that the scorer needs if its name has no argument."""


_TYPICAL_VALUES = "see [typical values](../score.md)"
_LEXICAL = ScorerFacts(
    needs="the extra `lexical`",
    mean="yes",
    good="no threshold: equal findings in other words score low, a wrong side costs one word",
    licence="code Apache-2.0",
)
_RULES = ScorerFacts(
    needs="nothing",
    mean="quality: yes; total: with care, because reports without entities have none",
    good="1 for equal findings; see [typical scores](../score.md) for the program that prints values on your data",
    licence="code Apache-2.0",
)
_PUBLISHED = ScorerFacts(
    needs="the folder of its weights after a colon",
    mean="yes",
    good="no threshold is known",
    licence="code Apache-2.0; the weights have the terms of their publisher",
)
_JUDGE = ScorerFacts(
    needs="a language model: a local one after a colon or an OpenAI-compatible server",
    mean="no: errors are counts, and a mean hides how they are distributed",
    good="0 errors",
    licence="code Apache-2.0; the model has the terms of its publisher",
)
_EVIDENCE_OR_EVALUATOR = _JUDGE._replace(
    needs="nothing, with the evidence of er2score; or the folder or Hub name of a trained evaluator after a colon"
)
_BLEU = ScorerSpec("bleu.json", "radreward.scorers.lexical.BLEU")
_ROUGE = ScorerSpec("rouge.json", "radreward.scorers.lexical.ROUGE")
_RADCLIQ = ScorerSpec("radcliq.json", "radreward.scorers.radcliq.RadCliQScorer")
_ERROR_COUNT_JUDGE = ScorerSpec("error_count_judge.json", "radreward.scorers.llm_judge.ErrorCountJudge")
_GREEN = ScorerSpec("green.json", "radreward.systems.green.scorer.GreenScorer")
_CHAT_SERVER: dict[str, Any] = {"packages": ("openai",), "variables": ("OPENAI_BASE_URL", "OPENAI_MODEL")}
_CHEXBERT_FOLDER = "the folder of CheXbert's weights"

SCORERS = {
    "er2score": NamedScorer(
        title="ER²Score",
        summary="Embedded reward model (MiniLM), trained with margin reward enforcement and four further losses.",
        spec=ScorerSpec("config.json", "radreward.systems.er2score.scorer.RewardModelScorer"),
        facts=ScorerFacts(
            needs="nothing",
            mean="total: no, longer references allow more errors; quality, of models that have one: yes",
            good=f"quality about 0.96 without an error, 0.60 with one; total −0.3 and −1.0, {_TYPICAL_VALUES}",
            licence="code, weights and MiniLM Apache-2.0; the weights were trained on SYNTHETIC reports only",
        ),
        folder=_SYSTEMS_DIR / "er2score" / "embedded",
    ),
    "ratescore": NamedScorer(
        title="RaTEScore",
        summary="Similarity of the medical entities of both reports; `ratescore:published` has the paper's models.",
        spec=ScorerSpec("ratescore.json", "radreward.systems.ratescore.scorer.RaTEScore"),
        facts=ScorerFacts(
            needs="nothing; `ratescore:published` the models of the paper from the Hub",
            mean="total: as published, although normal statements that match hide missed findings; quality: yes",
            good=f"quality about 0.96 without an error, 0.61 with one, {_TYPICAL_VALUES}",
            licence="code Apache-2.0; the published models have the terms of their pages",
        ),
        argument="models",
    ),
    "sentence-eval": NamedScorer(
        title="Sentence evaluation",
        summary="Sentence-by-sentence judgement with a trained relation model and regressor.",
        spec=ScorerSpec("sentences.json", "radreward.systems.sentence_eval.scorer.SentenceScorer"),
        facts=ScorerFacts(
            needs="nothing",
            mean="total: no; quality: yes",
            good=f"quality about 0.96 without an error, 0.61 with one, {_TYPICAL_VALUES}",
            licence="code and weights Apache-2.0; trained on SYNTHETIC reports only",
        ),
        folder=_SYSTEMS_DIR / "sentence_eval" / "embedded" / "scorer",
    ),
    **{
        f"bleu-{order}": NamedScorer(
            title=f"BLEU-{order}",
            summary=f"BLEU with n-grams up to {order}.",
            spec=_BLEU,
            facts=_LEXICAL._replace(mean="yes, as a mean over sentences; a corpus BLEU is another number"),
            settings={"order": order},
            packages=("sacrebleu",),
        )
        for order in (1, 2, 3, 4)
    },
    **{
        f"rouge-{variant}": NamedScorer(
            title=f"ROUGE-{variant.upper()}",
            summary=f"F1 of common {units}.",
            spec=_ROUGE,
            facts=_LEXICAL,
            settings={"variant": variant},
            packages=("rouge_score",),
        )
        for variant, units in (("1", "words"), ("2", "word pairs"), ("l", "subsequences"))
    },
    "chrf": NamedScorer(
        title="chrF",
        summary="F-score of character n-grams.",
        spec=ScorerSpec("chrf.json", "radreward.scorers.lexical.ChrF"),
        facts=_LEXICAL,
        packages=("sacrebleu",),
    ),
    "meteor": NamedScorer(
        title="METEOR (exact and stem)",
        summary="METEOR with exact and stem matches, without synonyms.",
        spec=ScorerSpec("meteor.json", "radreward.scorers.meteor.METEOR"),
        facts=_LEXICAL,
        packages=("nltk",),
    ),
    "cider": NamedScorer(
        title="CIDEr-D",
        summary="N-gram similarity weighted by TF-IDF.",
        spec=ScorerSpec("cider.json", "radreward.scorers.cider.CIDEr"),
        facts=_LEXICAL._replace(
            needs="nothing; its word weights come from the references of the run",
            mean="yes, within one set of references",
        ),
    ),
    "entity-f1": NamedScorer(
        title="Entity F1 (SPICE-like)",
        summary="F1 of entities with their location, severity and type.",
        spec=ScorerSpec("entity_f1.json", "radreward.scorers.entity_f1.EntityF1"),
        facts=_RULES,
    ),
    "chexpert-f1": NamedScorer(
        title="CheXpert label F1 (rules)",
        summary="F1 of fourteen CheXpert observations labeled by rules.",
        spec=ScorerSpec("chexpert_f1.json", "radreward.scorers.chexpert_labels.CheXpertLabelF1"),
        facts=_RULES,
    ),
    "temporal-f1": NamedScorer(
        title="Temporal F1 (rules)",
        summary="F1 of the findings with a change since a prior study: new, worse, better, stable, resolved.",
        spec=ScorerSpec("temporal_f1.json", "radreward.scorers.temporal.TemporalF1"),
        facts=_RULES._replace(
            mean="with care, because reports without a change have none", good="1: both state the same changes"
        ),
    ),
    "crimson": NamedScorer(
        title="CRIMSON (rules)",
        summary="CRIMSON's score of findings read by rules and names, weighted by significance, age and indication.",
        spec=ScorerSpec("crimson.json", "radreward.scorers.crimson.Crimson"),
        facts=ScorerFacts(
            needs="nothing",
            mean="yes; below 0, false findings outweigh what is right",
            good="1 for equal findings; 0 is no better than a normal report",
            licence="code Apache-2.0",
        ),
    ),
    "bertscore": NamedScorer(
        title="BERTScore (MiniLM)",
        summary="BERTScore F1 with any encoder.",
        spec=ScorerSpec("bertscore.json", "radreward.scorers.embedding.BERTScore"),
        facts=_LEXICAL._replace(
            needs="nothing, or an encoder after a colon",
            good="no threshold: opposite findings in similar words score high",
        ),
        argument="encoder",
    ),
    "chexbert": NamedScorer(
        title="CheXbert similarity",
        summary="Cosine similarity of CheXbert embeddings.",
        spec=ScorerSpec("chexbert.json", "radreward.scorers.embedding.CheXbertSimilarity"),
        facts=_PUBLISHED,
        argument="encoder",
        argument_help=_CHEXBERT_FOLDER,
    ),
    "radgraph": NamedScorer(
        title="RadGraph F1",
        summary="F1 of RadGraph entities and relations (package `radgraph`).",
        spec=ScorerSpec("radgraph.json", "radreward.scorers.radgraph.RadGraphF1"),
        facts=_PUBLISHED._replace(
            needs="the extra `radgraph`, which downloads its model at first use",
            mean="quality: yes; total: as published",
        ),
        argument="model",
        packages=("radgraph",),
    ),
    **{
        f"radcliq-{version}": NamedScorer(
            title=f"RadCliQ-{version}",
            summary=f"Linear combination of RadGraph F1, BERTScore, CheXbert and BLEU-2 ({version}).",
            spec=_RADCLIQ,
            facts=_PUBLISHED._replace(
                needs="the extras `radgraph` and `lexical`, and the folder of CheXbert after a colon",
                mean="yes; lower is better",
            ),
            settings={"version": version},
            argument="chexbert",
            argument_help=_CHEXBERT_FOLDER,
            packages=("radgraph", "nltk"),
            hub_models=("distilroberta-base",),
        )
        for version in ("v0", "v1")
    },
    "g-rad": NamedScorer(
        title="G-Rad",
        summary="Error counts by an LLM for the six RadCliQ error types.",
        spec=_ERROR_COUNT_JUDGE,
        facts=_JUDGE,
        settings={"criteria": "radcliq"},
        argument="model",
        **_CHAT_SERVER,
    ),
    "chexprompt": NamedScorer(
        title="CheXprompt",
        summary="Error counts by an LLM, significant and insignificant errors separately.",
        spec=_ERROR_COUNT_JUDGE,
        facts=_JUDGE,
        settings={"criteria": "radcliq-significance"},
        argument="model",
        **_CHAT_SERVER,
    ),
    "fineradscore": NamedScorer(
        title="FineRadScore",
        summary="Line-by-line corrections by an LLM, with severities.",
        spec=ScorerSpec("line_edit_judge.json", "radreward.scorers.llm_judge.LineEditJudge"),
        facts=_JUDGE,
        argument="model",
        **_CHAT_SERVER,
    ),
    "green": NamedScorer(
        title="GREEN",
        summary="Error analysis by the evidence of `er2score`, or by a generative evaluator: green:FOLDER.",
        spec=_GREEN,
        facts=_EVIDENCE_OR_EVALUATOR._replace(
            mean="yes, total and quality", good="1; half of the findings matched is 0.5"
        ),
        argument="model",
        without_argument=ScorerSpec("green_counter.json", "radreward.scorers.explained_counts.ExplainedGreen"),
    ),
    "green-official": NamedScorer(
        title="GREEN (official parser)",
        summary="GREEN's published weights, read by the parser of its published code: green-official:OWNER/NAME.",
        spec=_GREEN,
        facts=_JUDGE._replace(
            needs="the published weights after a colon, and their question (RADREWARD_GREEN_QUESTION)",
            mean="yes, total and quality",
            good="1; half of the findings matched is 0.5",
        ),
        settings={"parser": "official"},
        argument="model",
        argument_help="the Hub name of the published weights",
        argument_example="OWNER/NAME",
    ),
    "radeval": NamedScorer(
        title="RadEval",
        summary="A metric of the package RadEval, in an environment of its own: radeval:bleu, radeval:rouge.rougeL.",
        spec=ScorerSpec("radeval.json", "radreward.scorers.radeval.RadEvalScorer"),
        facts=ScorerFacts(
            needs="RadEval 2 in the interpreter that RADREWARD_RADEVAL_PYTHON names, and a metric of it after a colon",
            mean="as RadEval's metric",
            good="no threshold is known",
            licence="code Apache-2.0; RadEval MIT, its models have the terms of their publishers",
        ),
        argument="metric",
        argument_help="the name of a metric of RadEval",
        argument_example="bleu",
    ),
    "radreason": NamedScorer(
        title="RadReason",
        summary="Counts with reasons by the evidence of `er2score`, or by a generative evaluator: radreason:FOLDER.",
        spec=ScorerSpec("radreason.json", "radreward.systems.radreason.scorer.RadReasonScorer"),
        facts=_EVIDENCE_OR_EVALUATOR,
        argument="model",
        without_argument=ScorerSpec("radreason_counter.json", "radreward.scorers.explained_counts.ExplainedRadReason"),
    ),
}
"""Scorers by the name that `load` and the commands accept."""

CUSTOM = ScorerSpec("", "radreward.scorers.custom.CustomScorer")
"""Metric in a user's file, `my_file.py:my_metric`; never saved."""
_RADCLIQ_BLEU = ScorerSpec("radcliq_bleu.json", "radreward.scorers.radcliq.RadCliQBLEU2")
"""Component of RadCliQ, saved with it, without a name of its own."""
SCORER_SPECS = (
    *dict.fromkeys(entry.spec for entry in SCORERS.values()),
    *(entry.without_argument for entry in SCORERS.values() if entry.without_argument),
    _RADCLIQ_BLEU,
)
"""Classes of scorers that can be saved."""
