"""Cases to rate as tasks of Label Studio, with the configuration of its labels."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from xml.sax.saxutils import quoteattr

from radreward.criteria import Criteria
from radreward.io.artifacts import write_json
from radreward.io.atomic import write_text_file
from radreward.meta_evaluation.converters.label_studio import INSIGNIFICANT
from radreward.meta_evaluation.converters.rating_key import RatingCase
from radreward.meta_evaluation.converters.ratings import MAX_RATING
from radreward.types import Side


def write_label_studio(cases: Sequence[RatingCase], criteria: Criteria, digest: str, path: Path) -> Path:
    """Write tasks as JSON to `path`, and the labelling configuration beside them as XML; return the path of the XML.

    A task has the number of its case in the key instead of id, group and system, as annotators see all fields.

    Raises:
        InputError: If a file cannot be written.
    """
    shared = {"digest": digest, "criteria": list(criteria.tags)}
    tasks = [
        {"data": {"case": number, "reference": case.reference, "candidate": case.candidate, **shared}}
        for number, case in enumerate(cases, 1)
    ]
    write_json(path, tasks)
    config = path.with_suffix(".xml")
    write_text_file(config, _labelling_config(criteria))
    return config


def _labelling_config(criteria: Criteria) -> str:
    """Return the labelling configuration: spans with a type of error and a significance, a rating, and a note."""
    labels = "".join(f"<Label value={quoteattr(tag)}/>" for tag in criteria.tags)
    lines = ["<View>"]
    for side in Side:
        lines += [
            f'  <Header value="{side.capitalize()}"/>',
            f'  <Labels name="{side}_errors" toName="{side}">{labels}</Labels>',
            f'  <Text name="{side}" value="${side}"/>',
            f'  <Choices name="{side}_significance" toName="{side}" perRegion="true">',
            f'    <Choice value="significant"/><Choice value="{INSIGNIFICANT}"/>',
            "  </Choices>",
        ]
    lines += ['  <Header value="Rating of the candidate"/>']
    lines += [f'  <Rating name="rating" toName="candidate" maxRating="{MAX_RATING}" required="true"/>']
    lines += ['  <Header value="Note (optional)"/>', '  <TextArea name="note" toName="candidate" rows="2"/>', "</View>"]
    return "\n".join(lines) + "\n"
