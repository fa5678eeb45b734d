"""Outlier scores of regressors, by loops, SciPy and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy.stats import expon
from sklearn.exceptions import NotFittedError
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import NearestNeighbors
from torch import nn

from sk_deltauq import DeltaUQRegressor, baselines, load
from sk_deltauq._outlier_scores import REGRESSOR_KINDS, find_surprise
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}
FAMILY = [n for n in baselines.__all__ if n.endswith("Regressor") and n != "PBPRegressor"]


@pytest.fixture(scope="module")
def model(regression_data):
    return DeltaUQRegressor(**SMALL).fit(*regression_data)


@pytest.fixture(scope="module")
def X(regression_data):
    return regression_data[0]


@pytest.fixture(scope="module")
def strange(X):
    return X + 5 * X.std(axis=0) * np.random.default_rng(0).choice([-1, 1], size=X.shape)


def predict_components(model, rows):
    """Means of the components in scaled units, `(component, row, output)`."""
    with torch.inference_mode():
        return model._predictor().module(scale_to_tensor(rows, model.x_scaler_))[0].numpy()


@pytest.mark.parametrize("kind", REGRESSOR_KINDS)
def test_a_score_is_one_number_per_row_that_no_other_row_changes(model, X, strange, kind):
    rows = np.concatenate([X, strange])
    found = model.outlier_score(rows, kind=kind)
    assert found.shape == (len(rows),)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(
        model.outlier_score(rows[70:75], kind=kind), found[70:75], rtol=1e-5
    )
    assert np.isfinite(model.outlier_score(1e9 * X, kind=kind)).all()


@pytest.mark.parametrize("kind", ["combined", "distance", "epistemic"])
def test_strange_rows_have_higher_scores(model, X, strange, kind):
    new = X + 0.1 * X.std(axis=0) * np.random.default_rng(1).normal(size=X.shape)
    scores = model.outlier_score(np.concatenate([new, strange]), kind=kind)
    assert roc_auc_score(np.repeat([0, 1], [len(new), len(strange)]), scores) > 0.95


def test_the_default_is_combined(model, X):
    np.testing.assert_array_equal(model.outlier_score(X), model.outlier_score(X, kind="combined"))


def test_the_epistemic_score_is_the_epistemic_part_in_units_of_the_targets(
    model, strange, regression_data
):
    expected = model.predict_uncertainty(strange).epistemic / regression_data[1].std()
    found = model.outlier_score(strange, kind="epistemic")
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_the_distance_is_between_squashed_rows(model, X, strange):
    def squash(rows):
        z = scale_to_tensor(rows, model.x_scaler_).numpy()
        return z / np.sqrt(1 + (z / 3) ** 2)

    neighbours = NearestNeighbors(n_neighbors=5).fit(squash(X))
    expected = neighbours.kneighbors(squash(strange))[0].mean(axis=1)
    np.testing.assert_allclose(model.outlier_score(strange, kind="distance"), expected, rtol=1e-4)


def test_the_combined_score_adds_two_surprises(model, strange):
    held = model._outliers_.held
    spreads = predict_components(model, strange)[..., 0].std(axis=0, ddof=1)
    distances = model.outlier_score(strange, kind="distance")
    expected = find_surprise(held.spreads, spreads) + find_surprise(held.distances, distances)
    np.testing.assert_allclose(model.outlier_score(strange), expected, rtol=1e-3)


def test_half_of_the_usual_rows_score_above_the_median_of_usual_rows():
    """Each p-value is uniform for new rows, so the mean of the sum of two surprises is about 2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.3 * rng.normal(size=900)
    model = DeltaUQRegressor(**SMALL, n_members=3).fit(X[:400], y[:400])
    scores = model.outlier_score(X[400:])
    assert abs(scores.mean() - 2 * expon.mean()) < 0.3


def test_several_outputs_have_the_root_of_the_mean_variance(regression_data, strange):
    X, y = regression_data
    Y = np.column_stack([y, 1000 * X[:, 2], np.full(len(y), 7.0)])  # the last never varied
    model = DeltaUQRegressor(**SMALL).fit(X, Y)
    parts = model.predict_uncertainty(strange).epistemic[:, :2] / Y[:, :2].std(axis=0)
    found = model.outlier_score(strange, kind="epistemic")
    np.testing.assert_allclose(found, np.sqrt((parts**2).mean(axis=1)), rtol=1e-5)
    spreads = np.sqrt(predict_components(model, strange).var(axis=0, ddof=1).mean(axis=1))
    held = model._outliers_.held
    distances = model.outlier_score(strange, kind="distance")
    expected = find_surprise(held.spreads, spreads) + find_surprise(held.distances, distances)
    np.testing.assert_allclose(model.outlier_score(strange), expected, rtol=1e-3)
    assert model.outlier_score(strange, kind="reverse_anchoring").shape == (len(X),)


def test_a_target_that_never_varied_has_finite_scores(X):
    model = DeltaUQRegressor(**SMALL).fit(X, np.full(len(X), 3.0))
    for kind in REGRESSOR_KINDS:
        assert np.isfinite(model.outlier_score(X, kind=kind)).all()


