"""Records passed between layers.

Shapes use C candidates, N criteria, P pairs, R rows, L tokens and M nodes per row; for rollouts, B prompts,
G completions per prompt and T tokens per completion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from radreward.score_display import scores_frame, scores_html, scores_summary

if TYPE_CHECKING:
    from pandas import DataFrame
    from torch import Tensor, device

__all__ = [
    "AdvantageEstimate",
    "Candidate",
    "Entity",
    "FindingWeightsBatch",
    "FindingWeights",
    "LocatedError",
    "LocatedErrorBatch",
    "ObjectiveOutput",
    "ParsedCompletions",
    "PromptSegments",
    "ReportGroup",
    "RewardBatch",
    "Scores",
    "Side",
]

# Batches that Lightning moves to a device stay named tuples: it does not accept frozen dataclasses.


class Side(StrEnum):
    """One of the two reports of a pair.

    >>> Side.CANDIDATE.other
    'reference'
    """

    REFERENCE = "reference"
    CANDIDATE = "candidate"

    @property
    def other(self) -> Side:
        """The other report."""
        return Side.CANDIDATE if self is Side.REFERENCE else Side.REFERENCE

    def __repr__(self) -> str:
        """Return the quoted name, which reads well in printed evidence."""
        return repr(self.value)


class FindingWeights(NamedTuple):
    """Findings of a candidate, weighted by clinical significance; see `radreward.criteria.finding_quality`."""

    matched: float
    """Weight of the reference's findings that the candidate states, with partial credit where details differ; >= 0."""
    wrong: float
    """Weight of false findings, missed findings and wrong details; >= 0."""


class LocatedError(NamedTuple):
    """One or more errors of a candidate, and the statements that contain them."""

    side: Side
    """Report with the statements: the candidate for a false or wrong finding, the reference for a missed one."""
    statements: tuple[str, ...]
    """Parts of its text; several if it states the finding more than once."""
    errors: Mapping[str, float]
    """Error counts by criterion tag."""
    wrong: float | None = None
    """Their part of `FindingWeights.wrong`; None if unknown."""


class Candidate(NamedTuple):
    """A report to be judged against a reference."""

    text: str
    errors: Mapping[str, float] | None = None
    """Error counts by criterion tag; None if unavailable."""
    system: str | None = None
    """Author of the report: a model or a person."""
    finding_weights: FindingWeights | None = None
    """None if unknown."""
    located_errors: tuple[LocatedError, ...] | None = None
    """All errors of the candidate with their statements; None if unknown."""


class ReportGroup(NamedTuple):
    """One reference and its candidates."""

    id: str
    reference: str
    candidates: tuple[Candidate, ...]


class PromptSegments(NamedTuple):
    """A prompt in three text segments, ordered from the most shared to the most specific.

    Segments are tokenized separately, so that equal segments give equal tokens in every prompt.
    """

    instruction: str
    """Shared by all reports judged by the same criteria; may be empty."""
    reference: str
    """Shared by all candidates of one reference."""
    candidate: str
    """Specific to the candidate."""


class TokenPath(NamedTuple):
    """Token ids of one candidate's prompt."""

    shared: tuple[tuple[int, ...], ...]
    """Segments that other candidates may share, from the root."""
    own: tuple[tuple[int, ...], ...]
    """Nodes below the last shared segment, which do not see each other: the candidate, or each of its statements."""
    unrelated: tuple[bool, ...] = ()
    """True for each own segment whose findings the reference does not have, see `is_unrelated`; empty for none."""

    @property
    def segments(self) -> list[list[int]]:
        """All segments, from the root."""
        return [list(segment) for segment in (*self.shared, *self.own)]

    @property
    def num_tokens(self) -> int:
        """Number of tokens of all segments."""
        return sum(map(len, self.shared)) + self.num_own_tokens

    @property
    def num_own_tokens(self) -> int:
        """Number of tokens of the candidate."""
        return sum(map(len, self.own))


