"""The published scoring systems, as classes so that a configuration can name and set them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import yaml

from radreward.criteria.criteria import Criteria, CriteriaError, Criterion

RADCLIQ_ERROR_TYPES = (
    Criterion("false prediction", "A finding is reported that the reference does not have."),
    Criterion("omission", "A finding of the reference is missing."),
    Criterion("incorrect location", "A finding is given a wrong location or position."),
    Criterion("incorrect severity", "A finding is given a wrong severity."),
    Criterion("incorrect comparison", "A comparison with an earlier study is made that the reference does not make."),
    Criterion("omission of comparison", "A change since an earlier study that the reference notes is missing."),
)
"""The six error types of RadCliQ (Yu et al. 2023), in their usual order."""


class RadCliQCriteria(Criteria):
    """Six error counts; total = -sum of counts (ER²Score, section 3.1).

    >>> RadCliQ().tags[:2]
    ('false_prediction', 'omission')
    """

    def __init__(self) -> None:
        super().__init__("radcliq", RADCLIQ_ERROR_TYPES)


class RadCliQSignificanceCriteria(Criteria):
    """The six error types, each counted apart as clinically significant and as insignificant, as ReXVal does.

    Args:
        insignificant_weight: What a clinically insignificant error takes off the total; a significant one takes 1.

    >>> criteria = RadCliQSignificance()
    >>> len(criteria), criteria.tags[0], criteria.tags[6]
    (12, 'significant_false_prediction', 'insignificant_false_prediction')
    """

    def __init__(self, insignificant_weight: float = 0.25) -> None:
        significant = [
            Criterion(f"significant {entry.name}", f"{entry.description} It matters for the patient's care.")
            for entry in RADCLIQ_ERROR_TYPES
        ]
        insignificant = [
            Criterion(
                f"insignificant {entry.name}",
                f"{entry.description} It does not change the patient's care.",
                weight=insignificant_weight,
            )
            for entry in RADCLIQ_ERROR_TYPES
        ]
        super().__init__("radcliq-significance", [*significant, *insignificant])


class MRScoreCriteria(Criteria):
    """Seven yes/no errors with weights; total = 100 - sum of weights of the errors made (ER²Score, section 3.1).

    >>> MRScore().weights.tolist()
    [30.0, 20.0, 20.0, 10.0, 10.0, 5.0, 5.0]
    """

    def __init__(self) -> None:
        super().__init__(
            "mrscore",
            [
                Criterion("impression consistency", "The impression contradicts the reference.", "binary", 30),
                Criterion(
                    "impression organs",
                    "The impression speaks of other organs than the reference.",
                    "binary",
                    20,
                ),
                Criterion(
                    "description of lesions",
                    "A lesion is described wrongly: place, size or kind.",
                    "binary",
                    20,
                ),
                Criterion("clinical history", "The clinical history contradicts the reference.", "binary", 10),
                Criterion("completeness", "Something that the reference reports is missing.", "binary", 10),
                Criterion("grammar", "The report has errors of grammar or spelling.", "binary", 5),
                Criterion("medical terminology", "A medical term is wrong or not a medical term.", "binary", 5),
            ],
            max_total=100,
        )


class RatingCriteria(Criteria):
    """One number that people gave each report, higher is better, in place of errors: the column `rating` of a file.

    >>> import torch
    >>> criteria = Rating()
    >>> criteria.tags, criteria.total(criteria.quality(torch.tensor([[4.5]])))
    (('rating',), tensor([4.5000]))
    """

    def __init__(self) -> None:
        super().__init__("rating", [Criterion("rating", "What people gave the report.", "rating")])


class CriteriaFromYAML(Criteria):
    """Criteria of a user's own, from a YAML file with `name`, `criteria` and, if wanted, `offset`.

    Args:
        path: The file. Each criterion has `name`, `description` and, if wanted, `kind` and `weight`.

    Raises:
        CriteriaError: If the file is missing, is no YAML, or does not describe criteria; the message names it.
    """

    def __init__(self, path: str) -> None:
        try:
            read = Criteria.from_dict(yaml.safe_load(Path(path).read_text(encoding="utf-8")))
        except OSError as error:
            raise CriteriaError(f"{path}: cannot be read ({error.strerror}).") from error
        except UnicodeDecodeError as error:
            raise CriteriaError(f"{path}: is not UTF-8 text (byte {error.start}).") from error
        except yaml.YAMLError as error:
            raise CriteriaError(f"{path}: is not YAML: {' '.join(str(error).split())}") from error
        except CriteriaError as error:
            raise CriteriaError(f"{path}: {error}") from error
        super().__init__(read.name, read.criteria, read.max_total)


PRESETS: dict[str, Callable[[], Criteria]] = {
    "radcliq": RadCliQCriteria,
    "radcliq-significance": RadCliQSignificanceCriteria,
    "mrscore": MRScoreCriteria,
}


def load_criteria(name_or_path: str) -> Criteria:
    """A preset by its name, or a user's own criteria from a YAML file.

    Raises:
        CriteriaError: If it is neither, or the file is not usable.

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
