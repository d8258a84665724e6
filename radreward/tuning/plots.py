"""Plots of a study, as one offline HTML page and as PNG files: history, slices, contours and parameter importance."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import pyplot
from optuna import visualization
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from optuna.visualization import matplotlib as mpl_visualization

from radreward.io.atomic import write_text_file
from radreward.tuning.search_space import MAX_SHOWN_PARAMETERS

MAX_CONTOUR_PARAMETERS = 4
"""Maximum number of parameters in the contour plot, which has one panel per pair: the most important ones."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StudyPlot:
    """One plot: `optuna.visualization.<function>(study, **options)`.

    Attributes:
        name: Name of the PNG file.
        function: Name of the function in `optuna.visualization` and `optuna.visualization.matplotlib`.
        title: Heading on the page.
        requirement: What the study needs for this plot.
        available: True if the requirement is met.
        options: Arguments of the function.
    """

    name: str
    function: str
    title: str
    requirement: str
    available: bool
    options: dict[str, Any] = field(default_factory=dict)


def write_study_plots(study: Study, metric: str, important: Sequence[str], page: Path, folder: Path) -> None:
    """Write the HTML page and one PNG file per plot.

    Args:
        study: A study with at least one complete trial.
        metric: Name of the objective value.
        important: Parameters with an importance, most important first.
        page: The HTML file.
        folder: Folder for PNG files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    sections: list[str] = []
    include_script = True
    for plot in _study_plots(study, metric, list(important)):
        title = f"<h2>{html.escape(plot.title)}</h2>"
        image = folder / f"{plot.name}.png"
        if not plot.available:
            sections.append(f"{title}<p>Needs {html.escape(plot.requirement)}.</p>")
            image.unlink(missing_ok=True)  # written for an earlier state of the study
            continue
        options = {"target_name": metric, **plot.options}
        figure = getattr(visualization, plot.function)(study, **options)
        sections.append(title + figure.to_html(full_html=False, include_plotlyjs=include_script))
        include_script = False  # once per page
        _save_figure(getattr(mpl_visualization, plot.function), study, options, image)
    name = html.escape(study.study_name)
    write_text_file(
        page,
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Study {name}</title></head>'
        f'<body style="font-family: sans-serif"><h1>Study {name}</h1>{"".join(sections)}</body></html>\n',
    )


def _study_plots(study: Study, metric: str, important: list[str]) -> list[StudyPlot]:
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    varied = _varied(important or sorted({name for trial in complete for name in trial.params}), complete)
    # Parameters of different branches are never sampled together: their contour would be empty.
    shared = [name for name in varied if important and all(name in trial.params for trial in complete)]
    shared = shared[:MAX_CONTOUR_PARAMETERS]
    return [
        StudyPlot(
            name="history",
            function="plot_optimization_history",
            title=f"History: {metric} by trial",
            requirement="one complete trial",
            available=True,
        ),
        StudyPlot(
            name="slice",
            function="plot_slice",
            title="Slice: one panel per parameter",
            requirement="complete trials with two values of a parameter",
            available=bool(varied),
            options={"params": varied[:MAX_SHOWN_PARAMETERS]},
        ),
        StudyPlot(
            name="contour",
            function="plot_contour",
            title="Contour: pairs of parameters",
            requirement="complete trials with two parameters in common and different values",
            available=len(shared) > 1,
            options={"params": shared},
        ),
        StudyPlot(
            name="importance",
            function="plot_param_importances",
            title="Importance of the parameters",
            requirement="complete trials with different values",
            available=bool(important),
        ),
    ]


def _varied(names: Sequence[str], trials: Sequence[FrozenTrial]) -> list[str]:
    """Return the parameters with several values: a panel of one value has no width."""
    return [name for name in names if len({trial.params[name] for trial in trials if name in trial.params}) > 1]


def _save_figure(plot: Callable[..., Any], study: Study, options: dict[str, Any], path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # all Matplotlib plots of Optuna
        result = plot(study, **options)
    axes = np.atleast_1d(np.asarray(result, dtype=object))
    figure = axes.flat[0].figure
    if axes.size > 1:  # Optuna draws all panels in the space of one
        figure.set_size_inches(3.4 * axes.shape[-1] + 1.5, 3.0 * (len(axes) if axes.ndim > 1 else 1) + 1)
    if axes.ndim > 1:
        for axis in axes.flat:
            axis.label_outer()
    figure.savefig(path, dpi=150, bbox_inches="tight")
    pyplot.close(figure)
