"""crepes: conformal regressors and classifiers around our estimators."""

import numpy as np
import pytest

crepes = pytest.importorskip("crepes")


class OurStd:
    """A difficulty estimator of crepes: an object with the method `apply`."""

    def __init__(self, model):
        self.model = model

    def apply(self, X):
        return self.model.predict(X, return_std=True)[1]


def test_normalised_intervals_equal_conformalize(regression, model):
    d = regression
    wrapped = crepes.WrapRegressor(model)
    wrapped.calibrate(d.X_cal, d.y_cal, de=OurStd(model))
    intervals = wrapped.predict_int(d.X_test, confidence=0.9)
    ours = model.conformalize(d.X_cal, d.y_cal).predict_interval(d.X_test, method="conformal")
    np.testing.assert_allclose(intervals, ours, rtol=1e-5)


def test_predictive_system(regression, model):
    d = regression
    wrapped = crepes.WrapRegressor(model)
    wrapped.calibrate(d.X_cal, d.y_cal, de=OurStd(model), cps=True, seed=0)
    quantiles = wrapped.predict_percentiles(d.X_test, higher_percentiles=[50, 90])
    # By hand: the residuals in units of our std, on the scale of the new row
    mean, std = model.predict(d.X_cal, return_std=True)
    ratios = np.sort((d.y_cal - mean) / std)
    mean, std = model.predict(d.X_test, return_std=True)
    for column, level in enumerate((0.5, 0.9)):
        rank = int(np.ceil(level * (len(ratios) + 1))) - 1
        np.testing.assert_allclose(quantiles[:, column], mean + ratios[rank] * std, rtol=1e-5)


def test_classifier(classification):
    d = classification
    wrapped = crepes.WrapClassifier(d.model)
    wrapped.calibrate(d.X_cal, d.y_cal, seed=0)
    p_values = wrapped.predict_p(d.X_fit, smoothing=False)
    scores = 1 - d.model.predict_proba(d.X_cal)[np.arange(len(d.y_cal)), d.y_cal]
    new = 1 - d.model.predict_proba(d.X_fit)  # (row, class)
    expected = ((scores >= new[..., None]).sum(axis=-1) + 1) / (len(scores) + 1)
    np.testing.assert_allclose(p_values, expected)
