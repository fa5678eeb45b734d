"""Dask: fits in worker processes through joblib, and the wrappers of dask-ml."""

import os

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from sk_deltauq.metrics import crps_scorer
from tests.works_with._models import make_regressor

distributed = pytest.importorskip("distributed")
da = pytest.importorskip("dask.array")


@pytest.fixture(scope="module")
def client():
    if os.environ.get("WORKS_WITH") != "required":
        pytest.skip("it starts processes; make works-with runs it")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def test_grid_search_in_worker_processes(regression, client):
    d = regression
    grid = {"n_anchors": [3, 5]}
    with joblib.parallel_backend("dask"):
        search = GridSearchCV(make_regressor(), grid, scoring=crps_scorer, cv=2)
        search.fit(d.X_fit, d.y_fit)
        pids = joblib.Parallel()(joblib.delayed(os.getpid)() for _ in range(8))
    alone = GridSearchCV(make_regressor(), grid, scoring=crps_scorer, cv=2)
    alone.fit(d.X_fit, d.y_fit)
    for key in ("mean_test_score", "std_test_score"):
        np.testing.assert_allclose(search.cv_results_[key], alone.cv_results_[key], rtol=1e-5)
    assert os.getpid() not in pids


def test_workers_predict_with_a_fitted_model(regression, client, model):
    future = client.submit(model.predict, regression.X_test, return_std=True)
    for found, expected in zip(
        future.result(), model.predict(regression.X_test, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-5)


@pytest.fixture(scope="module")
def wrappers():
    return pytest.importorskip("dask_ml.wrappers")


@pytest.fixture
def arrays(regression):
    return {
        name: da.from_array(values, chunks=(60, *values.shape[1:]))
        for name, values in regression.items()
    }


def test_predictions_of_chunks(wrappers, arrays, regression, model):
    found = wrappers.ParallelPostFit(model).predict(arrays["X_test"]).compute()
    np.testing.assert_allclose(found, model.predict(regression.X_test), rtol=1e-5)


def test_chunks_train_one_after_the_other(wrappers, arrays, regression):
    d = regression
    bare = make_regressor(early_stopping=False)
    wrapped = wrappers.Incremental(bare, shuffle_blocks=False)
    wrapped.fit(arrays["X_fit"], arrays["y_fit"])
    for start in range(0, len(d.X_fit), 60):
        chunk = slice(start, start + 60)
        bare.partial_fit(d.X_fit[chunk], d.y_fit[chunk])
    np.testing.assert_allclose(
        wrapped.estimator_.predict_interval(d.X_test), bare.predict_interval(d.X_test)
    )
