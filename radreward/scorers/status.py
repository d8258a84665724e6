"""Statuses of scored pairs; the status of another pair is the reason why it has no score."""

STATUS_OK = "ok"
STATUS_TRUNCATED = "truncated"
STATUS_NOT_FINITE = "Expected a finite score but the model gave none"
STATUS_NO_ENTITIES = "no entities: the score is that of the setting"
_NOTHING_READ = "no statement of the {} is read: the score does not cover it"
STATUS_REFERENCE_UNREAD = _NOTHING_READ.format("reference")
STATUS_CANDIDATE_UNREAD = _NOTHING_READ.format("candidate")
STATUS_NO_REPORT = "no finding and no normal statement recognised"
"""Start of the status of a pair in which one text is not a report. The name of the text follows."""
SCORED_STATUSES = frozenset(
    {STATUS_OK, STATUS_TRUNCATED, STATUS_NO_ENTITIES, STATUS_REFERENCE_UNREAD, STATUS_CANDIDATE_UNREAD}
)
"""Statuses of rows with a score."""
