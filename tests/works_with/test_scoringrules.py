"""scoringrules: an independent implementation of our scores."""

import numpy as np
import pytest

from sk_deltauq.distributions import NormalMixture
from sk_deltauq.metrics import crps, gaussian_crps, gaussian_nll, interval_score, nll

scoringrules = pytest.importorskip("scoringrules")


@pytest.fixture
def dist(rng):
    means, stds = rng.normal(size=(7, 50)), rng.uniform(0.1, 2, size=(7, 50))
    return NormalMixture(means, stds)


@pytest.fixture
def y(rng):
    return 3 * rng.normal(size=50)


def test_crps_of_a_mixture(dist, y):
    theirs = scoringrules.crps_mixnorm(y, dist.means, dist.stds, m_axis=0, backend="numpy")
    np.testing.assert_allclose(dist.crps(y), theirs, rtol=0, atol=2e-15)
    assert crps(y, dist) == pytest.approx(theirs.mean(), rel=1e-15)


def test_nll_of_a_mixture(dist, y):
    theirs = scoringrules.logs_mixnorm(y, dist.means, dist.stds, mc_axis=0, backend="numpy")
    assert nll(y, dist) == pytest.approx(theirs.mean(), rel=1e-14)


def test_scores_of_a_normal(dist, y):
    mean, std = dist.means[0], dist.stds[0]
    theirs = scoringrules.crps_normal(y, mean, std, backend="numpy")
    assert gaussian_crps(y, mean, std) == pytest.approx(theirs.mean(), rel=1e-15)
    theirs = scoringrules.logs_normal(y, mean, std, backend="numpy")
    assert gaussian_nll(y, mean, std) == pytest.approx(theirs.mean(), rel=1e-15)


def test_interval_score(dist, y):
    lower, upper = dist.interval(0.8).T
    theirs = scoringrules.interval_score(y, lower, upper, 0.2, backend="numpy")
    assert interval_score(y, lower, upper, 0.8) == pytest.approx(theirs.mean(), rel=1e-14)
