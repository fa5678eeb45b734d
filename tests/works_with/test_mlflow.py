"""mlflow stores and loads a model with skops and with pickle."""

import numpy as np
import pandas as pd
import pytest

from sk_deltauq import DeltaUQRegressor
from tests._helpers import assert_same_predictions, predict_all

mlflow = pytest.importorskip("mlflow")
skops = pytest.importorskip("skops.io")

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*Any type hint is inferred:UserWarning"),
]

rng = np.random.default_rng(0)
X = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "c"])
Y = np.exp(X["a"] + 0.2 * rng.normal(size=60))


@pytest.fixture(scope="module")
def model():
    return DeltaUQRegressor((8,), max_iter=3, random_state=0, n_members=2).fit(X, Y)


def save(model, path, **params):
    import mlflow.sklearn

    # mlflow would start another process to find the requirements.
    mlflow.sklearn.save_model(model, path, pip_requirements=["sk-deltauq"], **params)


def test_save_and_load_with_skops(model, tmp_path):
    trusted = skops.get_untrusted_types(data=skops.dumps(model))
    assert all(name.startswith("sk_deltauq.") for name in trusted)
    save(model, tmp_path / "m", skops_trusted_types=trusted)
    loaded = mlflow.sklearn.load_model(str(tmp_path / "m"))
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))


@pytest.mark.parametrize("kind", ["pickle", "cloudpickle"])
def test_save_and_load_with_pickle(model, kind, tmp_path):
    save(model, tmp_path / "m", serialization_format=kind)
    loaded = mlflow.sklearn.load_model(str(tmp_path / "m"))
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))


def test_a_pyfunc_model_predicts_from_a_table(model, tmp_path):
    save(model, tmp_path / "m", serialization_format="cloudpickle")
    function = mlflow.pyfunc.load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(function.predict(X), model.predict(X))


def test_a_run_logs_and_loads_a_model(model, tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # the server is not installed here
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    try:
        trusted = skops.get_untrusted_types(data=skops.dumps(model))
        with mlflow.start_run():
            info = mlflow.sklearn.log_model(
                model, name="model", skops_trusted_types=trusted, pip_requirements=["sk-deltauq"]
            )
        loaded = mlflow.sklearn.load_model(info.model_uri)
    finally:
        mlflow.set_tracking_uri(None)
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
