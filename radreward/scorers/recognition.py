"""Recognition of reports, without the imports that it needs until it is used."""

from __future__ import annotations


def is_report(text: str) -> bool:
    """Return True if a text has a word of a report, or describes a finding in other words.

    >>> is_report("Clear lungs."), is_report("The backbone bends slightly to the left."), is_report("The cat sat.")
    (True, True, False)
    """
    from radreward.text.recognition import reads_as_report  # half a second to import

    if reads_as_report(text):
        return True
    from radreward.models.finding_gate import embedded_gate  # imports the encoder
    from radreward.models.report_findings import describes_finding

    return describes_finding(text, embedded_gate())
