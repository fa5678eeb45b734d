"""Sample weights: zero ignores a row, only ratios matter, and heavy rows count more."""

import numpy as np
import pytest

from tests._helpers import (
    LEARN,
    N,
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    predict_all,
    regressor,
    table,
)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_rows_of_weight_zero_are_ignored(make, y, early_stopping):
    X = table()
    weights = np.random.default_rng(1).integers(0, 3, N).astype(float)
    present = weights > 0
    assert 0 < present.sum() < N
    X[~present] += 100
    params = {"early_stopping": early_stopping, "n_anchors": 30, "batch_size": 8}
    weighted = make(**params).fit(X, y, sample_weight=weights)
    removed = make(**params).fit(X[present], y[present], sample_weight=weights[present])
    assert_same_predictions(predict_all(weighted, X), predict_all(removed, X))
    np.testing.assert_array_equal(weighted.anchors_, removed.anchors_)
    assert weighted.anchors_.max() < 100


def test_a_weight_of_two_equals_two_rows_with_missing_values(make, y):
    X = table().astype(float)
    X[::4, 0], X[1::5, 2] = np.nan, np.nan
    X[:, 1] += np.arange(N)  # makes all rows different
    weights = np.ones(N)
    weights[:9] = 2
    weighted = make().fit(X, y, sample_weight=weights)
    repeated = make().fit(np.vstack([X, X[:9]]), np.r_[y, y[:9]])
    assert_close_predictions(predict_all(weighted, X), predict_all(repeated, X))
    np.testing.assert_allclose(weighted.x_scaler_.mean_, repeated.x_scaler_.mean_)
    extended, zero = np.vstack([X, [np.nan, 7, 1e6]]), np.r_[weights, 0]
    ignored = make().fit(extended, np.r_[y, y[:1]], sample_weight=zero)
    assert_same_predictions(predict_all(ignored, X), predict_all(weighted, X))
    tiny = make().fit(extended, np.r_[y, y[:1]], sample_weight=zero + 1e-14)
    found, expected = (model.encoder_.transform(X) for model in (tiny, weighted))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("weights", [None, 3.0, np.ones(N), np.full(N, 5), [1] * N], ids=str)
def test_equal_weights_change_nothing(make, y, weights):
    X = table()
    found = predict_all(make().fit(X, y, sample_weight=weights), X)
    assert_same_predictions(found, predict_all(make().fit(X, y), X))


@pytest.mark.parametrize("scale", [1e-300, 1e-6, 1e6, 1e300])
def test_the_scale_of_the_weights_does_not_matter(make, y, scale):
    X, weights = table(), np.linspace(0.5, 2, N)
    found = predict_all(make().fit(X, y, sample_weight=scale * weights), X)
    for method, value in predict_all(make().fit(X, y, sample_weight=weights), X).items():
        if value.dtype.kind == "f":
            np.testing.assert_allclose(found[method], value, rtol=1e-3, atol=1e-5, err_msg=method)


@pytest.mark.parametrize("early_stopping", [False, True])
def test_weights_of_very_different_size_give_finite_predictions(make, y, early_stopping):
    X = table()
    weights = np.full(N, 1e-60)
    weights[:12] = 1
    model = make(early_stopping=early_stopping, batch_size=4).fit(X, y, sample_weight=weights)
    assert_finite(predict_all(model, X))
    assert np.isfinite(model.loss_curve_).all()
    if early_stopping:
        assert np.isfinite(model.validation_scores_).all()
    assert {tuple(row) for row in model.anchors_} <= {tuple(row) for row in X[:12]}


def test_heavy_rows_determine_the_prediction(make, y):
    X = np.zeros((N, 1))
    y = np.repeat([0, 1], N // 2)
    weights = np.repeat([1.0, 9.0], N // 2)
    model = make(**LEARN).fit(X, y, sample_weight=weights)
    rate = model.predict(X[:1])[0] if make is regressor else model.predict_proba(X[:1])[0, 1]
    assert rate == pytest.approx(0.9, abs=0.07)
    assert model.score(X, y, sample_weight=weights) > model.score(X, y) - 1


def test_heavy_rows_are_anchors_more_often(make, y):
    X, weights = np.arange(float(N))[:, None], np.ones(N)
    weights[:5] = 1e6
    model = make(max_iter=1).fit(X, y, sample_weight=weights)
    np.testing.assert_array_equal(np.sort(model.anchors_[:, 0]), np.arange(5))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.zeros(N), "at least one (positive weight|non-zero number)"),
        (np.r_[-1.0, np.ones(N - 1)], "Negative values"),
        (np.r_[np.nan, np.ones(N - 1)], "NaN"),
        (np.r_[np.inf, np.ones(N - 1)], "infinity"),
        (np.ones(N - 1), "shape"),
        (np.ones((N, 1)), "1D"),
        (-1.0, "Negative values"),
        (["a"] * N, "could not convert string"),
    ],
    ids=["zero", "negative", "NaN", "infinity", "too few", "2-D", "negative scalar", "text"],
)
def test_invalid_weights_are_rejected(make, y, weights, message):
    model = make()
    with pytest.raises(ValueError, match=message):
        model.fit(table(), y, sample_weight=weights)
    assert not hasattr(model, "net_")