class PackedBatch(NamedTuple):
    """Token nodes, one after the other and without padding.

    T tokens, M nodes, C candidates. A token attends to its own node and to the ancestors of that node. A path without
    branches is an ordinary sequence, so packed and separate sequences have the same form. The nodes are Python numbers,
    so that a model on a GPU reads them without waiting for the device.
    """

    input_ids: Tensor
    """(T,) int64."""
    position_ids: Tensor
    """(T,) int64: number of tokens before this one on its path."""
    node_lengths: tuple[int, ...]
    """(M,) number of tokens of each node, in the order of the tokens."""
    parent_ids: tuple[int, ...]
    """(M,) parent of each node, which precedes it; -1 for a root."""
    candidate_nodes: tuple[tuple[int, ...], ...]
    """(C,) own nodes of each candidate, in the order of the rewards; one unless the template separates statements."""
    unrelated: tuple[tuple[bool, ...], ...]
    """(C,) True for each own node whose findings the reference does not have."""

    def to(self, device: device) -> PackedBatch:
        """Return the batch with its tokens on a device; Lightning calls this method, too."""
        ids, positions = (tensor.to(device, non_blocking=device.type == "cuda") for tensor in self[:2])
        return self._replace(input_ids=ids, position_ids=positions)

    @property
    def leaf_nodes(self) -> tuple[int, ...]:
        """(C,) the node of each candidate.

        Raises:
            ValueError: If a candidate has several nodes.
        """
        if any(len(nodes) != 1 for nodes in self.candidate_nodes):
            raise ValueError("Expected one node per candidate. Use a template that does not separate statements.")
        return tuple(node for (node,) in self.candidate_nodes)


class LocatedErrorTargets(NamedTuple):
    """Errors of the statements of a batch; statements that share a located error count as one statement."""

    candidate: Tensor
    """(C, S) int64: statement of each token of the candidate's node; -1 at padding and if errors are not located."""
    reference: Tensor
    """(C, S') int64: the same of the node of its reference."""
    amounts: Tensor
    """(R, N + 2) float32 error counts, matched and wrong weight of each statement of the batch; NaN if unknown."""


class RewardTargets(NamedTuple):
    """Targets of the candidates in a batch."""

    rewards: Tensor
    """(C, N) float32 target rewards, higher is better; NaN if unknown (scoring only)."""
    group: Tensor
    """(C,) int64: index of the candidate's reference."""
    pairs: Tensor
    """(P, 2) int64: indices of the accepted and the rejected candidate."""
    finding_weights: Tensor
    """(C, 2) float32: matched and wrong weight; NaN if unknown."""
    located_errors: LocatedErrorTargets | None = None
    """None if no objective needs them."""


class RewardTrainingBatch(NamedTuple):
    """Input of a reward module."""

    packed: PackedBatch
    targets: RewardTargets
    ids: tuple[str, ...]
    """Group ids, for messages."""
    num_truncated: int
    """Number of prompts truncated to the maximum length."""
    report_pairs: tuple[tuple[str, str], ...]
    """C references and candidates."""


class FindingWeightsBatch(NamedTuple):
    """Finding weights of C candidates: matched and wrong, see `FindingWeights`."""

    predicted: Tensor
    """(C, 2) float32, before calibration."""
    target: Tensor
    """(C, 2) float32; NaN if unknown."""


class LocatedErrorBatch(NamedTuple):
    """Evidence of the tokens of C candidates and of their references, and the errors of their statements."""

    candidate: Tensor
    """(C, S, K) float32 evidence of the first K kinds of `LocatedErrorTargets.amounts`."""
    reference: Tensor
    """(C, S', K) float32."""
    targets: LocatedErrorTargets


class OptionalPart(StrEnum):
    """A part of a `RewardBatch` that an objective may need, and the field of a `Candidate` with its targets."""

    FINDING_WEIGHTS = "finding_weights"
    LOCATED_ERRORS = "located_errors"


class RewardBatch(NamedTuple):
    """Input of an objective on rewards: tensors only."""

    rewards: Tensor
    """(C, N) float32."""
    targets: Tensor
    """(C, N) float32 target rewards, higher is better."""
    group: Tensor
    """(C,) int64: index of the candidate's reference."""
    pairs: Tensor
    """(P, 2) int64: indices of the accepted and the rejected candidate."""
    weights: Tensor | None = None
    """(N,) reward lost per error of each criterion; None means 1 for each."""
    finding_weights: FindingWeightsBatch | None = None
    """None if the model does not predict them."""
    located_errors: LocatedErrorBatch | None = None
    """None if the model gives no evidence per token."""


