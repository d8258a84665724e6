"""Regressors as arrays: equal to scikit-learn's, kept without pickle, refused where they cannot be."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from radreward.errors import InputError
from radreward.systems.sentence_eval.regressors import REGRESSORS, Regressor, fit_regressor, param_grid


def shares(rows: int = 150, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.hstack([rng.dirichlet(np.ones(4), rows), rng.dirichlet(np.ones(4), rows)])


def target(x: np.ndarray) -> np.ndarray:
    wanted: np.ndarray = 3 * x[:, 2] - 5 * x[:, 3] * x[:, 7] + x[:, 6]
    return wanted


@pytest.mark.filterwarnings("ignore:.*lbfgs failed to converge")
@pytest.mark.parametrize("name", REGRESSORS)
def test_predicts_as_scikit_learn_does(name: str) -> None:
    x, other = shares(), shares(700, seed=1)  # more rows than are predicted at a time
    y = target(x)
    for settings in param_grid(name):
        theirs = REGRESSORS[name].factory(settings, 3).fit(x, (y - y.mean()) / y.std())
        ours = fit_regressor(name, x, y, settings, seed=3)
        assert ours.predict(other) == pytest.approx(theirs.predict(other) * y.std() + y.mean(), abs=1e-9)


@pytest.mark.parametrize("name", REGRESSORS)
def test_is_read_as_it_was_written(name: str, tmp_path: Path) -> None:
    fitted = fit_regressor(name, shares(), target(shares()))
    fitted.save(tmp_path / "regressor.safetensors")
    read = Regressor.load(tmp_path / "regressor.safetensors")
    assert np.array_equal(read.predict(shares(seed=2)), fitted.predict(shares(seed=2)))
    assert read.fingerprint() == fitted.fingerprint()


def test_needs_no_scikit_learn_and_no_pickle_to_predict(tmp_path: Path) -> None:
    path = tmp_path / "regressor.safetensors"
    fit_regressor("random-forest", shares(), target(shares())).save(path)
    code = (
        "import json, sys; from radreward.systems.sentence_eval.regressors import Regressor; import numpy as np\n"
        f"found = Regressor.load({str(path)!r}).predict(np.full((1, 8), 0.25)).tolist()\n"
        "print(json.dumps([found, 'sklearn' in sys.modules]))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    found, imported = json.loads(done.stdout)
    assert found == Regressor.load(path).predict(np.full((1, 8), 0.25)).tolist()
    assert not imported


def test_no_rows_have_no_predictions() -> None:
    assert fit_regressor("neural-network", shares(), target(shares())).predict(np.empty((0, 8))).shape == (0,)


def test_same_seed_same_regressor() -> None:
    x = shares()
    one, again, other = (fit_regressor("gradient-boosting", x, target(x), seed=seed) for seed in (1, 1, 2))
    assert one.fingerprint() == again.fingerprint() != other.fingerprint()


def test_targets_that_cannot_be_learnt_are_refused() -> None:
    x = shares(20)
    with pytest.raises(ValueError, match="Expected targets that differ but all 20 are 2"):
        fit_regressor("decision-tree", x, np.full(20, 2.0))
    with pytest.raises(ValueError, match="Expected 5 rows at least for nearest-neighbours but got 3"):
        fit_regressor("nearest-neighbours", x[:3], target(x[:3]))
    with pytest.raises(ValueError, match="finite"):
        fit_regressor("decision-tree", x, np.full(20, np.nan))
    with pytest.raises(ValueError, match="Expected a regressor of decision-tree, .* but got 'ridge'"):
        fit_regressor("ridge", x, target(x))


def test_files_that_are_none_are_refused(tmp_path: Path) -> None:
    for name, write in (
        ("nothing", lambda path: None),
        ("text", lambda path: path.write_text("no")),
        ("other", lambda path: save_file({"a": np.zeros(1)}, path)),
    ):
        path = tmp_path / name
        write(path)
        with pytest.raises(InputError, match=f"{name}: Expected a regressor"):
            Regressor.load(path)
    with pytest.raises(ValueError, match="'gamma' is missing"):
        Regressor("kernel", {"support": np.zeros((1, 8)), "dual": np.zeros(1), "base": np.zeros(1)})
    with pytest.raises(ValueError, match="'bias0' to hold finite"):
        Regressor("layers", {"weight0": np.zeros((8, 1)), "bias0": np.array([np.inf])})
    with pytest.raises(ValueError, match="Expected `kind`"):
        Regressor("magic", {})
