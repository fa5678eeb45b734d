"""Pickles of fitted estimators: they hold plain values and arrays of this package."""

import copy
import pickle
import pickletools

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback
from skorch.exceptions import DeviceWarning

from sk_deltauq._novelty import DistanceInflation
from sk_deltauq._training.stored_net import describe_net, rebuild_net
from tests._helpers import assert_same_predictions, classifier, predict_all, regressor
from tests._persistence_data import LABELS, NAMES, X, Y, estimator, target


def packages(model):
    """Packages that the pickle of a model takes names from."""
    # In the old protocol 2, each name is in one place together with its module.
    operations = pickletools.genops(pickle.dumps(model, protocol=2))
    return {
        value.partition(".")[0].split()[0] for op, value, _ in operations if op.name == "GLOBAL"
    }


@pytest.mark.parametrize("name", NAMES)
def test_pickle_refers_only_to_this_package_and_numpy(name):
    model = estimator(name, early_stopping=True)
    model.fit(X, target(model))
    found = packages(model)
    assert "sk_deltauq" in found
    assert found <= {"sk_deltauq", "numpy", "copy_reg", "copyreg", "_codecs", "__builtin__"}


class Counter(Callback):
    def __init__(self):
        self.count = 0

    def on_epoch_end(self, net, **kwargs):
        self.count += 1
        net.history.record("count", self.count)
        net.history.record("object", self)


def test_unpickled_net_gets_new_callbacks_from_the_parameters():
    callback = Counter()
    model = regressor(net_params={"callbacks": [("counter", callback)]}).fit(X, Y)
    assert dict(model.net_.callbacks_)["counter"].count == 3
    again = pickle.loads(pickle.dumps(model))
    assert dict(again.net_.callbacks_)["counter"].count == 0
    assert again.net_.history[:, "count"] == [1, 2, 3]
    assert "object" not in again.net_.history[-1]
    assert again.partial_fit(X, Y).net_.history[:, "count"] == [1, 2, 3, 1]


def test_partial_fit_keeps_the_callbacks():
    model = regressor(net_params={"callbacks": [("counter", Counter())]}).fit(X, Y)
    assert model.partial_fit(X, Y).net_.history[:, "count"] == [1, 2, 3, 4]


def test_unpickled_net_makes_its_optimizer_on_first_use():
    model = regressor().fit(X, Y)
    net = pickle.loads(pickle.dumps(model)).net_
    assert "optimizer_" not in vars(net)
    state, found = model.net_.optimizer_.state_dict(), net.optimizer_.state_dict()
    assert found["param_groups"] == state["param_groups"]
    for one, other in zip(state["state"].values(), found["state"].values(), strict=True):
        assert one.keys() == other.keys()
        for key, value in one.items():
            torch.testing.assert_close(other[key], value, rtol=0, atol=0)
    with pytest.raises(AttributeError, match="'StackedNet' object has no attribute 'nothing'"):
        net.nothing  # noqa: B018


def test_second_pickle_keeps_the_state_of_an_unused_optimizer():
    model = regressor().fit(X, Y)
    twice = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(model))))
    for one in (model, twice):
        one.partial_fit(X, Y)
    assert_same_predictions(predict_all(twice, X), predict_all(model, X))


def test_unpickled_net_accepts_a_new_step_size():
    model = regressor().fit(X, Y)
    net = copy.deepcopy(pickle.loads(pickle.dumps(model)).net_)  # before its optimizer is made
    net.set_params(lr=0.125)
    assert {group["lr"] for group in net.optimizer_.param_groups} == {0.125}


@pytest.mark.parametrize("make", [regressor, classifier])
def test_stored_values_are_copies_of_the_net(make):
    model = make().fit(X, Y if make is regressor else LABELS)
    trained = model._trained_
    state = describe_net(model.net_)
    net = rebuild_net(state, trained.method, trained.spec, trained.settings)
    assert not net.module_.training
    expected = model.net_.module_.state_dict()
    found = net.module_.state_dict()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name
        assert found[name].is_contiguous()
        assert value.is_contiguous()  # the order in memory is not stored
        assert found[name].data_ptr() != value.data_ptr()


@pytest.mark.parametrize("name", ["MCDropoutRegressor", "VariationalBNNRegressor"])
def test_draws_of_a_method_are_contiguous(name):
    model = estimator(name).fit(X, Y)
    assert all(value.is_contiguous() for value in model.net_.module_.state_dict().values())


def test_copy_does_not_change_global_state(global_state_is_kept):
    copy.deepcopy(regressor().fit(X, Y))


def test_unpickling_ignores_torch_settings_of_the_caller():
    model = regressor().fit(X, Y)
    text = pickle.dumps(model)
    torch.set_default_dtype(torch.float64)
    try:
        with torch.inference_mode():
            again = pickle.loads(text)
    finally:
        torch.set_default_dtype(torch.float32)
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    model.partial_fit(X, Y)
    assert_same_predictions(predict_all(again.partial_fit(X, Y), X), predict_all(model, X))


def test_net_of_a_missing_gpu_is_rebuilt_on_the_cpu(monkeypatch):
    trained = regressor().fit(X, Y)._trained_
    state = {**trained.__getstate__()}
    vars(trained.settings)["device"] = "cuda"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(DeviceWarning, match="device='cuda', which is not available"):
        net = rebuild_net(state["net"], trained.method, trained.spec, trained.settings)
    assert net.device == "cpu"


def test_unpickled_inflation_equals_the_original():
    inflation = regressor().fit(X, Y)._trained_.kept["_inflation_"]
    again = pickle.loads(pickle.dumps(inflation))
    assert isinstance(again, DistanceInflation)
    x = torch.from_numpy(3 * X.astype(np.float32))
    assert torch.equal(again(x), inflation(x))
    assert len(again.state_dict()) == 4
    assert not hasattr(again, "_probes")


def test_read_only_arrays_are_copied():
    """joblib maps arrays into memory like this."""
    model = regressor().fit(X, Y)
    trained, state = model._trained_, model._trained_.__getstate__()
    for array in state["net"]["network_values"].values():
        array.flags.writeable = False
    net = rebuild_net(state["net"], trained.method, trained.spec, trained.settings)
    expected = {name: value.clone() for name, value in model.net_.module_.state_dict().items()}
    for name, value in net.module_.state_dict().items():
        assert torch.equal(value, expected[name]), name
        value.zero_()  # training can write to the copy
    assert any(array.any() for array in state["net"]["network_values"].values())