def test_tables_with_categories_and_gaps(regression_data):
    X, y = regression_data
    table = pd.DataFrame({"a": X[:, 0], "wood": np.array(["oak", "ash", None])[np.arange(60) % 3]})
    table.loc[::7, "a"] = np.nan
    model = DeltaUQRegressor(**SMALL).fit(table, y)
    odd = table.assign(a=50.0, wood="plastic")
    for kind in ("combined", "distance"):
        usual = model.outlier_score(table, kind=kind)
        assert model.outlier_score(odd, kind=kind).min() > usual.max()
    assert np.isfinite(model.outlier_score(odd, kind="reverse_anchoring")).all()


@pytest.mark.parametrize("params", [{"refine_mean": True}, {"calibrate": False}])
def test_other_ways_to_train(regression_data, strange, params):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, **params).fit(X, y)
    for kind in REGRESSOR_KINDS:
        assert np.isfinite(model.outlier_score(strange, kind=kind)).all()
    assert np.median(model.outlier_score(strange)) > np.median(model.outlier_score(X))


def test_networks_that_trained_on_all_rows_have_no_held_out_rows_to_compare_with(
    regression_data, strange
):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, noise=None).fit(X, y)
    for kind in ("distance", "epistemic", "reverse_anchoring"):
        assert np.isfinite(model.outlier_score(strange, kind=kind)).all()
    with pytest.raises(ValueError, match="noise=None"):
        model.outlier_score(strange)


@pytest.mark.parametrize("name", FAMILY)
def test_every_network_regressor_has_the_scores(name, regression_data, strange):
    X, y = regression_data
    model = getattr(baselines, name)(**{**SMALL, "max_iter": 5}, n_members=2).fit(X, y)
    for kind in ("combined", "distance", "epistemic"):
        assert np.isfinite(model.outlier_score(strange, kind=kind)).all()
    with pytest.raises(ValueError, match=r"single rows: .* with anchors='random'"):
        model.outlier_score(X, kind="reverse_anchoring")


def test_neighbours_as_anchors_have_no_reverse_anchoring(regression_data, strange):
    X, y = regression_data
    model = DeltaUQRegressor(**{**SMALL, "max_iter": 5}, anchors="neighbours").fit(X, y)
    assert np.median(model.outlier_score(strange)) > np.median(model.outlier_score(X))
    with pytest.raises(ValueError, match="kind='combined' or kind='distance' with this model"):
        model.outlier_score(X, kind="reverse_anchoring")


def test_a_module_of_the_user_has_all_scores(regression_data, strange):
    X, y = regression_data
    model = DeltaUQRegressor(module=nn.Linear, max_iter=5, random_state=0).fit(X, y)
    for kind in REGRESSOR_KINDS:
        assert np.isfinite(model.outlier_score(strange, kind=kind)).all()


def test_one_component_has_no_spread(X):
    X = np.tile(X, (12, 1)) + np.random.default_rng(0).normal(size=(720, 3))
    model = baselines.DeepEnsembleRegressor(n_members=1, max_iter=3, random_state=0)
    model.fit(X, X[:, 0])
    assert model.n_components_ == 1
    with pytest.raises(ValueError, match="disagreement of components, and this model has one"):
        model.outlier_score(X, kind="epistemic")
    combined, distance = (model.outlier_score(X, kind=kind) for kind in ("combined", "distance"))
    held = model._outliers_.held
    np.testing.assert_allclose(combined, find_surprise(held.distances, distance))


def test_without_held_out_rows_the_distance_is_there(regression_data):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL, early_stopping=False).fit(X, y)
    with pytest.raises(ValueError, match="rows that were held out of training"):
        model.outlier_score(X)
    for kind in ("distance", "epistemic", "reverse_anchoring"):
        assert np.isfinite(model.outlier_score(X, kind=kind)).all()


def test_partial_fit_adds_rows_and_keeps_the_held_out_scores(regression_data):
    X, y = regression_data
    model = DeltaUQRegressor(**SMALL).fit(X, y)
    held, far = model._outliers_.held, X + 100
    before = model.outlier_score(far, kind="distance")
    model.partial_fit(far, y)
    assert model._outliers_.held is held
    assert (model.outlier_score(far, kind="distance") < before).all()
    labelled = model._outliers_.labelled
    assert len(labelled.rows) == len(labelled.targets) == 100  # of 120 rows
    assert (np.diff(labelled.keys) <= 0).all()


def test_files_hold_the_scores_and_files_of_earlier_versions_can_be_read(
    model, X, strange, tmp_path
):
    model.save(tmp_path / "new")
    loaded = load(tmp_path / "new")
    for kind in REGRESSOR_KINDS:
        np.testing.assert_array_equal(
            loaded.outlier_score(strange, kind=kind), model.outlier_score(strange, kind=kind)
        )
    del loaded._outliers_  # as in files from before these scores
    loaded.save(tmp_path / "old")
    old = load(tmp_path / "old")
    for kind in ("combined", "distance", "reverse_anchoring"):
        with pytest.raises(ValueError, match=r"stored by a version .* Fit the model again"):
            old.outlier_score(X, kind=kind)
    assert np.isfinite(old.outlier_score(X, kind="epistemic")).all()
    old.set_params(early_stopping=False).partial_fit(X, np.ones(len(X)))
    assert np.isfinite(old.outlier_score(X, kind="distance")).all()


def test_mistakes_have_clear_messages(model, X):
    with pytest.raises(ValueError, match="kind must be one of 'combined', 'distance', 'epis"):
        model.outlier_score(X, kind="entropy")
    with pytest.raises(NotFittedError):
        DeltaUQRegressor().outlier_score(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        model.outlier_score(X[:, :2])
