"""RadGraph F1 by the `radgraph` package."""

from __future__ import annotations

import contextlib
import functools
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import chain
from typing import Any

import torch
from huggingface_hub import constants

from radreward.devices import resolve_device
from radreward.errors import InputError
from radreward.metrics.text_overlap import set_f1
from radreward.models.finding_comparison import break_ties, compare_findings
from radreward.models.marked_findings import MarkedFinding, unmatched_parts
from radreward.models.report_findings import ReportFindings
from radreward.models.rules_version import rules_version
from radreward.scorers.stateless import StatelessScorer
from radreward.scorers.status import STATUS_OK
from radreward.text.patient_context import PatientContext
from radreward.text.sentence_parser import sentence_facts
from radreward.types import Scores, Side

MODELS = ("radgraph", "radgraph-xl", "modern-radgraph-xl", "echograph")
"""Models of the package."""
_FINDING_LABEL = re.compile(r"OBS-(?:DP|U)|Observation::(?:definitely present|uncertain)")
"""Start of the labels, in all models of the package, of observations that are present or uncertain."""


class RadGraphF1(StatelessScorer):
    """Mean of the F1 of common entities and of common relations of two reports (Yu et al., 2023), in [0, 1].

    An entity is its words and label, a relation its two entities and its type. F1 = 2 |A ∩ B| / (|A| + |B|), and 0 if
    both sets are empty. As published, identical reports without relations therefore score 0.5. The sub-scores are the
    two F1. The evidence lists entities that only one report has. The quality is that of
    the names of present and uncertain observations, without their places and degrees: rules compare those that they
    read, see `compare_findings`, and the others agree if their head words do, see `head_word`. The total
    breaks ties, see `break_ties`.

    Args:
        model: One of `MODELS`.
        device: Device of the model; the package supports CUDA and the CPU, and other devices become the CPU.
        allow_download: Let the package download its model if it is not on this machine.

    Raises:
        InputError: If the package is not installed or has no such model. When reports are scored, also if the model
            cannot be loaded.
    """

    config_name = "radgraph.json"
    packages = ("radgraph",)
    title = "RadGraph F1"
    total_range = (0.0, 1.0)
    has_quality = True
    uses_context = True
    setting_names = ("model",)

    def __init__(self, model: str = "radgraph", device: str = "auto", allow_download: bool = False) -> None:
        super().__init__()
        if model not in MODELS:
            raise InputError(f"{self.title}: Expected a model of {', '.join(MODELS)} but got {model!r}.")
        self.model, self.allow_download = model, allow_download
        self.device: torch.device = _supported_device(resolve_device(device))
        self._model: Any = None

    @property
    def sub_names(self) -> tuple[str, ...]:
        """See `Scorer.sub_names`."""
        return ("entities", "relations")

    def code_version(self) -> str:
        """See `StatelessScorer.code_version`. The version includes the rules."""
        return super().code_version() + rules_version()

    def _score_in_context(
        self, references: Sequence[str], candidates: Sequence[str], contexts: Sequence[PatientContext]
    ) -> Scores:
        """See `Scorer._score_in_context`."""
        texts = list(dict.fromkeys((*references, *candidates)))
        annotations = dict(zip(texts, self._annotate(texts), strict=True))
        rows = [(annotations[r], annotations[c]) for r, c in zip(references, candidates, strict=True)]
        f1 = [[set_f1(*sets, if_empty=0.0) for sets in zip(ref, cand, strict=True)] for ref, cand in rows]
        sub_scores = torch.tensor(f1).view(-1, 2).float()
        evidence = tuple(
            {"missing": sorted(map(str, ref[0] - cand[0])), "extra": sorted(map(str, cand[0] - ref[0]))}
            for ref, cand in rows
        )
        quality = torch.tensor(
            [
                compare_findings(_findings(ref[0]), _findings(cand[0]), context).quality_by_head_word()
                for (ref, cand), context in zip(rows, contexts, strict=True)
            ]
        )
        total = sub_scores.mean(1)
        return Scores(total, sub_scores, None, (STATUS_OK,) * len(rows), evidence, break_ties(quality, total))

    def mark_findings(self, evidence: Mapping[str, Sequence[str]], texts: Mapping[Side, str]) -> list[MarkedFinding]:
        """See `Scorer.mark_findings`."""
        return unmatched_parts(evidence)

    def _annotate(self, texts: Sequence[str]) -> list[tuple[set[Any], set[Any]]]:
        """Return entities and relations of each text."""
        if not texts:
            return []
        if self._model is None:
            self._model = _load_model(self.model, self.device, self.allow_download)
        with warnings.catch_warnings():  # of the package, about sentences of one token
            warnings.filterwarnings("ignore", "Document .* has a sentence with a single token", UserWarning)
            annotations: Mapping[str, Any] = self._model(list(texts))
        return [_entity_and_relation_sets(annotations[str(index)]["entities"]) for index in range(len(texts))]


