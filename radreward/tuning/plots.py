"""How a study went, which values were good and which parameters matter: one HTML page, and PNG."""

from __future__ import annotations

import html
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib import pyplot
from optuna import visualization
from optuna.exceptions import ExperimentalWarning
from optuna.study import Study
from optuna.trial import TrialState
from optuna.visualization import matplotlib as images

MAX_CONTOUR_PARAMETERS = 4
"""Parameters in the contour plot, which has a panel for each two: those that matter most."""


class StudyPlot(NamedTuple):
    """A plot in both forms, and when there is something to see."""

    name: str
    title: str
    requirement: str
    html: Callable[[], Any]
    png: Callable[[], Any]
    available: bool


def write_study_plots(study: Study, metric: str, important: Sequence[str], page: Path, folder: Path) -> None:
    """Write `page`, which works offline, and a PNG of every plot.

    Args:
        study: The study, with one finished trial or more.
        metric: The name of the value.
        important: Parameters that can be compared, those that matter most first.
        page: The HTML file.
        folder: For the PNG files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    parts, script = [], True
    for plot in _study_plots(study, metric, list(important)):
        title = f"<h2>{html.escape(plot.title)}</h2>"
        if not plot.available:
            parts.append(f"{title}<p>Needs {html.escape(plot.requirement)}.</p>")
            (folder / f"{plot.name}.png").unlink(missing_ok=True)  # of an earlier state of the study
            continue
        figure = plot.html()
        parts.append(title + figure.to_html(full_html=False, include_plotlyjs=script))
        script = False  # once in a page
        _save_figure(plot.png, folder / f"{plot.name}.png")
    name = html.escape(study.study_name)
    page.write_text(
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Study {name}</title></head>'
        f'<body style="font-family: sans-serif"><h1>Study {name}</h1>{"".join(parts)}</body></html>\n',
        encoding="utf-8",
    )


def _study_plots(study: Study, metric: str, important: list[str]) -> list[StudyPlot]:
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    several = len(complete) > 1
    # A contour of parameters that no finished trial tried together would be empty.
    together = [name for name in important if all(name in frozen.params for frozen in complete)][
        :MAX_CONTOUR_PARAMETERS
    ]
    return [
        StudyPlot(
            "history",
            f"History: {metric} by trial",
            "a finished trial",
            lambda: visualization.plot_optimization_history(study, target_name=metric),
            lambda: images.plot_optimization_history(study, target_name=metric),
            True,
        ),
        StudyPlot(
            "slice",
            "Slice: each parameter by itself",
            "two finished trials",
            lambda: visualization.plot_slice(study, target_name=metric),
            lambda: images.plot_slice(study, target_name=metric),
            several,
        ),
        StudyPlot(
            "contour",
            "Contour: two parameters together",
            "finished trials with two parameters in common, and different values",
            lambda: visualization.plot_contour(study, params=together, target_name=metric),
            lambda: images.plot_contour(study, params=together, target_name=metric),
            several and len(together) > 1,
        ),
        StudyPlot(
            "importance",
            "Importance of the parameters",
            "finished trials with different values",
            lambda: visualization.plot_param_importances(study, target_name=metric),
            lambda: images.plot_param_importances(study, target_name=metric),
            bool(important),
        ),
    ]


def _save_figure(draw: Callable[[], Any], path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)  # all of Optuna's Matplotlib plots say so
        drawn = draw()
    axes = np.atleast_1d(np.asarray(drawn, dtype=object))
    figure = axes.flat[0].figure
    if axes.size > 1:  # Optuna draws all panels in the space of one
        figure.set_size_inches(3.4 * axes.shape[-1] + 1.5, 3.0 * (len(axes) if axes.ndim > 1 else 1) + 1)
    if axes.ndim > 1:
        for axis in axes.flat:
            axis.label_outer()
    figure.savefig(path, dpi=150, bbox_inches="tight")
    pyplot.close(figure)
