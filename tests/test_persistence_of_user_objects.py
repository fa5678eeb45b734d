"""`save` and `load` with objects of the user: modules, callbacks, transformers, classes."""

import numpy as np
import pytest
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import FunctionTransformer
from skorch.callbacks import EpochTimer

from sk_deltauq import DeltaUQRegressor, load
from tests._helpers import assert_same_predictions, predict_all
from tests._persistence_data import N, X, Y, estimator, predict_everything, save_and_load, target


class Net(torch.nn.Sequential):
    def __init__(self, n_in, n_out):
        super().__init__(
            torch.nn.Linear(n_in, 8), torch.nn.BatchNorm1d(8), torch.nn.ReLU(),
            torch.nn.Dropout(0.1), torch.nn.Linear(8, n_out),
        )  # fmt: skip


@pytest.mark.parametrize(
    "name", ["DeltaUQRegressor", "DeltaUQClassifier", "DeepEnsembleRegressor"]
)
def test_the_module_is_passed_again_to_load(name, tmp_path):
    model = estimator(name, module=Net, embedding="sinusoidal")
    y = target(model)
    loaded = save_and_load(model.fit(X, y), tmp_path, module=Net)
    assert loaded.module is Net
    assert_same_predictions(predict_everything(loaded), predict_everything(model))
    for one in (model, loaded):
        one.set_params(early_stopping=False).partial_fit(X, y)
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
    with pytest.raises(ValueError, match=r"module=<class .*Net'>.*load\(path, module=\.\.\.\)"):
        load(tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="pass the module of the fit"):
        load(tmp_path / "model.safetensors", module=torch.nn.Linear)


def test_callbacks_are_passed_again_to_load(tmp_path):
    net_params = {"callbacks": [("timer", EpochTimer())], "optimizer": torch.optim.AdamW}
    model = estimator("DeltaUQRegressor", net_params=net_params).fit(X, Y)
    loaded = save_and_load(model, tmp_path, net_params=net_params)
    assert loaded.net_params is net_params
    assert_same_predictions(predict_everything(loaded), predict_everything(model))
    for one in (model, loaded):
        one.set_params(early_stopping=False).partial_fit(X, Y)
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
    assert_same_predictions(
        predict_everything(save_and_load(model, tmp_path, net_params=None)),
        predict_everything(model),
    )
    with pytest.raises(ValueError, match=r"has net_params=.*EpochTimer.*load\(path, net_params="):
        load(tmp_path / "model.safetensors")


def test_load_rejects_parameters_that_it_does_not_need(tmp_path):
    model = estimator("DeltaUQRegressor").fit(X, Y)
    with pytest.raises(ValueError, match=r"got module, .* not need. Call load\(path\)\."):
        save_and_load(model, tmp_path, module=Net)
    model = estimator("DeltaUQRegressor", module=Net).fit(X, Y)
    with pytest.raises(ValueError, match=r"got max_iter, .* Call load\(path, module=\.\.\.\)"):
        save_and_load(model, tmp_path, module=Net, max_iter=3)


class Cube(TransformerMixin, BaseEstimator):
    def fit(self, y):
        return self

    def transform(self, y):
        return np.cbrt(y)

    def inverse_transform(self, z):
        return z**3


@pytest.mark.parametrize(
    ("transform", "found"),
    [
        (Cube(), r"target_transform is an object of <class '.*Cube'>"),
        (FunctionTransformer(lambda y: y + 1, lambda z: z - 1), r"target_transform\.func is"),
    ],
)
def test_save_rejects_transformers_of_the_user(transform, found, tmp_path):
    model = estimator("DeltaUQRegressor", target_transform=transform).fit(X, Y)
    with pytest.raises(ValueError, match=f"cannot hold this DeltaUQRegressor: {found}.*joblib"):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_save_rejects_another_module_than_in_fit(tmp_path):
    model = estimator("DeltaUQRegressor", module=Net).fit(X, Y)
    model.set_params(module=torch.nn.Linear)
    with pytest.raises(ValueError, match=r"_trained_\..*Set module and net_params back"):
        model.save(tmp_path / "model")


def test_extra_attributes_are_stored_if_they_are_plain_values(tmp_path):
    model = estimator("DeltaUQRegressor").fit(X, Y)
    model.note = {"by": "me", "rows": (N, 3)}
    assert save_and_load(model, tmp_path).note == model.note
    model.note = object()
    with pytest.raises(ValueError, match=r"note is an object of .* Set note to another value"):
        model.save(tmp_path / "other")


class Own(DeltaUQRegressor):
    pass


def test_save_rejects_classes_of_the_user(tmp_path):
    with pytest.raises(ValueError, match="and Own is a class of your own"):
        Own(max_iter=2).fit(X, Y).save(tmp_path / "model")


def test_save_rejects_models_that_are_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        DeltaUQRegressor().save(tmp_path / "model")
