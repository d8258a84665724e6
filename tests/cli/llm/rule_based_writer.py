"""A writer that answers correctly by rules, for a report with one finding per sentence."""

from __future__ import annotations

import re

from radreward.criteria import RadCliQCriteria

REFERENCE = (
    "There is a small left pleural effusion. Mild cardiomegaly is seen. There is a right rib fracture. "
    "There is mild pulmonary edema. There is scoliosis. There is a hiatal hernia."
)
SENTENCES = [f"{sentence.strip('. ')}." for sentence in REFERENCE.split(". ")]
NUM_OMISSIONS = {"good": 1, "fair": 3, "bad": 5}


def format_counts(**counts: int) -> str:
    """Return the counts section of an answer, with RadCliQ criteria."""
    all_counts = dict.fromkeys(RadCliQCriteria().tags, 0) | counts
    return "[Counts]\n" + "\n".join(f"{tag}: {count}" for tag, count in all_counts.items())


def answer_with_omissions(sentences: list[str], num_omissions: int) -> str:
    """Return an answer whose candidate omits the first sentences and whose errors list the omissions."""
    errors = [f'omission | "{sentence}" | none | it is left out' for sentence in sentences[:num_omissions]]
    candidate = " ".join([*sentences[num_omissions:], "No pneumothorax."])
    return f"[Candidate]\n{candidate}\n[Errors]\n" + "\n".join(errors) + "\n" + format_counts(omission=num_omissions)


def requested_tier(messages: list[dict[str, str]]) -> str:
    """Return the tier that the prompt requests."""
    match = re.search(r"with (\d) to", messages[-1]["content"])
    return {"0": "good", "3": "fair", "5": "bad"}[match[1]] if match else "none"


def answer_correctly(messages: list[dict[str, str]], number: int) -> str:
    """Omit as many sentences as the requested tier has errors."""
    return answer_with_omissions(SENTENCES, NUM_OMISSIONS[requested_tier(messages)])
