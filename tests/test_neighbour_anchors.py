"""`anchors="neighbours"` of the regressor: no leakage of targets, and all prediction methods."""

import pickle
import sys

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.model_selection import cross_val_predict

import sk_deltauq
from sk_deltauq import DeltaUQRegressor
from sk_deltauq._methods import search
from tests._helpers import (
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    predict_all,
)

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 5, "n_anchors": 4, "random_state": 0}


def make(**params):
    return DeltaUQRegressor(**{**SMALL, "anchors": "neighbours", **params})


def rough_data(n=300, seed=0):
    """A target that neighbours predict well, and a network of 16 units does not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 2))
    cells = rng.normal(size=(8, 8))
    places = np.clip(((X + 1) * 4).astype(int), 0, 7)
    return X, cells[places[:, 0], places[:, 1]] + 0.05 * rng.standard_normal(n)


def test_neighbours_help_where_near_rows_have_similar_targets():
    X, y = rough_data(900)
    errors = [
        np.mean(
            (make(anchors=kind, max_iter=30).fit(X[:600], y[:600]).predict(X[600:]) - y[600:]) ** 2
        )
        for kind in ("random", "neighbours")
    ]
    assert errors[1] < 0.6 * errors[0]


def test_permuted_targets_score_like_the_marginal_distribution():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(150, 3)), 2, axis=0)  # each row has a near copy
    X[1::2] += 1e-9 * rng.normal(size=(150, 3))
    y = rng.permutation(rough_data(300)[1])
    model = make(max_iter=40).fit(X, y)
    found = cross_val_predict(make(max_iter=40), X, y, cv=2)
    assert np.mean((found - y) ** 2) > 0.95 * y.var()
    # Held-out rows must not leak either: without knowledge, their score is minus the entropy of a
    # normal distribution.
    assert np.max(model.best_validation_score_) < -0.5 * np.log(2 * np.pi * np.e) + 0.25


def test_distances_weight_features_by_their_effect_on_the_target():
    """The target jumps between the values of one feature: it has no slope at a training row."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 3, 400), rng.uniform(-1, 1, size=(400, 2))])
    y = 5 * X[:, 0] + X[:, 1] + 0.1 * rng.standard_normal(400)
    model = make().fit(X, y)
    weights = model._trained_.kept["_inflation_"].weights
    assert weights[0] > 1.4 * weights[1]
    assert weights[1] > weights[2]
    again = make(warm_start=True).fit(X, y).fit(X, y)
    np.testing.assert_array_equal(again._trained_.kept["_inflation_"].weights, weights)


def test_prediction_does_not_depend_on_other_rows():
    X, y = rough_data()
    model = make().fit(X, y)
    whole = predict_all(model, X[:40])
    for part in (slice(0, 1), slice(7, 20)):
        few = {k: v for k, v in predict_all(model, X[:40][part]).items() if k != "sample_y"}
        assert_close_predictions(few, {k: whole[k][part] for k in few})


@pytest.mark.parametrize("params", [{}, {"n_members": 2, "refine_mean": True}, {"noise": None}])
def test_torch_module_gives_the_same_predictions(params):
    X, y = rough_data(300)
    X[:100] = X[:100].round(1)  # many rows are equally near
    model = make(**params).fit(X, y)
    rows = np.concatenate([X[:50], rough_data(30, seed=1)[0].round(1)])
    found, parts = model.to_torch()(torch.tensor(rows)), model.predict_uncertainty(rows)
    np.testing.assert_allclose(found.mean, model.predict(rows), rtol=1e-5, atol=1e-6)
    for name in ("epistemic", "aleatoric"):
        np.testing.assert_allclose(getattr(found, name), parts[name], rtol=1e-4, atol=1e-6)


def test_gradient_of_the_torch_module_equals_a_finite_difference():
    X, y = rough_data(100)
    module = make(n_neighbors=100).fit(X, y).to_torch().double()
    x = torch.tensor(X[:4] + 1e-3, requires_grad=True)
    module(x).mean.sum().backward()
    for feature in range(2):
        step = torch.zeros(2, dtype=torch.float64)
        step[feature] = 1e-6
        with torch.no_grad():
            slope = (module(x + step).mean - module(x - step).mean) / 2e-6
        torch.testing.assert_close(x.grad[:, feature], slope, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "params", [{}, {"refine_mean": True, "n_members": 2}, {"anchor_pool": 50}]
)
def test_model_predicts_the_same_after_pickling_and_loading(params, tmp_path):
    X, y = rough_data()
    model = make(**params).fit(X, y)
    model.save(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), sk_deltauq.load(tmp_path / "model")):
        assert_same_predictions(predict_all(copy, X), predict_all(model, X))
        copy.set_params(warm_start=True).fit(X, y)
        assert_finite(predict_all(copy, X))


