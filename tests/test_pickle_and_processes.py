"""Pickle, joblib and other processes, and no side effects such as printed text or files."""

import pickle
import subprocess
import sys
import textwrap

import joblib
import numpy as np
import pytest
import torch
from joblib import Parallel, delayed
from sklearn.base import clone

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from tests._helpers import assert_same_predictions, predict_all

# Pickle and other processes


SETTINGS = [
    {"n_members": 2, "embedding": "periodic", "early_stopping": True},
    {"module": torch.nn.Linear},
    {"net_params": {"optimizer": torch.optim.AdamW, "optimizer__weight_decay": 0.1}},
]


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_pickle_and_joblib_keep_all_predictions(make, data, params, tmp_path):
    X, y = data
    model = make(**params).fit(X, y)
    expected = predict_all(model, X)
    joblib.dump(model, tmp_path / "model")
    copies = [pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model")]
    copies.append(joblib.load(tmp_path / "model", mmap_mode="r"))
    for copy in copies:
        assert_same_predictions(predict_all(copy, X), expected)
    model.set_params(early_stopping=False).partial_fit(X, y)
    copies[0].set_params(early_stopping=False).partial_fit(X, y)
    assert_same_predictions(predict_all(copies[0], X), predict_all(model, X))


def test_fits_in_other_processes_give_the_same_model(make, data):
    X, y = data
    models = [make(**params) for params in SETTINGS]
    there = Parallel(n_jobs=2)(delayed(_fit)(clone(m), X, y) for m in models)
    for model, fitted in zip(models, there, strict=True):
        found = predict_all(fitted, X)
        for method, value in predict_all(model.fit(X, y), X).items():
            if value.dtype.kind == "f":
                np.testing.assert_allclose(found[method], value, rtol=1e-5, atol=1e-6)


def _fit(model, X, y):
    return model.fit(X, y)


def test_a_fitted_model_predicts_in_other_processes(make, data):
    X, y = data
    model = make(n_members=2).fit(X, y)
    halves = Parallel(n_jobs=2)(
        delayed(type(model).predict)(model, X[rows], return_std=True)
        for rows in (slice(0, 30), slice(30, 60))
    )
    expected = model.predict(X, return_std=True)
    for found, value in zip(zip(*halves, strict=True), expected, strict=True):
        if value.dtype.kind == "f":
            np.testing.assert_allclose(np.concatenate(found), value, rtol=1e-5)
        else:
            np.testing.assert_array_equal(np.concatenate(found), value)


def test_pickle_is_small_and_does_not_grow_with_further_fits():
    X = np.random.default_rng(0).normal(size=(20_000, 10))
    for cls in (DeltaUQRegressor, DeltaUQClassifier):
        y = X[:, 0] if cls is DeltaUQRegressor else X[:, 0] > 0
        model = cls((8,), max_iter=1, batch_size=1000, random_state=0)
        model.fit(X, y)
        size = len(pickle.dumps(model))
        assert size < X.nbytes / 5  # up to 2,000 rows for outlier scores, and held-out scores
        for _ in range(3):
            model.fit(X[:1000], y[:1000])  # one network, as in the first fit
        assert len(pickle.dumps(model)) < size + 2000
        for _ in range(3):
            model.partial_fit(X[:500], y[:500])
        assert len(pickle.dumps(model)) < size + 4000


# Side effects


@pytest.mark.parametrize("early_stopping", [False, True])
def test_estimators_print_nothing_and_write_no_file(
    make, data, early_stopping, capfd, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    X, y = data
    model = make(early_stopping=early_stopping).fit(X, y)
    predict_all(model, X)
    model.set_params(early_stopping=False).partial_fit(X, y)
    assert capfd.readouterr() == ("", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_new_process_prints_nothing_and_writes_no_file(tmp_path):
    code = """
        import warnings
        warnings.simplefilter("error")
        import numpy as np
        from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
        from sk_deltauq.exceptions import UncertaintyWarning

        warnings.simplefilter("ignore", UncertaintyWarning)  # about early_stopping=False
        rng = np.random.default_rng(0)
        X = rng.normal(size=(220, 3)).astype("float32")
        w = np.ones(220, dtype="float32")
        for array in (X, w):
            array.flags.writeable = False
        common = {"tol": 1e9, "n_iter_no_change": 2, "hidden_layer_sizes": (8,), "n_anchors": 4}
        for early_stopping in (False, True, "auto"):
            settings = {**common, "early_stopping": early_stopping, "n_members": 2}
            model = DeltaUQRegressor(**settings).fit(X, X[:, 0], sample_weight=w)
            model.predict(X, return_std=True), model.predict_interval(X), model.sample_y(X)
            model = DeltaUQClassifier(**settings).fit(X, X[:, 0] > 0, sample_weight=w)
            model.predict_proba(X), model.predict_uncertainty(X)
        DeltaUQRegressor(**common).fit(X, X[:, 0])
        DeltaUQRegressor(**common).partial_fit(X, X[:, 0]).partial_fit(X, X[:, 0])
    """
    child = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
    )
    assert (child.returncode, child.stdout, child.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
