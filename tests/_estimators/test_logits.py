"""The weight of the class frequencies, by numerical integration and on simulated labels."""

import numpy as np
import pytest
import torch
from scipy import special, stats
from scipy.integrate import quad
from scipy.stats import beta
from sklearn.metrics import log_loss

from sk_deltauq import DeltaUQClassifier
from sk_deltauq._estimators.logits import (
    FrequencyMixing,
    LogitAdjustment,
    _average_weight,
    summarise_logits,
)
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._validation import scale_to_tensor


@pytest.mark.parametrize("n_rows", [1, 12, 300])
def test_the_weight_is_the_posterior_mean(n_rows):
    rng = np.random.default_rng(n_rows)
    own, base = rng.uniform(0.05, 1, (2, n_rows))
    row_weights = rng.uniform(0.5, 2, n_rows)

    def density(w, power):
        log_likelihood = row_weights @ np.log((1 - w) * own + w * base)
        # Six rows to which the network gives half the probability of the class frequencies
        log_likelihood += 6 * np.log((1 - w) * 0.5 + w)
        return w**power * np.exp(log_likelihood - row_weights @ np.log(own)) * beta(0.5, 2).pdf(w)

    # The square root as the variable removes the pole of the prior at zero.
    total, first = (
        quad(lambda r, k=k: 2 * r * density(r**2, k), 1e-12, 1, limit=200)[0] for k in (0, 1)
    )
    assert _average_weight(own, base, row_weights) == pytest.approx(first / total, rel=1e-3)


def test_without_evidence_the_weight_is_the_mean_of_the_prior():
    def density(w):
        return beta(0.5, 2).pdf(w) * (1 + w) ** 6

    mean = quad(lambda w: w * density(w), 0, 1)[0] / quad(density, 0, 1)[0]
    assert _average_weight(np.ones(3), np.ones(3), np.ones(3)) == pytest.approx(mean, abs=1e-3)


def test_good_networks_get_a_small_weight_and_bad_ones_a_large_one():
    good, bad, base = np.full(200, 0.95), np.full(200, 0.05), np.full(200, 0.5)
    assert _average_weight(good, base, np.ones(200)) < 0.01
    assert _average_weight(bad, base, np.ones(200)) > 0.95


def test_every_component_is_mixed_so_the_mean_is_too():
    mixing = FrequencyMixing(0.3, np.array([0.7, 0.2, 0.1]))
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 5, 3)))
    proba = logits.softmax(2)
    expected = 0.7 * proba + 0.3 * torch.tensor(mixing.frequencies)
    mixed = LogitAdjustment(mixing=mixing)(logits, torch.zeros(5, 2))
    torch.testing.assert_close(mixed.softmax(2), expected)
    torch.testing.assert_close(mixed.exp().sum(2), torch.ones(4, 5).double())


def test_without_held_out_rows_the_logits_stay():
    logits = torch.ones(4, 5, 3)
    assert LogitAdjustment()(logits, torch.zeros(5, 2)) is logits


def test_the_summary_is_the_entropy_of_the_mixture():
    """Against SciPy; one probability underflows to zero."""
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(4, 5, 3)))
    logits[:, 0, 0] = -1e4
    found = summarise_logits(logits, 2 * logits, 3 * logits)
    proba = special.softmax(2 * logits.numpy(), axis=2)
    np.testing.assert_allclose(found.proba, proba.mean(axis=0))
    np.testing.assert_allclose(found.log_proba.exp(), proba.mean(axis=0))
    np.testing.assert_allclose(found.total, stats.entropy(proba.mean(axis=0), axis=1))
    inside = special.softmax(3 * logits.numpy(), axis=2)
    aleatoric = stats.entropy(inside, axis=2).mean(axis=0)
    np.testing.assert_allclose(found.aleatoric, aleatoric)
    np.testing.assert_allclose(found.epistemic, found.total.numpy() - aleatoric)
    np.testing.assert_allclose(
        found.mutual_information, stats.entropy(inside.mean(axis=0), axis=1) - aleatoric
    )
    np.testing.assert_allclose(found.logit_std, logits.numpy().std(axis=0, ddof=1).mean(axis=1))
    one_hot_variance = proba.mean(axis=0) - proba.mean(axis=0) ** 2
    np.testing.assert_allclose(found.std, np.sqrt(one_hot_variance.sum(axis=1) / 2))
    assert torch.isfinite(found.log_proba).all()


@pytest.fixture(scope="module")
def coin_flips():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 4))
    return X, rng.choice(["a", "b", "c"], size=40, p=[0.6, 0.3, 0.1])


def test_the_weight_comes_from_the_network_that_held_the_row_out(coin_flips):
    """Row by row from the logits of single networks."""
    X, y = coin_flips
    params = {"hidden_layer_sizes": (16,), "max_iter": 15, "calibration": None}
    model = DeltaUQClassifier(**params, random_state=0).fit(X, y)
    labels = np.searchsorted(model.classes_, y)
    frequencies = (np.bincount(labels) + 1) / (len(y) + 3)
    rng = numpy_rng(model.seed_, Stream.FOLDS)
    _, held_out = assign_folds(rng, 40, 5, 5, labels)
    predictor = model._predictor()
    (logits,) = predictor.module(scale_to_tensor(X, predictor.x_scaler))
    proba = logits.softmax(2).unflatten(0, (5, -1)).mean(1).detach().numpy()  # (network, row, c)
    own = np.concatenate([proba[m, rows, labels[rows]] for m, rows in enumerate(held_out)])
    base = frequencies[labels[held_out.ravel()]]
    expected = _average_weight(own, base, np.ones(held_out.size))
    assert model.frequency_weight_ == pytest.approx(expected, rel=1e-4)
    mixed = (1 - expected) * proba.mean(0) + expected * frequencies
    np.testing.assert_allclose(model.predict_proba(X), mixed, rtol=1e-4)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), mixed, rtol=1e-4)
    np.testing.assert_allclose(model.predict_dist(X).proba, mixed, rtol=1e-4)


def test_partial_fit_keeps_the_weight_and_no_hold_out_has_none(coin_flips):
    X, y = coin_flips
    tiny = {"hidden_layer_sizes": (8,), "max_iter": 3, "random_state": 0}
    model = DeltaUQClassifier(**tiny).fit(X, y)
    before = model.frequency_weight_
    assert model.partial_fit(X, y).frequency_weight_ == before
    assert DeltaUQClassifier(**tiny, early_stopping=False).fit(X, y).frequency_weight_ is None
    assert DeltaUQClassifier(**tiny).partial_fit(X, y).frequency_weight_ is None


def test_labels_without_a_pattern_cost_little_more_than_their_frequencies():
    """Networks that train on every row to the end have several times this loss."""
    losses = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(18, 10)), rng.integers(0, 2, 18)
        X_new, y_new = rng.normal(size=(500, 10)), rng.integers(0, 2, 500)
        model = DeltaUQClassifier(random_state=seed).fit(X, y)
        losses.append(log_loss(y_new, model.predict_proba(X_new)))
    assert max(losses) < np.log(2) + 0.3
