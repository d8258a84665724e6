"""The values that cross layers.

Shapes use C candidates, N criteria, P pairs, R rows, L tokens, M nodes a row; of rollouts, B prompts, G completions
of each, T tokens of a completion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from torch import Tensor


class Candidate(NamedTuple):
    """A report to be judged against a reference."""

    text: str
    errors: Mapping[str, float] | None = None
    """Known errors by criterion tag, or None where nobody counted them."""
    system: str | None = None
    """Who or what wrote the report."""


class ReportGroup(NamedTuple):
    """One reference and the candidates written for it."""

    id: str
    reference: str
    candidates: tuple[Candidate, ...]


class PromptSegments(NamedTuple):
    """A prompt as a path of text pieces, from the most shared to the candidate's own.

    The pieces are tokenised apart, so that equal pieces are equal tokens wherever they stand.
    """

    instruction: str
    """The same for every report judged by the same criteria; may be empty."""
    reference: str
    """The same for every candidate of one reference."""
    candidate: str
    """The candidate's own piece."""


class PackedBatch(NamedTuple):
    """Token rows, each a tree of nodes: a token sees the tokens of its own node and of its node's ancestors.

    A row that holds one path is an ordinary sequence, so packed and unpacked batches have one form.
    Nodes are contiguous in a row and stand after their parents.
    """

    input_ids: Tensor
    """(R, L) int64."""
    position_ids: Tensor
    """(R, L) int64; a node continues where its parent ends."""
    node_ids: Tensor
    """(R, L) int64: the node of each token, -1 where padded."""
    parent_ids: Tensor
    """(R, M) int64: the parent of each node, -1 for a root, -2 for a node that does not exist."""
    candidate_nodes: Tensor
    """(C, 2) int64: row and node of each candidate, in the order of the rewards."""


class RewardTargets(NamedTuple):
    """What is known of the candidates of a batch."""

    quality: Tensor
    """(C, N) float32, higher is better; NaN where unknown (scoring only)."""
    group: Tensor
    """(C,) int64: which reference the candidate belongs to."""
    pairs: Tensor
    """(P, 2) int64: indices of the accepted and the rejected candidate."""


class RewardTrainingBatch(NamedTuple):
    """What the data module hands to a reward module."""

    packed: PackedBatch
    targets: RewardTargets
    ids: tuple[str, ...]
    """Ids of the groups, for messages."""
    num_truncated: int
    """How many prompts were cut to fit, by the policy that was chosen."""


class RewardBatch(NamedTuple):
    """What an objective sees: tensors only."""

    rewards: Tensor
    """(C, N) float32, one row per candidate."""
    quality: Tensor
    """(C, N) float32 targets, higher is better."""
    group: Tensor
    """(C,) int64: which reference."""
    pairs: Tensor
    """(P, 2) int64: accepted, rejected."""
    error_weights: Tensor | None = None
    """(N,) what one error takes off the quality of its criterion; 1 each where nothing is given."""


class ObjectiveOutput(NamedTuple):
    """Losses before any reduction, and what to log."""

    losses: Tensor
    """(P,), (C,) or (groups,), as the objective defines; never reduced."""
    logs: dict[str, Tensor]
    """Detached scalars for logging."""


class RolloutPromptBatch(NamedTuple):
    """What the data module hands to a policy: B prompts, one for each candidate."""

    prompts: tuple[tuple[tuple[int, ...], ...], ...]
    """(B,) pieces of token ids, from the most shared to the prompt's own."""
    target: Tensor
    """(B, N) float32: known errors."""
    report_pairs: tuple[tuple[str, str], ...]
    """(B,) reference and candidate."""
    ids: tuple[str, ...]
    """Ids of the groups."""
    group: Tensor
    """(B,) int64: which of `ids` a prompt is of."""
    num_truncated: int
    """How many prompts were cut to fit, by the policy that was chosen."""


class ParsedCompletions(NamedTuple):
    """What a policy answered to B prompts, G times each, as it was read: what rewards are made of."""

    error_counts: Tensor
    """(B, G, N) float32: the errors of each criterion that the completion states; NaN where none can be read."""
    target: Tensor
    """(B, N) float32: those that are known."""
    well_formed: Tensor
    """(B, G) bool: whether the whole completion has the form that was asked for."""
    mentioned: Tensor
    """(B, G, N) bool: whether its reasoning speaks of the criterion."""
    texts: tuple[tuple[str, ...], ...]
    """(B, G) the completions."""
    report_pairs: tuple[tuple[str, str], ...]
    """(B,) reference and candidate of each prompt."""


class AdvantageEstimate(NamedTuple):
    """What completions are worth."""

    advantages: Tensor
    """(B, G) float32: how much more likely to make each completion; 0 for one without a gradient."""
    rewards: Tensor
    """(B, G) float32, NaN where a completion has none."""
    advantage_scales: Tensor
    """(B, G) float32: by what the advantages were scaled."""
    logs: dict[str, Tensor]
    """Detached scalars for logging."""


class ErrorAnalysis(NamedTuple):
    """A judgement with its reasons, as a model is to write it: N criteria."""

    error_counts: tuple[float, ...]
    """(N,) errors of each criterion."""
    explanation: str
    """What was compared, in words."""
    error_texts: tuple[tuple[str, ...], ...]
    """(N,) the errors of each criterion in words; may be fewer than are counted."""
    matched_findings: tuple[str, ...]
    """Findings that both reports have."""


