"""polars: data frames in, arrays out, and output frames from the steps of a pipeline."""

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tests.works_with._models import make_regressor

pl = pytest.importorskip("polars")


def test_frames_predict_the_same_as_arrays(regression, model):
    d = regression
    names = [f"x{i}" for i in range(10)]
    fitted = make_regressor().fit(pl.DataFrame(d.X_fit, schema=names), pl.Series(d.y_fit))
    assert fitted.feature_names_in_.tolist() == names
    frame = pl.DataFrame(d.X_test, schema=names)
    for found, expected in zip(
        fitted.predict(frame, return_std=True, coverage=0.9),
        model.predict(d.X_test, return_std=True, coverage=0.9),
        strict=True,
    ):
        np.testing.assert_array_equal(found, expected)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(frame.select(names[::-1]))


def test_steps_that_return_frames(regression):
    d = regression
    frame = pl.DataFrame(d.X_fit, schema=[f"x{i}" for i in range(10)])
    pipeline = make_pipeline(StandardScaler(), make_regressor()).set_output(transform="polars")
    mean, std = pipeline.fit(frame, d.y_fit).predict(frame, return_std=True)
    scaled = StandardScaler().fit_transform(d.X_fit)
    expected = make_regressor().fit(scaled, d.y_fit).predict(scaled, return_std=True)
    np.testing.assert_array_equal([mean, std], expected)
