"""A writer that answers rightly, by rule, for reports of single findings."""

from __future__ import annotations

import re

from radreward.criteria import RadCliQCriteria

REFERENCE = (
    "There is a small left pleural effusion. Mild cardiomegaly is seen. There is a right rib fracture. "
    "There is mild pulmonary edema. There is scoliosis. There is a hiatal hernia."
)
SENTENCES = [f"{sentence.strip('. ')}." for sentence in REFERENCE.split(". ")]
LOST = {"good": 1, "fair": 3, "bad": 5}


def counted(**counts: int) -> str:
    """Counts of RadCliQ as an answer has them."""
    found = dict.fromkeys(RadCliQCriteria().tags, 0) | counts
    return "[Counts]\n" + "\n".join(f"{tag}: {count}" for tag, count in found.items())


def leaving_out(sentences: list[str], lost: int) -> str:
    """A candidate that leaves so many sentences out, and says so."""
    errors = [f'omission | "{sentence}" | none | it is left out' for sentence in sentences[:lost]]
    candidate = " ".join([*sentences[lost:], "No pneumothorax."])
    return f"[Candidate]\n{candidate}\n[Errors]\n" + "\n".join(errors) + "\n" + counted(omission=lost)


def tier_of(messages: list[dict[str, str]]) -> str:
    """The tier that is asked for."""
    told = re.search(r"with (\d) to", messages[-1]["content"])
    return {"0": "good", "3": "fair", "5": "bad"}[told[1]] if told else "none"


def honest(messages: list[dict[str, str]], number: int) -> str:
    """Leaves out as many sentences as the tier has errors."""
    return leaving_out(SENTENCES, LOST[tier_of(messages)])