@pytest.fixture
def clustered(monkeypatch):
    """Use the approximate search for the tables of this file, which are too small for it."""
    pytest.importorskip("faiss")
    monkeypatch.setattr(search, "_LEAST_CLUSTERED_ROWS", 200)
    monkeypatch.setattr(search, "_LEAST_CLUSTERED_FEATURES", 2)
    monkeypatch.setattr(search, "_N_PROBES", 3)


def searches_clusters(model):
    """Return whether the search of a fitted or loaded model is approximate."""
    return model._trained_.net.module_._index.clusters is not None


@pytest.mark.parametrize(
    "params", [{}, {"refine_mean": True, "n_members": 2}, {"anchor_pool": 250}]
)
def test_approximate_search_is_almost_as_accurate(params, clustered, tmp_path):
    X, y = rough_data(900)
    models = [
        make(**params, neighbor_search=kind, max_iter=30).fit(X[:600], y[:600])
        for kind in ("exact", "approximate")
    ]
    errors = [np.mean((model.predict(X[600:]) - y[600:]) ** 2) for model in models]
    assert errors[1] < 1.2 * errors[0]
    assert [searches_clusters(model) for model in models] == [False, True]
    model = models[1]
    model.save(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), sk_deltauq.load(tmp_path / "model")):
        assert searches_clusters(copy)
        assert_same_predictions(predict_all(copy, X[:50]), predict_all(model, X[:50]))
    assert_finite(predict_all(model.partial_fit(X[600:], y[600:]), X[:50]))


def test_an_approximate_search_leaks_no_targets(clustered):
    """Rows of one group, and held-out rows, are not neighbours, even if the search misses some."""
    X, _ = rough_data(600)
    y = np.random.default_rng(1).standard_normal(600)
    X[1::2], y[1::2] = X[::2] + 1e-3, y[::2]  # pairs of near copies
    pairs = np.repeat(np.arange(300), 2)
    model = make(neighbor_search="approximate", max_iter=40).fit(X, y, groups=pairs)
    assert searches_clusters(model)
    assert np.max(model.best_validation_score_) < -0.5 * np.log(2 * np.pi * np.e) + 0.25


def test_approximate_search_among_few_rows_is_exact():
    pytest.importorskip("faiss")
    X, y = rough_data()
    exact, approximate = (make(neighbor_search=k).fit(X, y) for k in ("exact", "approximate"))
    assert_same_predictions(predict_all(approximate, X[:50]), predict_all(exact, X[:50]))


