import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.linear_model import LinearRegression

from sk_deltauq.plotting import StdErrorDisplay
from tests._helpers import regressor
from tests.plotting._helpers import TwoOutputs


def test_bins_by_hand():
    display = StdErrorDisplay.from_predictions(
        y_true=[1.0, 2.0, 10.0, 20.0], y_pred=[0.0, 0.0, 0.0, 0.0], y_std=[2, 1, 9, 12], n_bins=2
    )
    np.testing.assert_allclose(display.bin_std**2, [(1 + 4) / 2, (81 + 144) / 2])
    np.testing.assert_allclose(display.bin_rmse**2, [(1 + 4) / 2, (100 + 400) / 2])
    np.testing.assert_array_equal(display.counts, [2, 2])
    np.testing.assert_array_equal(display.error, [1, 2, 10, 20])
    np.testing.assert_array_equal(display.line_.get_ydata(), display.bin_rmse)


def test_whole_weights_equal_copies(rng):
    y, mean, std = rng.normal(size=20), rng.normal(size=20), rng.uniform(1, 2, size=20)
    weights = rng.integers(1, 4, size=20)
    weighted = StdErrorDisplay.from_predictions(y, mean, std, n_bins=1, sample_weight=weights)
    copies = StdErrorDisplay.from_predictions(
        *(np.repeat(values, weights) for values in (y, mean, std)), n_bins=1
    )
    np.testing.assert_allclose(weighted.bin_rmse, copies.bin_rmse)
    np.testing.assert_allclose(weighted.bin_std, copies.bin_std)


def test_chance_region_covers_its_share_of_simulated_curves(rng):
    std = np.sort(rng.uniform(1, 3, size=60))
    display = StdErrorDisplay.from_predictions(
        std, np.zeros(60), std, n_bins=3, chance=0.8, ax=Figure().subplots()
    )
    outline = display.chance_.get_paths()[0].vertices
    errors = (std * rng.normal(size=(3000, 60))).reshape(3000, 3, 20)  # (draw, bin, row)
    rmse = np.sqrt((errors**2).mean(axis=2))
    for x, simulated in zip(display.bin_std, rmse.T, strict=True):
        ends = outline[np.isclose(outline[:, 0], x), 1]
        inside = (ends.min() <= simulated) & (simulated <= ends.max())
        # Four standard errors. Standard deviations differ within a bin, which moves the part up.
        assert inside.mean() == pytest.approx(0.8, abs=0.03)


def test_from_estimator_accepts_all_regressors_with_std(line, ridge):
    X, y = line
    gp = GaussianProcessRegressor(alpha=0.1, optimizer=None).fit(X, y)
    for model in (regressor().fit(X, y), ridge, gp):
        mean, std = model.predict(X, return_std=True)
        display = StdErrorDisplay.from_estimator(model, X, y, n_bins=4)
        np.testing.assert_allclose(display.std, std)
        np.testing.assert_allclose(display.error, np.abs(y - mean))
        assert display.counts.sum() == len(y)


def test_constant_standard_deviation_is_one_bin(line):
    X, _ = line
    display = StdErrorDisplay.from_estimator(TwoOutputs().fit(X), X, X + 1, target=1)
    np.testing.assert_allclose(display.bin_std, [2])
    np.testing.assert_allclose(display.bin_rmse, [1])


def test_display_rejects_invalid_predictions_and_estimators(line):
    with pytest.raises(ValueError, match="y_std must not be negative"):
        StdErrorDisplay.from_predictions([0.0], [0.0], [-1.0])
    with pytest.raises(ValueError, match="y_std must have the shape of y_true"):
        StdErrorDisplay.from_predictions([0.0, 1.0], [0.0, 1.0], [1.0])
    with pytest.raises(TypeError, match="needs a regressor that predicts its uncertainty"):
        StdErrorDisplay.from_estimator(LinearRegression().fit(*line), *line)
