"""skrub: `tabular_pipeline` prepares a table with text, dates and missing values."""

import numpy as np
import pandas as pd
import pytest

from sk_deltauq import unwrap
from tests.works_with._models import make_regressor

skrub = pytest.importorskip("skrub")


def test_tabular_pipeline(regression):
    X, y = regression.X_fit, regression.y_fit
    frame = pd.DataFrame(
        {
            "bmi": X[:, 2],
            "pressure": np.where(np.arange(len(X)) % 10, X[:, 3], np.nan),
            "city": np.where(X[:, 1] > 0, "Oslo", "Rome"),
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(len(X)), unit="D"),
        }
    )
    pipeline = skrub.tabular_pipeline(make_regressor()).fit(frame, y)
    mean, std, interval = pipeline.predict(frame, return_std=True, coverage=0.9)
    model, rows = unwrap(pipeline, frame)
    assert type(model) is type(make_regressor())
    by_hand = frame
    for step in pipeline[:-1]:
        by_hand = step.transform(by_hand)
    np.testing.assert_array_equal(rows, by_hand)
    np.testing.assert_array_equal(model.predict_interval(rows), interval)
    assert np.isfinite([mean, std]).all()
    assert (std > 0).all()
    assert np.corrcoef(mean, y)[0, 1] > 0.4