def test_an_approximate_search_without_faiss_fails_before_the_fit(monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    X, y = rough_data()
    model = make(neighbor_search="approximate")
    with pytest.raises(ImportError, match="needs faiss"):
        model.fit(X, y)
    assert not hasattr(model, "n_networks_")
    assert_finite(predict_all(model.set_params(anchors="random").fit(X, y), X[:20]))


def test_a_loaded_model_predicts_without_faiss(clustered, tmp_path, monkeypatch):
    X, y = rough_data(600)
    exact, model = (make(neighbor_search=k).fit(X, y) for k in ("exact", "approximate"))
    model.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.warns(RuntimeWarning, match="faiss is not installed"):
        found = sk_deltauq.load(tmp_path / "model").predict(X)
    assert np.mean(np.abs(found - exact.predict(X))) < 0.2 * y.std()


def test_neighbor_search_cannot_change_between_two_calls(clustered):
    X, y = rough_data(600)
    model = make(neighbor_search="exact").fit(X, y)
    del model._trained_.fixed["neighbor_search"]  # as in a file that is older than the parameter
    model.set_params(neighbor_search="approximate")
    with pytest.raises(ValueError, match="neighbor_search"):
        model.partial_fit(X, y)


def test_rows_of_all_calls_may_be_neighbours():
    X, y = rough_data(600)
    model = make(anchor_pool=None)
    for part in np.split(np.arange(600), 3):
        model.partial_fit(X[part], y[part])
    assert model.anchors_.shape == (600, 2)
    np.testing.assert_array_equal(model.anchors_, X)
    assert_finite(predict_all(model, X[:20]))


@pytest.mark.parametrize("partial", [False, True])
def test_anchor_pool_limits_the_number_of_anchors(partial):
    X, y = rough_data()
    model = make(anchor_pool=40)
    model = (
        model.partial_fit(X[:100], y[:100]).partial_fit(X[100:], y[100:])
        if partial
        else model.fit(X, y)
    )
    assert model.anchors_.shape == (40, 2)
    assert {tuple(row) for row in model.anchors_} <= {tuple(row) for row in X}
    assert_finite(predict_all(model, X[:20]))


def test_rows_without_weight_are_no_neighbours():
    X, y = rough_data()
    weights = np.ones(300)
    weights[200:] = 0
    weighted = make().fit(X, np.where(weights > 0, y, 1e3), sample_weight=weights)
    assert_same_predictions(predict_all(weighted, X), predict_all(make().fit(X[:200], y[:200]), X))


def test_several_targets_are_predicted_in_their_units():
    X, y = rough_data()
    Y = np.column_stack([y, X[:, 0], 100 * X[:, 1]])
    model = make(n_members=2).fit(X, Y)
    assert model.predict(X).shape == (300, 3)
    assert_finite(predict_all(model, X))
    np.testing.assert_allclose(model.predict(X)[:, 2], Y[:, 2], atol=60)


def test_table_with_text_and_missing_values():
    X, y = rough_data()
    table = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 0, "high", "low")})
    table.loc[::7, "a"] = np.nan
    model = make().fit(table, y)
    assert_finite(
        {"predict": model.predict(table), "std": model.predict(table, return_std=True)[1]}
    )


def test_groups_and_validation_rows_of_the_user():
    X, y = rough_data()
    by_group = make().fit(X, y, groups=np.arange(300) // 10)
    own = make(early_stopping=True).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    for model in (by_group, own):
        assert_finite(predict_all(model, X))
    assert len(own.anchors_) == 200


def test_user_module_gets_the_row_and_its_neighbours():
    X, y = rough_data()
    widths = []

    def module(n_in, n_out):
        widths.append(n_in)
        return torch.nn.Linear(n_in, n_out)

    model = make(module=module, n_members=2).fit(X, y)
    # Two features; for two heads two differences, a mean, a spread and a distance.
    assert set(widths) == {2 + 2 * (2 + 1 + 1 + 1)}
    assert_finite(predict_all(model, X))


@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
@pytest.mark.parametrize("n", [2, 3, 5, 9])
@pytest.mark.parametrize("distinct", [True, False])
def test_few_rows(n, distinct):
    X = np.linspace(0, 1, n)[:, None] if distinct else np.ones((n, 1))
    model = make(max_iter=3).fit(X, np.arange(n, dtype=float))
    assert_finite(predict_all(model, np.array([[0.0], [0.4], [1.0], [9.0]])))


@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
@pytest.mark.parametrize(("n", "has_spread"), [(3, False), (4, True), (7, True)])
def test_one_network_has_an_epistemic_part_from_four_rows_on(n, has_spread):
    X = np.linspace(0, 1, n)[:, None]
    model = make(noise=None, widening=0, early_stopping=False).fit(X, np.sin(6 * X[:, 0]))
    epistemic = model.predict_uncertainty(np.array([[0.1], [0.45], [0.7]])).epistemic
    assert (epistemic > 0).tolist() == [has_spread] * 3


def test_equal_seeds_give_equal_models():
    X, y = rough_data()
    assert_same_predictions(*(predict_all(make(n_members=2).fit(X, y), X) for _ in range(2)))


def test_the_number_of_neighbours_is_fixed_while_training_continues():
    X, y = rough_data()
    model = make(warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="another n_neighbors"):
        model.set_params(n_neighbors=5).fit(X, y)
    model.set_params(n_neighbors=16, anchors="random")
    with pytest.raises(ValueError, match="another anchors"):
        model.fit(X, y)
