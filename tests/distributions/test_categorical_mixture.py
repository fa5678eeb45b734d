"""Mixtures of categorical distributions against SciPy and loops."""

import numpy as np
import pytest
from scipy import stats

from sk_deltauq.distributions import CategoricalMixture, _arrays


@pytest.fixture
def logits(rng):
    return 2 * rng.normal(size=(5, 4, 3))


def naive_softmax(logits):
    return np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)


def test_class_probabilities(logits):
    dist = CategoricalMixture(logits)
    np.testing.assert_allclose(dist.component_proba, naive_softmax(logits))
    np.testing.assert_allclose(dist.proba, naive_softmax(logits).mean(axis=0))
    np.testing.assert_allclose(dist.log_proba, np.log(dist.proba))
    np.testing.assert_allclose(dist.proba.sum(axis=-1), 1, rtol=1e-14)
    assert (dist.n_components, dist.n_samples, dist.n_classes) == (5, 4, 3)


def test_log_proba_does_not_underflow():
    dist = CategoricalMixture([[[0.0, 2000.0]], [[0.0, 1000.0]]])
    np.testing.assert_allclose(dist.log_proba, [[-1000 - np.log(2), 0]])
    assert dist.entropy == dist.expected_entropy == dist.mutual_information == 0


def test_entropies_against_loops(logits):
    dist = CategoricalMixture(logits)
    for row in range(4):
        p = naive_softmax(logits[:, row])
        parts = [stats.entropy(component) for component in p]
        # Mutual information as the mean divergence from the mixture, not as a difference.
        divergences = [stats.entropy(component, p.mean(axis=0)) for component in p]
        assert dist.entropy[row] == pytest.approx(stats.entropy(p.mean(axis=0)))
        assert dist.expected_entropy[row] == pytest.approx(np.mean(parts))
        assert dist.mutual_information[row] == pytest.approx(np.mean(divergences))


def test_equal_components_have_no_epistemic_part(logits):
    for dist in (CategoricalMixture(logits[:1]), CategoricalMixture(logits[[0] * 7])):
        assert (dist.epistemic == 0).all()
        np.testing.assert_allclose(dist.mutual_information, 0, atol=1e-15)
        assert (dist.mutual_information >= 0).all()


def test_epistemic_uncertainty_is_eq_6(logits):
    expected = np.std(logits, axis=0, ddof=1).mean(axis=-1)
    np.testing.assert_allclose(CategoricalMixture(logits).epistemic, expected)


def test_log_prob(logits):
    dist = CategoricalMixture(logits)
    expected = [np.log(dist.proba[row, k]) for row, k in enumerate([2, 0, 1, 1])]
    np.testing.assert_allclose(dist.log_prob([2, 0, 1, 1]), expected)


def test_class_draws(logits, rng):
    dist = CategoricalMixture(logits)
    draws = dist.sample(20_000, random_state=0)
    assert draws.shape == (4, 20_000)
    shares = np.stack([(draws == k).mean(axis=1) for k in range(3)], axis=1)
    np.testing.assert_allclose(shares, dist.proba, atol=0.02)
    np.testing.assert_array_equal(draws, dist.sample(20_000, random_state=0))


def test_impossible_classes_are_never_drawn():
    dist = CategoricalMixture([[[-1e4, 0.0, -1e4, 0.3, -1e4]]])
    assert set(dist.sample(1000, random_state=0).ravel()) == {1, 3}


def test_selected_rows_no_rows_and_one_class(logits):
    dist = CategoricalMixture(logits)
    np.testing.assert_array_equal(dist[[2, 1]].proba, dist.proba[[2, 1]])
    assert dist[:0].proba.shape == (0, 3)
    assert dist[:0].sample(2).shape == (0, 2)
    one_class = CategoricalMixture(logits[..., :1])
    assert (one_class.proba == 1).all()
    assert (one_class.sample(3) == 0).all()
    assert repr(dist) == "CategoricalMixture(n_components=5, shape=(4, 3))"


def test_chunks_do_not_change_the_results(logits, monkeypatch):
    dist = CategoricalMixture(logits)

    def compute_all():
        per_row = [dist.proba, dist.log_proba, dist.expected_entropy, dist.epistemic]
        return [*per_row, dist.sample(9, random_state=0)]

    whole = compute_all()
    monkeypatch.setattr(_arrays, "_CHUNK_FLOATS", 16)
    for expected, chunked in zip(whole, compute_all(), strict=True):
        np.testing.assert_allclose(chunked, expected, rtol=1e-12)


def test_invalid_logits_and_classes_are_rejected(logits):
    for invalid, message in [
        (logits[0], "logits must have 3 axes"),
        (logits[:0], "at least one component"),
        (logits[..., :0], "at least one class"),
        (np.full((1, 1, 2), np.inf), "logits must be finite"),
    ]:
        with pytest.raises(ValueError, match=message):
            CategoricalMixture(invalid)
    for y in ([0, 1], [0.0, 1.0, 2.0, 0.0], ["a", "b", "c", "a"], [[0], [1], [2], [0]]):
        with pytest.raises(ValueError, match="y must be class positions"):
            CategoricalMixture(logits).log_prob(y)
    for y in ([0, 1, 2, 3], [-1, 0, 1, 2]):
        with pytest.raises(ValueError, match=r"y must lie in \[0, 2\]"):
            CategoricalMixture(logits).log_prob(y)
