"""The keywords of `predict`, which pipelines and searches pass on."""

import numpy as np
import pytest
import sklearn
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq import baselines
from tests._helpers import regressor

MAKERS = {
    "DeltaUQRegressor": regressor,
    **{
        name: lambda name=name: getattr(baselines, name)(
            hidden_layer_sizes=(8,), max_iter=2, early_stopping=False, random_state=0
        )
        for name in baselines.__all__
        if name.endswith("Regressor")
    },
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.filterwarnings("ignore")  # a few epochs of some methods warn, and that is all right
def test_keywords_of_predict_add_interval_and_quantiles_in_order(name, regression_data):
    X, y = regression_data
    model = MAKERS[name]().fit(X, y)
    mean, std = model.predict(X, return_std=True)
    interval, quantiles = model.predict_interval(X, 0.8), model.predict_quantiles(X, [0.2, 0.9])
    for keywords, expected in [
        ({"coverage": 0.8}, (mean, interval)),
        ({"quantiles": [0.2, 0.9]}, (mean, quantiles)),
        ({"quantiles": [0.2, 0.9], "coverage": 0.8}, (mean, interval, quantiles)),
        ({"return_std": True, "coverage": 0.8}, (mean, std, interval)),
        (
            {"return_std": True, "quantiles": [0.2, 0.9], "coverage": 0.8},
            (mean, std, interval, quantiles),
        ),
    ]:
        found = model.predict(X, **keywords)
        assert isinstance(found, tuple)
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(model.predict(X), mean)


def test_keywords_work_for_several_outputs(regression_data):
    X, y = regression_data
    model = regressor().fit(X, np.column_stack([y, -y]))
    found = model.predict(X, True, coverage=0.9, quantiles=[0.1, 0.5, 0.9])
    assert [a.shape for a in found] == [(60, 2), (60, 2), (60, 2, 2), (60, 2, 3)]


def test_a_pipeline_and_a_search_pass_the_keywords_on(regression_data):
    X, y = regression_data
    pipeline = make_pipeline(StandardScaler(), regressor()).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    own = regressor().fit(scaled, y)
    _, interval = pipeline.predict(X, coverage=0.9)
    np.testing.assert_array_equal(interval, own.predict_interval(scaled, 0.9))
    search = GridSearchCV(regressor(), {"max_iter": [2]}, cv=2).fit(X, y)
    _, quantiles = search.best_estimator_.predict(X, quantiles=[0.5])
    assert quantiles.shape == (60, 1)


def test_metadata_routing_accepts_the_keywords(regression_data):
    X, y = regression_data
    with sklearn.config_context(enable_metadata_routing=True):
        model = regressor().set_predict_request(return_std=True, coverage=True, quantiles=True)
        pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
        found = pipeline.predict(X, return_std=True, coverage=0.9, quantiles=[0.5])
    assert [a.shape for a in found] == [(60,), (60,), (60, 2), (60, 1)]


@pytest.mark.parametrize("keywords", [{"coverage": 1.5}, {"quantiles": [-0.1]}])
def test_impossible_levels_are_refused(regression_data, keywords):
    X, y = regression_data
    with pytest.raises(ValueError, match=r"coverage must|quantiles must"):
        regressor(max_iter=1).fit(X, y).predict(X, **keywords)
