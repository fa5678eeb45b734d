"""`anchors="neighbours"` of the classifier: no leakage of labels, and all prediction methods."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict

import sk_deltauq
from sk_deltauq import DeltaUQClassifier
from sk_deltauq._methods import search
from tests._helpers import (
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    predict_all,
)

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 5, "n_anchors": 4, "random_state": 0}
NAMES = np.array(["ash", "elm", "oak"])


def make(**params):
    return DeltaUQClassifier(**{**SMALL, "anchors": "neighbours", **params})


def board(n=300, seed=0):
    """Three classes on the fields of a board: neighbours predict them well, 16 units do not."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 6, size=(n, 2))
    fields = np.random.default_rng(1).integers(0, 3, size=(6, 6))
    return X, NAMES[fields[X[:, 0].astype(int), X[:, 1].astype(int)]]


def test_neighbours_help_where_near_rows_have_the_same_label():
    X, y = board(900)
    losses = [
        log_loss(
            y[600:],
            make(anchors=kind, max_iter=30).fit(X[:600], y[:600]).predict_proba(X[600:]),
        )
        for kind in ("random", "neighbours")
    ]
    assert losses[1] < 0.7 * losses[0]


def test_permuted_labels_score_like_the_class_frequencies():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(150, 3)), 2, axis=0)  # each row has a near copy
    X[1::2] += 1e-9 * rng.normal(size=(150, 3))
    y = rng.permutation(np.repeat([0, 1, 2], 100))
    model = make(max_iter=30).fit(X, y)
    # Held-out rows must not leak either: their score is minus a log loss.
    assert np.max(model.best_validation_score_) < -np.log(3) + 0.15
    proba = cross_val_predict(make(max_iter=30), X, y, cv=2, method="predict_proba")
    assert log_loss(y, proba) > np.log(3) - 0.03


def test_prediction_does_not_depend_on_other_rows():
    X, y = board()
    model = make().fit(X, y)
    whole = predict_all(model, X[:40])
    for part in (slice(0, 1), slice(7, 20)):
        assert_close_predictions(
            predict_all(model, X[:40][part]), {k: v[part] for k, v in whole.items()}
        )