class ObjectiveOutput(NamedTuple):
    """Loss of an objective, and values to log."""

    loss: Tensor
    """() to minimize; its mean over ranks is the loss of the whole batch."""
    logs: dict[str, Tensor]
    """Detached scalars."""


class RolloutPromptBatch(NamedTuple):
    """Input of a policy: B prompts, one per candidate."""

    prompts: tuple[tuple[tuple[int, ...], ...], ...]
    """(B,) token ids in segments, ordered from the most shared to the most specific."""
    target: Tensor
    """(B, N) float32 target error counts."""
    report_pairs: tuple[tuple[str, str], ...]
    """(B,) reference and candidate."""
    ids: tuple[str, ...]
    """Group ids."""
    group: Tensor
    """(B,) int64: index into `ids`."""
    num_truncated: int
    """Number of prompts truncated to the maximum length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedCompletions:
    """G parsed completions for each of B prompts: the input of reward functions."""

    error_counts: Tensor
    """(B, G, N) float32 error counts stated by the completion; NaN if unparsable."""
    target: Tensor
    """(B, N) float32 target error counts."""
    well_formed: Tensor
    """(B, G) bool: True if the completion follows the requested format."""
    mentioned: Tensor
    """(B, G, N) bool: True if the reasoning mentions the criterion."""
    texts: tuple[tuple[str, ...], ...]
    """(B, G) completions."""
    report_pairs: tuple[tuple[str, str], ...]
    """(B,) reference and candidate of each prompt."""


class AdvantageEstimate(NamedTuple):
    """Rewards and advantages of completions."""

    advantages: Tensor
    """(B, G) float32; 0 for a completion without gradient."""
    rewards: Tensor
    """(B, G) float32; NaN if the completion has no reward."""
    advantage_scales: Tensor
    """(B, G) float32 factors already applied to the advantages."""
    logs: dict[str, Tensor]
    """Detached scalars."""


class Scores(NamedTuple):
    """Scores in the order and length of the input."""

    total: Tensor
    """(n,) float32; NaN if the row has no score, see `status`."""
    sub_scores: Tensor | None
    """(n, N) float32, one score per criterion, higher is better."""
    error_counts: Tensor | None
    """(n, N) float32 expected errors per criterion."""
    status: tuple[str, ...]
    """"ok", "truncated" (scored on truncated reports), or the reason why the row has no score."""
    evidence: tuple[Any, ...] | None = None
    """Scorer-specific explanation of each row."""
    quality: Tensor | None = None
    """(n,) float32 correct share of the candidate, from 0 to 1, see `radreward.criteria.finding_quality`; NaN if
    undefined for a row, None if not computed. Unlike a sum of errors, it may be averaged over references."""
    errors: Tensor | None = None
    """(n,) float32 expected number of errors: the sum of `error_counts` over criteria, unweighted and not rounded; NaN
    if a count is unknown, None if the scorer counts no errors."""
    sub_names: tuple[str, ...] | None = None
    """Names of the sub-scores."""
    count_names: tuple[str, ...] | None = None
    """Names of the criteria of the error counts."""
    status_fields: tuple[str | None, ...] | None = None
    """Report that each status is about, "reference" or "candidate"; None if it is the pair."""

    def to_pandas(self, index: Any = None) -> DataFrame:
        """Return a data frame: total, quality, errors, sub-scores, `count_<criterion>`, status and evidence.

        Args:
            index: Labels of the rows, such as the `index` of the frame that was scored; defaults to 0, 1, ...
        """
        return scores_frame(self, index)

    def __repr__(self) -> str:
        """Return a line with the number of pairs, the mean total, and the first pair without a score."""
        return scores_summary(self)

    def _repr_html_(self) -> str:
        """Return an HTML table for notebooks; for a single pair, also the content that only one report has."""
        return scores_html(self)


ENTITY_TYPES = ("Abnormality", "Anatomy", "Disease", "Non-Abnormality", "Non-Disease")
"""Entity types of RaTEScore (section 3.1), in the order of the rows and columns of an affinity matrix."""


class Entity(NamedTuple):
    """A medical entity in a text."""

    name: str
    """The words as written in the text."""
    type: str
    """One of `ENTITY_TYPES`."""
    start: int
    """Offset of the first character."""
    end: int
    """Offset after the last character."""