class SFTBatch(NamedTuple):
    """Prompts with the answers that a model is to learn."""

    packed: PackedBatch
    """Each answer is in the node of its candidate."""
    labels: Tensor
    """(R, L) int64: the token that follows, where it belongs to an answer; -100 elsewhere."""
    error_counts: Tensor
    """(C, N) float32 known errors."""
    prompts: tuple[list[list[int]], ...]
    """(C,) the prompts without answers, as pieces of token ids."""
    answers: tuple[str, ...]
    """(C,) the answers as text."""
    report_pairs: tuple[tuple[str, str], ...]
    """(C,) reference and candidate."""
    ids: tuple[str, ...]
    """Ids of the groups."""
    group: Tensor
    """(C,) int64: which of `ids` a candidate is of."""


class Rollouts(NamedTuple):
    """Completions as the log-probabilities of their tokens, under several policies."""

    logps: Tensor
    """(B, G, T) by the policy that is trained; hangs on its weights."""
    old_logps: Tensor
    """(B, G, T) by the policy as it drew them."""
    ref_logps: Tensor | None
    """(B, G, T) by the policy before training; None where it does not matter."""
    mask: Tensor
    """(B, G, T) bool: the tokens of a completion, not the padding behind it."""
    advantages: Tensor
    """(B, G) what each completion is worth, see `AdvantageEstimate`."""


class Scores(NamedTuple):
    """Scores in the order and length of the input, always."""

    total: Tensor
    """(n,) float32; NaN where a row has no score: its `status` is neither "ok" nor "truncated"."""
    sub_scores: Tensor | None
    """(n, N) float32: one score per criterion, higher is better."""
    error_counts: Tensor | None
    """(n, N) float32: expected errors per criterion, in the unit of the criteria."""
    status: tuple[str, ...]
    """"ok", "truncated" (a score of reports that were cut), or why the row has no score."""
    evidence: tuple[Any, ...] | None = None
    """Whatever a scorer shows for its score, one entry per row."""


class Explanation(NamedTuple):
    """What a model that explains said of a candidate, as it was read."""

    raw_answer: str
    """All that it wrote."""
    finish_reason: str
    """"stop" where it ended by itself, "length" where the longest answer ended it."""
    format_error: str | None
    """The first thing about the answer that is not as it was asked for; a score may be read all the same."""
    explanation: str | None
    """Its reasons."""
    significant: dict[str, float | None]
    """Errors by criterion; those that matter for the patient's care, where the model tells them apart."""
    insignificant: dict[str, float | None]
    """Errors that do not matter; empty where the model does not tell them apart."""
    errors: dict[str, tuple[str, ...]]
    """The errors in words, by criterion; significant ones first."""
    num_matched: float | None
    """Findings that both reports have; None where the model does not count them."""
    matched_findings: tuple[str, ...]
    """These findings, in words."""


ENTITY_TYPES = ("Abnormality", "Anatomy", "Disease", "Non-Abnormality", "Non-Disease")
"""What an entity of a report can be (RaTEScore, section 3.1); rows and columns of affinities are in this order."""


class Entity(NamedTuple):
    """A medical entity in a text."""

    name: str
    """The words, as they stand in the text."""
    type: str
    """One of `ENTITY_TYPES`."""
    start: int
    """Offset of its first character."""
    end: int
    """Offset behind its last character."""


class Message(NamedTuple):
    """One turn of a chat."""

    role: str
    """"system", "user" or "assistant"."""
    content: str
    """What is said; its text is only text."""


class ChatRequest(NamedTuple):
    """What a chat model is asked, and how it is to answer."""

    messages: tuple[Message, ...]
    """The turns so far; the last is the user's."""
    temperature: float = 0.0
    """0 takes the likeliest token each time; higher draws more freely."""
    top_p: float = 1.0
    """Draws are from the likeliest tokens that have this probability together."""
    max_tokens: int = 1024
    """The longest answer."""
    seed: int = 0
    """Of the draws; repetitions of a request differ in it."""


class ChatResponse(NamedTuple):
    """What a chat model answered, or why it did not."""

    text: str
    """Empty where there is no answer."""
    finish_reason: str
    """"stop" where it ended by itself, "length" where `max_tokens` ended it, or what else the server says."""
    prompt_tokens: int | None
    """Tokens of the request; None where nobody counted them."""
    completion_tokens: int | None
    """Tokens of the answer; None where nobody counted them."""
    status: str
    """"ok", or why there is no answer."""


class SentenceScore(NamedTuple):
    """How well a sentence of one report is met by the other report."""

    score: float
    """1 the same, 0.5 partly, -1 a contradiction, 0 no counterpart; between them where repetitions are averaged."""
    matches: tuple[int, ...]
    """Places of its counterparts among the sentences of the other report."""
    probabilities: tuple[float, ...] | None = None
    """How likely the scores 0, 0.5, 1 and -1 are, in this order: the share of the repetitions that give each, or what
    a model says; None where `score` is the only one."""


class SentenceJudgement(NamedTuple):
    """A pair of reports judged sentence by sentence (Zhu et al., 2024)."""

    reference_scores: tuple[SentenceScore | None, ...]
    """(m) for the sentences of the reference; None where a sentence has no score."""
    candidate_scores: tuple[SentenceScore | None, ...]
    """(n) for the sentences of the candidate."""
    overall: float | None
    """From 0 (poor) to 5 (excellent); None where it was not given."""
    explanation: str
    """Why, in words; may be empty."""
    format_errors: dict[str, int]
    """What was wrong with the answer, counted, by the names in `radreward.systems.sentence_eval.parser.FORMAT_ERRORS`."""
    status: str
    """"ok", "partial: " and what is missing, or why there is no judgement."""
