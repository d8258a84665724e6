"""Regressors as arrays: equal to scikit-learn's, stored without pickle, invalid data and files are named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from radreward.errors import InputError
from radreward.systems.sentence_eval.regressors import (
    REGRESSORS,
    Regressor,
    default_param_grids,
    fit_regressor,
    read_param_grids,
)


def random_fractions(rows: int = 150, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.hstack([rng.dirichlet(np.ones(4), rows), rng.dirichlet(np.ones(4), rows)])


def learnable_target(x: np.ndarray) -> np.ndarray:
    target: np.ndarray = 3 * x[:, 2] - 5 * x[:, 3] * x[:, 7] + x[:, 6]
    return target


@pytest.mark.filterwarnings("ignore:.*lbfgs failed to converge")
@pytest.mark.parametrize("name", REGRESSORS)
def test_predict_equals_scikit_learn(name: str) -> None:
    x, held_out = random_fractions(), random_fractions(700, seed=1)  # more rows than a batch
    y = learnable_target(x)
    for params in default_param_grids()[name]:
        expected = REGRESSORS[name].build(params, 3).fit(x, (y - y.mean()) / y.std()).predict(held_out)
        fitted = fit_regressor(name, x, y, params, seed=3)
        assert fitted.predict(held_out) == pytest.approx(expected * y.std() + y.mean(), abs=1e-9)


@pytest.mark.parametrize("name", REGRESSORS)
def test_saved_regressor_predicts_the_same(name: str, tmp_path: Path) -> None:
    fitted = fit_regressor(name, random_fractions(), learnable_target(random_fractions()))
    fitted.save(tmp_path / "regressor.safetensors")
    loaded = Regressor.load(tmp_path / "regressor.safetensors")
    x = random_fractions(seed=2)
    assert np.array_equal(loaded.predict(x), fitted.predict(x))
    assert loaded.fingerprint() == fitted.fingerprint()


def test_predict_needs_no_scikit_learn(tmp_path: Path) -> None:
    path = tmp_path / "regressor.safetensors"
    fit_regressor("random-forest", random_fractions(), learnable_target(random_fractions())).save(path)
    code = (
        "import json, sys; from radreward.systems.sentence_eval.regressors import Regressor; import numpy as np\n"
        f"predictions = Regressor.load({str(path)!r}).predict(np.full((1, 8), 0.25)).tolist()\n"
        "print(json.dumps([predictions, 'sklearn' in sys.modules]))"
    )
    process = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    predictions, is_imported = json.loads(process.stdout)
    assert predictions == Regressor.load(path).predict(np.full((1, 8), 0.25)).tolist()
    assert not is_imported


def test_predict_no_rows_returns_no_predictions() -> None:
    fitted = fit_regressor("mlp", random_fractions(), learnable_target(random_fractions()))
    assert fitted.predict(np.empty((0, 8))).shape == (0,)


def test_fit_regressor_depends_on_the_seed_only() -> None:
    x = random_fractions()
    first, again, other = (fit_regressor("gradient-boosting", x, learnable_target(x), seed=seed) for seed in (1, 1, 2))
    assert first.fingerprint() == again.fingerprint() != other.fingerprint()


def test_fit_regressor_invalid_data_raises() -> None:
    x = random_fractions(20)
    with pytest.raises(ValueError, match="Expected targets that differ but all 20 are 2"):
        fit_regressor("decision-tree", x, np.full(20, 2.0))
    with pytest.raises(ValueError, match="Expected at least 5 rows for knn but got 3"):
        fit_regressor("knn", x[:3], learnable_target(x[:3]))
    with pytest.raises(ValueError, match="finite"):
        fit_regressor("decision-tree", x, np.full(20, np.nan))
    with pytest.raises(ValueError, match="Expected a regressor of decision-tree, .* but got 'ridge'"):
        fit_regressor("ridge", x, learnable_target(x))


def test_load_invalid_file_is_named(tmp_path: Path) -> None:
    for name, write, message in (
        ("missing", lambda path: None, "Expected a safetensors file with weights but there is no such file"),
        ("text", lambda path: path.write_text("no"), "it is damaged"),
        ("other", lambda path: save_file({"a": np.zeros(1)}, path), "Expected a regressor of format"),
        (
            "incomplete",
            lambda path: save_file({"a": np.zeros(1)}, path, {"format": "radreward.regressor.1"}),
            "a field has a wrong value",
        ),
    ):
        path = tmp_path / name
        write(path)
        with pytest.raises(InputError, match=f"{name}: .*{message}"):
            Regressor.load(path)


def test_regressor_invalid_arrays_raise() -> None:
    with pytest.raises(ValueError, match="'gamma' is missing"):
        Regressor("rbf", {"support": np.zeros((1, 8)), "dual": np.zeros(1), "base": np.zeros(1)})
    with pytest.raises(ValueError, match="'bias0' to hold finite"):
        Regressor("mlp", {"weight0": np.zeros((8, 1)), "bias0": np.array([np.inf])})
    with pytest.raises(ValueError, match="Expected `kind`"):
        Regressor("magic", {})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("ridge: [{alpha: 1.0}]", "Expected a regressor of decision-tree, .* but got 'ridge'"),
        ("svr: {C: 1.0}", "svr: Expected a list of parameters by name but got {'C': 1.0}"),
        ("svr: [{D: 1.0}]", "svr: Expected arguments of sklearn.svm.SVR .*'D'"),
        ("svr: [{C: -1.0}]", "svr: Expected arguments of sklearn.svm.SVR .*'C' parameter of SVR"),
        ("[]", "Expected lists of parameters by regressor but got"),
    ],
)
def test_invalid_param_grids_name_the_entry(content: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "grids.yaml"
    path.write_text(content)
    with pytest.raises(InputError, match=rf"grids\.yaml: {message}"):
        read_param_grids(path)
