import numpy as np
import pytest
from scipy import stats

from benchmarks_uci.methods import MarginalGaussian
from benchmarks_uci.scores import score


def test_scores_of_one_normal_are_those_of_scipy():
    rng = np.random.default_rng(0)
    y = 5 + 2 * rng.standard_normal(400)
    model = MarginalGaussian().fit(None, y[:200])
    X, y = np.zeros((200, 1)), y[200:]
    normal = stats.norm(model.mean_, model.noise_std_)
    found = score(model, X, y)
    lower, upper = normal.interval(0.9)
    samples = normal.rvs((2, 400_000), random_state=0)
    crps = np.mean([np.abs(samples[0] - value).mean() for value in y])
    crps -= np.abs(samples[0] - samples[1]).mean() / 2
    assert found["nll"] == pytest.approx(-normal.logpdf(y).mean())
    assert found["rmse"] == pytest.approx(np.sqrt(np.mean((y - model.mean_) ** 2)))
    assert found["crps"] == pytest.approx(crps, rel=0.01)
    assert found["coverage"] == pytest.approx(np.mean((lower <= y) & (y <= upper)))
    assert found["width"] == pytest.approx(upper - lower)
