"""skpro: its adapter for regressors with `return_std`, and our mixtures as its distributions."""

import numpy as np
import pandas as pd
import pytest

from sk_deltauq.metrics import gaussian_crps
from tests.works_with._models import make_regressor

adapters = pytest.importorskip("skpro.regression.adapters.sklearn")
distributions = pytest.importorskip("skpro.distributions")
metrics = pytest.importorskip("skpro.metrics")


@pytest.fixture
def frames(regression):
    columns = [f"x{i}" for i in range(10)]
    return {
        name: pd.DataFrame(values, columns=columns if name[0] == "X" else ["y"])
        for name, values in regression.items()
    }


def test_adapter(frames, model):
    adapter = adapters.SklearnProbaReg(make_regressor()).fit(frames["X_fit"], frames["y_fit"])
    dist = adapter.predict_proba(frames["X_test"])
    mean, std = model.predict(frames["X_test"].to_numpy(), return_std=True)
    np.testing.assert_allclose(dist.mean().to_numpy()[:, 0], mean, rtol=1e-5)
    np.testing.assert_allclose(dist.var().to_numpy()[:, 0], std**2, rtol=1e-5)
    found = metrics.CRPS()(frames["y_test"], dist)
    y = frames["y_test"].to_numpy()[:, 0]
    assert found == pytest.approx(gaussian_crps(y, mean, std), rel=1e-5)


def test_our_mixture_is_a_mixture_of_skpro(frames, regression, model):
    ours = model.predict_dist(regression.X_test[:3])
    for row in range(3):
        n = ours.n_components
        theirs = distributions.NormalMixture(
            pi=np.full(n, 1 / n), mu=ours.means[:, row], sigma=ours.stds[:, row]
        )
        for y in (50.0, 200.0):
            rows = np.full(3, y)
            assert float(theirs.cdf(y)) == pytest.approx(ours.cdf(rows)[row], abs=1e-6)
            assert float(theirs.log_pdf(y)) == pytest.approx(ours.log_pdf(rows)[row], rel=1e-5)
