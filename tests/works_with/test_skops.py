"""skops stores every estimator, and needs trust for classes of this package only."""

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.base import is_classifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sk_deltauq
from sk_deltauq import baselines
from tests._helpers import assert_same_predictions, predict_all

skops = pytest.importorskip("skops.io")

NAMES = ["DeltaUQRegressor", "DeltaUQClassifier", *baselines.__all__]
SMALL = {"hidden_layer_sizes": (8,), "max_iter": 3, "n_members": 2, "random_state": 0}

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
Y = np.exp(X[:, 0] + 0.2 * rng.normal(size=60))


def fit_estimator(name, **params):
    cls = getattr(sk_deltauq, name, None) or getattr(baselines, name)
    known = cls().get_params()
    model = cls(**{key: value for key, value in {**SMALL, **params}.items() if key in known})
    return model.fit(X, np.where(Y > 1, "high", "low") if is_classifier(model) else Y)


def roundtrip(model, others=()):
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert {name for name in unknown if not name.startswith("sk_deltauq.")} == {*others}
    return skops.loads(data, trusted=unknown)


@pytest.mark.parametrize("name", NAMES)
def test_every_estimator_predicts_the_same_and_continues_training(name):
    model = fit_estimator(name, target_transform="yeo-johnson", early_stopping=True)
    loaded = roundtrip(model)
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
    y = model.predict(X)
    for one in (model, loaded):
        one.set_params(early_stopping=False).partial_fit(X, y)
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))


@pytest.mark.parametrize(
    "params",
    [
        {"embedding": "periodic", "noise": "homoscedastic"},
        {"target_transform": "quantile", "alpha": 0.1},
        {"net_params": {"optimizer__eps": 1e-7}},
    ],
    ids=str,
)
def test_options(params):
    model = fit_estimator("DeltaUQRegressor", **params)
    assert_same_predictions(predict_all(roundtrip(model), X), predict_all(model, X))


def test_a_table_with_categories_and_missing_values():
    table = pd.DataFrame({"size": X[:, 0], "town": ["Rome", "Oslo", None] * 20})
    table.loc[::5, "size"] = np.nan
    model = sk_deltauq.DeltaUQRegressor(**{**SMALL, "early_stopping": False}).fit(table, Y)
    loaded = roundtrip(model, others=["numpy.dtype"])  # of scikit-learn's SimpleImputer
    assert_same_predictions(predict_all(loaded, table), predict_all(model, table))


def test_a_pipeline():
    model = make_pipeline(StandardScaler(), fit_estimator("DeepEnsembleRegressor")).fit(X, Y)
    found = roundtrip(model).predict(X, return_std=True)
    np.testing.assert_array_equal(found, model.predict(X, return_std=True))


def test_the_module_of_the_user_needs_extra_trust():
    model = fit_estimator("DeltaUQRegressor", module=torch.nn.Linear)
    loaded = roundtrip(model, others=["torch.nn.modules.linear.Linear"])
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
