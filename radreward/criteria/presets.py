"""Published criteria, and the loader for a preset's name or a YAML file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from radreward.criteria.criteria import Criteria, CriteriaError, Criterion
from radreward.errors import InputError
from radreward.io.yaml_files import read_yaml

RADCLIQ_ERROR_TYPES = (
    Criterion("false prediction", "A finding is reported that the reference does not have."),
    Criterion("omission", "A finding of the reference is missing."),
    Criterion("incorrect location", "A finding is given a wrong location or position."),
    Criterion("incorrect severity", "A finding is given a wrong severity."),
    Criterion("incorrect comparison", "A comparison with an earlier study is made that the reference does not make."),
    Criterion("omission of comparison", "A change since an earlier study that the reference notes is missing."),
)
"""The six error types of RadCliQ (Yu et al., 2023), in the published order."""


class RadCliQCriteria(Criteria):
    """Six error counts; total = -Σ counts (ER²Score, section 3.1).

    >>> RadCliQCriteria().tags[:2]
    ('false_prediction', 'omission')
    """

    def __init__(self) -> None:
        super().__init__("radcliq", RADCLIQ_ERROR_TYPES)


class RadCliQSignificanceCriteria(Criteria):
    """Six error counts, each split into clinically significant and insignificant errors, as in ReXVal.

    Args:
        insignificant_weight: Weight of a clinically insignificant error; a significant error has weight 1.

    >>> criteria = RadCliQSignificanceCriteria()
    >>> len(criteria), criteria.tags[0], criteria.tags[6]
    (12, 'significant_false_prediction', 'insignificant_false_prediction')
    """

    def __init__(self, insignificant_weight: float = 0.25) -> None:
        levels = (
            ("significant", "It matters for the patient's care.", 1.0),
            ("insignificant", "It does not change the patient's care.", insignificant_weight),
        )
        criteria = [
            Criterion(f"{level} {entry.name}", f"{entry.description} {meaning}", weight=weight)
            for level, meaning, weight in levels
            for entry in RADCLIQ_ERROR_TYPES
        ]
        super().__init__("radcliq-significance", criteria)


class MRScoreCriteria(Criteria):
    """Seven weighted yes/no errors; total = 100 - Σ weights of the errors present (ER²Score, section 3.1).

    >>> MRScoreCriteria().weights.tolist()
    [30.0, 20.0, 20.0, 10.0, 10.0, 5.0, 5.0]
    """

    def __init__(self) -> None:
        entries = (
            ("impression consistency", "The impression contradicts the reference.", 30),
            ("impression organs", "The impression speaks of other organs than the reference.", 20),
            ("description of lesions", "A lesion is described wrongly: place, size or kind.", 20),
            ("clinical history", "The clinical history contradicts the reference.", 10),
            ("completeness", "Something that the reference reports is missing.", 10),
            ("grammar", "The report has errors of grammar or spelling.", 5),
            ("medical terminology", "A medical term is wrong or not a medical term.", 5),
        )
        criteria = [Criterion(name, description, "binary", weight) for name, description, weight in entries]
        super().__init__("mrscore", criteria, max_total=100)


class CrimsonCriteria(Criteria):
    """False and missing findings by clinical significance, and wrong details that change care, as in CRIMSON.

    An urgent finding weighs 1, an actionable one 0.5, one that is not actionable 0.25, and a benign one 0. The total is
    the sum of errors. `crimson_score` is the published score, which also credits matched findings (arXiv 2603.06183).

    >>> CrimsonCriteria().tags[0], CrimsonCriteria().weights.tolist()
    ('urgent_false_finding', [1.0, 0.5, 0.25, 1.0, 0.5, 0.25, 0.5])
    """

    def __init__(self) -> None:
        levels = (("urgent", 1.0), ("actionable", 0.5), ("not actionable", 0.25))
        kinds = (("false", "that the reference does not have is reported"), ("missing", "of the reference is missing"))
        criteria = [
            Criterion(f"{level} {kind} finding", f"A finding {what}; it is {level}.", weight=weight)
            for kind, what in kinds
            for level, weight in levels
        ]
        detail = "A detail of a finding, such as its side or severity, is wrong in a way that changes care."
        super().__init__("crimson", [*criteria, Criterion("wrong detail", detail, weight=0.5)])


class RatingCriteria(Criteria):
    """One rating per report instead of errors, from the column `rating`; higher is better.

    >>> import torch
    >>> criteria = RatingCriteria()
    >>> criteria.tags, criteria.total(criteria.target_rewards(torch.tensor([[4.5]])))
    (('rating',), tensor([4.5000]))
    """

    def __init__(self) -> None:
        super().__init__("rating", [Criterion("rating", "What people gave the report.", "rating")])


class CriteriaFromYAML(Criteria):
    """User-defined criteria from a YAML file with `name`, `criteria` and optionally `max_total`.

    Args:
        path: YAML file. Each criterion has `name`, `description` and optionally `kind` and `weight`.

    Raises:
        CriteriaError: If the file is missing, is not YAML or does not define criteria. The message names the file.
    """

    def __init__(self, path: str) -> None:
        try:
            loaded = Criteria.from_dict(read_yaml(path))
        except CriteriaError as error:
            raise CriteriaError(f"{path}: {error}") from error
        except InputError as error:
            raise CriteriaError(str(error)) from error
        super().__init__(loaded.name, loaded.criteria, loaded.max_total)


PRESETS: dict[str, Callable[[], Criteria]] = {
    "radcliq": RadCliQCriteria,
    "radcliq-significance": RadCliQSignificanceCriteria,
    "mrscore": MRScoreCriteria,
    "crimson": CrimsonCriteria,
    "rating": RatingCriteria,
}
"""Criteria by the name that commands and configurations use."""


def load_criteria(name_or_path: str) -> Criteria:
    """Load a preset by name, or user-defined criteria from a YAML file.

    Raises:
        CriteriaError: If the name is unknown, or the file is unusable.

    >>> load_criteria("mrscore").name
    'mrscore'
    """
    if name_or_path in PRESETS:
        return PRESETS[name_or_path]()
    if not name_or_path.endswith((".yaml", ".yml")):
        raise CriteriaError(
            f"Expected criteria to be one of {', '.join(PRESETS)} or a .yaml file but got {name_or_path!r}."
        )
    return CriteriaFromYAML(name_or_path)


def criteria_config(name_or_path: str | None) -> dict[str, Any] | None:
    """Return the configuration of a preset or of a YAML file of criteria: its class and arguments.

    Args:
        name_or_path: As in `load_criteria`; None gives None.

    Raises:
        CriteriaError: If the name is unknown, or the file is unusable.

    >>> criteria_config("mrscore")
    {'class_path': 'radreward.criteria.MRScoreCriteria'}
    """
    if name_or_path is None:
        return None
    criteria = load_criteria(name_or_path)
    config: dict[str, Any] = {"class_path": f"radreward.criteria.{type(criteria).__name__}"}
    return config if name_or_path in PRESETS else {**config, "init_args": {"path": name_or_path}}
