import numpy as np
import pytest
import torch
from scipy.special import softmax

from benchmarks_uci.classification.variants import (
    BatchTempered,
    LastLayerDropout,
    MeanOnly,
    Naive,
)
from sk_deltauq import DeltaUQClassifier
from sk_deltauq.baselines import DeepEnsembleClassifier
from tests.benchmarks_uci.classification._helpers import toy_set

pytestmark = pytest.mark.filterwarnings("ignore:.*(max_iter|rows|early)")
QUICK = {"max_iter": 8, "random_state": 0, "n_anchors": 6}


@pytest.fixture(scope="module")
def data():
    dataset = toy_set(n_rows=150)
    return dataset.X, dataset.y


def test_naive_predicts_with_the_mean_row_as_anchor(data):
    X, y = data
    naive = Naive(**QUICK).fit(X, y)
    whole = DeltaUQClassifier(**QUICK).fit(X, y)
    assert naive.predict_dist(X).n_components == naive.n_networks_
    assert whole.predict_dist(X).n_components == 6 * whole.n_networks_
    assert np.abs(naive.predict_proba(X) - whole.predict_proba(X)).max() > 1e-4


def test_mean_only_is_the_softmax_of_the_mean_logits(data):
    X, y = data
    model = MeanOnly(**QUICK).fit(X, y)
    expected = softmax(model.predict_dist(X).logits.mean(axis=0), axis=1)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected, rtol=1e-9)


def test_batch_tempering_depends_on_the_batch(data):
    X, y = data
    model = BatchTempered(**QUICK).fit(X, y)
    far = np.concatenate([X[:5], 10 * X[5:10]])
    alone, together = (np.exp(model.predict_log_proba(rows))[:5] for rows in (X[:5], far))
    assert np.abs(alone - together).max() > 1e-3
    # The row with the smallest spread keeps its mean logits; the largest spread loses nearly all.
    dist = model.predict_dist(X)
    spread = dist.logits.std(axis=0, ddof=1).mean(axis=1)
    log_proba = model.predict_log_proba(X)
    least, most = spread.argmin(), spread.argmax()
    plain = softmax(dist.logits.mean(axis=0), axis=1)
    np.testing.assert_allclose(np.exp(log_proba[least]), plain[least], rtol=1e-9)
    np.testing.assert_allclose(np.exp(log_proba[most]), 1 / 3, atol=0.02)


def test_last_layer_dropout_averages_probabilities_over_its_masks():
    torch.manual_seed(0)
    net = LastLayerDropout((6,), dropout=0.5, n_masks=4)(3, 2).eval()
    rows = torch.randn(5, 3)
    hidden = net.hidden(rows)
    parts = [net.last(hidden * mask).softmax(dim=1) for mask in net.masks]
    torch.testing.assert_close(net(rows).exp(), torch.stack(parts).mean(dim=0))
    assert {*net.masks.unique().tolist()} == {0.0, 2.0}
    net.train()
    assert not torch.equal(net(rows), net(rows))


def test_last_layer_dropout_trains(data):
    X, y = data
    model = DeepEnsembleClassifier(
        n_members=1, module=LastLayerDropout((20,)), max_iter=30, random_state=0
    )
    assert model.fit(X, y).score(X, y) > 0.8
    np.testing.assert_array_equal(model.predict_proba(X), model.predict_proba(X))