@contextlib.contextmanager
def _offline() -> Iterator[None]:
    """Block requests to the Hub; the package has no setting for it."""
    before, constants.HF_HUB_OFFLINE = constants.HF_HUB_OFFLINE, True
    try:
        yield
    finally:
        constants.HF_HUB_OFFLINE = before


def _supported_device(device: torch.device) -> torch.device:
    return device if device.type == "cuda" else torch.device("cpu")


def _load_model(name: str, device: torch.device, allow_download: bool) -> Any:
    cuda = (device.index or 0) if device.type == "cuda" else -1
    connection = contextlib.nullcontext() if allow_download else _offline()
    # The package prints the device and changes the filters of warnings.
    with connection, contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        from radgraph import RadGraph
        from radgraph.allennlp.common import cached_transformers

        if not hasattr(cached_transformers.get_tokenizer, "__wrapped__"):
            cached_transformers.get_tokenizer = _with_removed_methods(cached_transformers.get_tokenizer)
        try:
            return RadGraph(model_type=name, cuda=cuda)
        except Exception as error:  # the package raises nothing more specific
            reason = " ".join(str(error).split())
            remedy = "" if allow_download else " Use --allow-download, or `allow_download=True`, to download it."
            raise InputError(f"{RadGraphF1.title}: the model {name!r} cannot be loaded ({reason}).{remedy}") from error


def _with_removed_methods(get_tokenizer: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap the package's loader of tokenizers: it calls two methods that transformers 5 removed."""

    @functools.wraps(get_tokenizer)
    def get_compatible_tokenizer(*args: Any, **settings: Any) -> Any:
        tokenizer = get_tokenizer(*args, **settings)
        tokenizer.encode_plus = tokenizer.__call__
        # Every model of the package has a BERT tokenizer.
        tokenizer.build_inputs_with_special_tokens = lambda ids: [tokenizer.cls_token_id, *ids, tokenizer.sep_token_id]
        return tokenizer

    return get_compatible_tokenizer


def _findings(entities: Set[tuple[str, str]]) -> ReportFindings:
    """Return the findings that the observations name which are not absent.

    >>> entities = {("edema", "OBS-DP"), ("mass", "Observation::definitely absent"), ("lung", "ANAT-DP")}
    >>> [fact.finding for fact in _findings(entities).facts]
    ['edema']
    """
    names = sorted({words.lower() for words, label in entities if _FINDING_LABEL.match(label)})
    facts = {name: tuple(fact for fact in sentence_facts(name) if fact.positive) for name in names}
    return ReportFindings(
        tuple(dict.fromkeys(chain.from_iterable(facts.values()))), tuple(name for name, own in facts.items() if not own)
    )


def _entity_and_relation_sets(entities: Mapping[str, Mapping[str, Any]]) -> tuple[set[Any], set[Any]]:
    by_number = {number: (str(entity["tokens"]), str(entity["label"])) for number, entity in entities.items()}
    relations = {
        (by_number[number], by_number[str(target)], relation_type)
        for number, entity in entities.items()
        for relation_type, target in entity["relations"]
    }
    return set(by_number.values()), relations
