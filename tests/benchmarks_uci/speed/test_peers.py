import logging

import numpy as np
import pytest

from benchmarks_uci import datasets
from benchmarks_uci.regression.external import MarginalGaussian
from benchmarks_uci.speed import peers
from sk_deltauq.metrics import gaussian_nll
from tests._helpers import mark_long

OFFLINE = datasets.Sources(offline=True)


class Wider(MarginalGaussian):
    """A method with the same mean and ten times the std."""

    def predict(self, X, return_std=False):
        mean, std = super().predict(X, return_std=True)
        return mean, 10 * std


@pytest.fixture
def fast_peers(monkeypatch):
    """Replace all methods, including ours, by methods that take no time."""
    monkeypatch.setattr(peers, "_ours", lambda n_rows, random_state: MarginalGaussian())
    wider = peers.Peer(lambda n_rows, random_state: Wider())
    monkeypatch.setattr(peers, "PEERS", {"wider": wider})


def test_seconds_and_nll_are_compared_on_each_set(fast_peers, caplog):
    with caplog.at_level(logging.WARNING):
        results = peers.measure(quick=False, sources=OFFLINE)
    # power is not available
    assert [r.what for r in results] == [
        *["fit and predict with std, concrete, n = 824", "NLL, concrete, n = 824"],
        *["fit and predict with std, wine, n = 1,279", "NLL, wine, n = 1,279"],
    ]
    assert {r.against for r in results} == {"wider"}
    assert "Left out: power" in caplog.text
    for nll in results[1::2]:
        assert nll.value == pytest.approx(nll.parts["ours"] - nll.parts["theirs"])
        # log(10), minus the mean squared error term of the right std, which is about 1/2
        assert nll.value == pytest.approx(-np.log(10) + 0.5, abs=0.05)
        assert nll.met


def test_quick_uses_one_small_set(fast_peers):
    speed, nll = peers.measure(quick=True, sources=OFFLINE)
    assert speed.what.endswith("n = 48")
    assert list(speed.parts) == list(nll.parts) == ["ours", "theirs"]


def test_peers_that_cannot_run_are_left_out(monkeypatch, caplog):
    def make(n_rows, random_state):
        return MarginalGaussian()

    known = {
        "here": peers.Peer(make, requires="numpy"),
        "elsewhere": peers.Peer(make, requires="no_such_package"),
        "slow": peers.Peer(make, max_rows=100),
    }
    monkeypatch.setattr(peers, "PEERS", known)
    with caplog.at_level(logging.WARNING):
        assert list(peers.list_available(100)) == ["here", "slow"]
        assert list(peers.list_available(101)) == ["here"]
    assert "no_such_package is not installed" in caplog.text


@pytest.mark.parametrize("name", mark_long(peers.PEERS, {"GaussianProcessRegressor"}))
def test_every_peer_learns(name):
    peer = peers.PEERS[name]
    if peer.requires:
        pytest.importorskip(peer.requires)
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(80, 2))
    y = 50 * X[:, 0] + rng.standard_normal(80)
    _, nll = peers.fit_and_score(peer.make(60, 0), X[:60], X[60:], y[:60], y[60:])
    assert nll < gaussian_nll(y[60:], np.full(20, y[:60].mean()), np.full(20, y[:60].std()))


def test_sets_have_a_medium_size():
    sizes = [datasets.SETS[name].n_rows for name in peers.SETS]
    assert min(sizes) > 1000
    assert max(sizes) < 10_000