@pytest.mark.parametrize("calibration", ["distance", "spread", "temperature", None])
def test_torch_module_gives_the_same_predictions(calibration):
    X, y = board()
    X[:100] = X[:100].round(1)  # many rows are equally near
    model = make(n_members=2, calibration=calibration).fit(X, y)
    rows = np.concatenate([X[:50], board(30, seed=1)[0].round(1)])
    found, parts = model.to_torch()(torch.tensor(rows)), model.predict_uncertainty(rows)
    np.testing.assert_allclose(found.proba, model.predict_proba(rows), rtol=1e-4, atol=1e-6)
    for name in ("total", "aleatoric", "epistemic"):
        np.testing.assert_allclose(getattr(found, name), parts[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("params", [{}, {"n_members": 2}, {"anchor_pool": 50}])
def test_model_predicts_the_same_after_pickling_and_loading(params, tmp_path):
    X, y = board()
    model = make(**params).fit(X, y)
    model.save(tmp_path / "model")
    for copy in (pickle.loads(pickle.dumps(model)), sk_deltauq.load(tmp_path / "model")):
        assert_same_predictions(predict_all(copy, X), predict_all(model, X))
        copy.set_params(warm_start=True).fit(X, y)
        assert_finite(predict_all(copy, X))


@pytest.mark.parametrize("corruption", [None, "swap"])
def test_approximate_search_is_almost_as_accurate(corruption, monkeypatch):
    pytest.importorskip("faiss")
    for name, value in {"ROWS": 200, "FEATURES": 2}.items():
        monkeypatch.setattr(search, f"_LEAST_CLUSTERED_{name}", value)
    monkeypatch.setattr(search, "_N_PROBES", 3)
    X, y = board(900)
    losses = []
    for kind in ("exact", "approximate"):
        model = make(neighbor_search=kind, anchor_corruption=corruption, max_iter=30)
        model.fit(X[:600], y[:600], groups=np.arange(600) // 2)
        is_exact = model._trained_.net.module_._index.clusters is None
        assert is_exact == (kind == "exact")
        losses.append(log_loss(y[600:], model.predict_proba(X[600:])))
    assert losses[1] < losses[0] + 0.1


def test_rows_of_all_calls_may_be_neighbours():
    X, y = board(600)
    order = np.argsort(y, kind="stable")  # each call has rows of one or two classes
    model = make(anchor_pool=None)
    for part in np.split(order, 3):
        model.partial_fit(X[part], y[part], classes=NAMES)
    np.testing.assert_array_equal(model.anchors_, X[order])
    assert_finite(predict_all(model, X[:20]))
    with pytest.raises(ValueError, match="fir"):
        model.partial_fit(X[:5], ["fir"] * 5)


def test_predictions_are_finite_while_a_class_has_no_rows():
    X, y = board()
    known = y != "oak"
    model = make().partial_fit(X[known], y[known], classes=NAMES)
    assert_finite(predict_all(model, X))
    assert model.predict_proba(X).shape == (300, 3)


def test_rows_without_weight_are_no_neighbours():
    X, y = board()
    weights = np.ones(300)
    weights[200:] = 0
    changed = np.where(weights > 0, y, "ash")
    weighted = make().fit(X, changed, sample_weight=weights)
    assert_same_predictions(predict_all(weighted, X), predict_all(make().fit(X[:200], y[:200]), X))


def test_class_weights_apply_to_neighbours():
    """Two classes that overlap: the weight of one raises its probability."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 2)), rng.integers(0, 2, 400)
    rows = rng.normal(size=(200, 2))
    shares = [
        make(class_weight=weights).fit(X, y).predict_proba(rows)[:, 1].mean()
        for weights in (None, {0: 1, 1: 9})
    ]
    assert shares[0] == pytest.approx(0.5, abs=0.1)
    assert shares[1] > 0.75


def test_table_with_text_and_missing_values():
    X, y = board()
    table = pd.DataFrame({"a": X[:, 0], "kind": np.where(X[:, 1] > 3, "high", "low")})
    table.loc[::7, "a"] = np.nan
    assert_finite(predict_all(make().fit(table, y), table))


def test_groups_and_validation_rows_of_the_user():
    X, y = board()
    by_group = make().fit(X, y, groups=np.arange(300) // 10)
    own = make(early_stopping=True).fit(X[:200], y[:200], X_val=X[200:], y_val=y[200:])
    for model in (by_group, own):
        assert_finite(predict_all(model, X))
    assert len(own.anchors_) == 200


def test_user_module_gets_the_row_and_its_neighbours():
    X, y = board()
    widths = []

    def module(n_in, n_out):
        widths.append((n_in, n_out))
        return torch.nn.Linear(n_in, n_out)

    model = make(module=module, n_members=2).fit(X, y)
    # Two features; for two heads two differences, three shares with a spread each, a distance.
    assert set(widths) == {(2 + 2 * (2 + 3 + 3 + 1), 3)}
    assert_finite(predict_all(model, X))


@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
@pytest.mark.parametrize("n", [2, 3, 5, 9])
@pytest.mark.parametrize("distinct", [True, False])
def test_few_rows(n, distinct):
    X = np.linspace(0, 1, n)[:, None] if distinct else np.ones((n, 1))
    model = make(max_iter=3).fit(X, np.arange(n) % 2)
    assert_finite(predict_all(model, np.array([[0.0], [0.4], [1.0], [9.0]])))


def test_prediction_sets_and_outlier_scores():
    X, y = board(600)
    model = make(max_iter=20).fit(X[:400], y[:400])
    sets = model.predict_set(X[400:], coverage=0.8)
    assert sets.shape == (200, 3)
    assert sets[np.arange(200), np.searchsorted(NAMES, y[400:])].mean() > 0.65
    usual = np.median(model.outlier_score(X[400:]))
    assert (model.outlier_score([[20.0, -9.0]]) > usual).all()
    with pytest.raises(ValueError, match="reverse_anchoring"):
        model.outlier_score(X[:3], kind="reverse_anchoring")


def test_equal_seeds_give_equal_models():
    X, y = board()
    assert_same_predictions(*(predict_all(make(n_members=2).fit(X, y), X) for _ in range(2)))


@pytest.mark.parametrize("kinds", [("neighbours", "random"), ("random", "neighbours")])
def test_the_kind_of_anchors_is_fixed_while_training_continues(kinds):
    X, y = board()
    model = make(warm_start=True, anchors=kinds[0]).fit(X, y).set_params(anchors=kinds[1])
    with pytest.raises(ValueError, match="another anchors"):
        model.fit(X, y)
