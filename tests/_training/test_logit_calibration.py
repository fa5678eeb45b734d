"""Held-out logits, temperatures, and simulated shifts."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.spatial.distance import cdist
from scipy.special import log_softmax, logsumexp
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from sk_deltauq import DeltaUQClassifier
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._training.held_out_logits import FoldLogits, HeldOutLogits
from sk_deltauq._training.logit_calibration import (
    SIMULATED_SHIFTS,
    find_base_temperature,
    find_distance_temperature,
)
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(80, n_features=3, centers=4, cluster_std=3, random_state=0)
    return X, np.array(["a", "b", "c", "d"])[y]


def make_held(logits, labels, distances=None):
    """One fold; `logits` are `(component, row, class)`."""
    n = logits.shape[1]
    fold = FoldLogits(
        members=[0],
        logits=torch.from_numpy(logits),
        labels=torch.from_numpy(labels),
        weights=torch.ones(n).double(),
        x=torch.zeros(n, 1),
        distances=torch.zeros(n) if distances is None else torch.from_numpy(distances),
        references=torch.zeros(1, 1),
    )
    return HeldOutLogits((fold,), n, float(n))


def test_overconfident_logits_get_their_true_temperature():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1, 20_000, 3))
    proba = np.exp(log_softmax(logits[0], axis=1))
    labels = (proba.cumsum(axis=1) > rng.random((len(proba), 1))).argmax(axis=1)
    found = find_base_temperature(make_held(3 * logits, labels))
    assert float(found.base) == pytest.approx(3, rel=0.05)


def test_few_rows_hardly_change_the_temperature():
    logits = np.array([[[9.0, 0.0]] * 3])
    assert float(find_base_temperature(make_held(logits, np.ones(3, int))).base) < 20
    right = float(find_base_temperature(make_held(logits / 9, np.zeros(3, int))).base)
    assert 0.8 < right < 1


def find_exponent(monkeypatch, logits, labels, distances, reach):
    """The exponent if corruption changes no row."""
    monkeypatch.setattr(HeldOutLogits, "corrupt", lambda self, net, function: self)
    held, rng = make_held(logits, labels, distances), np.random.default_rng(0)
    found = find_distance_temperature(None, held, reach, np.zeros((1, 1)), rng)
    assert (found.base, found.reach) == (1, reach)
    return found.exponent


@pytest.mark.parametrize("exponent", [0.5, 4.0])
def test_exponent_is_recovered_from_many_rows(exponent, monkeypatch):
    rng = np.random.default_rng(0)
    logits, distances = 2 * rng.normal(size=(1, 8000, 3)), rng.uniform(0, 2, size=8000)
    proba = np.exp(log_softmax(logits[0], axis=1))
    labels = (proba.cumsum(axis=1) > rng.random((len(proba), 1))).argmax(axis=1)
    factors = ((np.maximum(distances, 0.5) + 0.25) / 0.75) ** exponent
    found = find_exponent(monkeypatch, logits * factors[:, None], labels, distances, 0.5)
    assert found == pytest.approx(exponent, abs=0.15)


@pytest.mark.parametrize("label", [0, 1])
def test_exponent_of_few_rows_minimises_the_loss_with_its_prior(label, monkeypatch):
    rng = np.random.default_rng(0)
    logits, distances = np.tile([2.0, 0.0], (1, 15, 1)), rng.uniform(0, 2, size=15)
    labels = np.full(15, label)

    def loss(exponent):
        temperature = ((np.maximum(distances, 0.5) + 0.25) / 0.75) ** exponent
        log_proba = log_softmax(logits[0] / temperature[:, None], axis=1)[:, label]
        return -log_proba.mean() + 20 / 15 * (exponent - 2) ** 2 / 8

    best = minimize_scalar(loss, bounds=(0, 8), method="bounded").x
    assert (best < 1.9) if label == 0 else (best > 2.1)
    found = find_exponent(monkeypatch, logits, labels, distances, 0.5)
    assert found == pytest.approx(best, abs=0.02)


def test_sample_has_rows_of_the_whole_fold():
    """The first rows of a sorted table would be rows of one class."""
    n, rng = 5000, np.random.default_rng(0)
    held = make_held(rng.normal(size=(2, n, 3)), np.repeat([0, 1], n // 2))
    (fold,) = held.sample(rng, 1000).folds
    assert fold.labels.double().mean() == pytest.approx(0.5, abs=0.05)
    (whole,) = held.folds
    # Logits identify the rows: all fields must be of the same ones.
    _, rows = np.nonzero(fold.logits[0, :, :1].numpy() == whole.logits[0, :, 0].numpy())
    assert len(np.unique(rows)) == len(fold.x) == len(fold.weights) == 1000
    torch.testing.assert_close(fold.labels, whole.labels[rows])
    torch.testing.assert_close(fold.logits, whole.logits[:, rows])
    (all_rows,) = held.sample(rng, n).folds
    torch.testing.assert_close(all_rows.logits, whole.logits)


def test_corrupted_rows_are_predicted_by_the_networks_of_their_fold():
    """Logits are linear in the rows, with one matrix `(class, feature)` per network."""
    rng = np.random.default_rng(0)
    matrices = torch.from_numpy(rng.normal(size=(3, 4, 2))).float()
    network = SimpleNamespace(n_components=3, core=SimpleNamespace(n_members=3, width=1))
    network.eval = lambda: network
    network.components = lambda x: torch.einsum("mcf,mfr->mrc", matrices, x)
    net = SimpleNamespace(
        module_=network, criterion_=SimpleNamespace(components=lambda raw: (raw,))
    )
    folds = [
        FoldLogits(
            members=members,
            logits=torch.zeros(len(members), 6, 4).double(),
            labels=torch.from_numpy(rng.integers(4, size=6)),
            weights=torch.ones(6).double(),
            x=torch.from_numpy(rng.normal(size=(6, 2))).float(),
            distances=torch.zeros(6),
            references=torch.from_numpy(rng.normal(size=(9, 2))).float(),
        )
        for members in ([0, 2], [1])
    ]
    found = HeldOutLogits(tuple(folds), 12, 12.0).corrupt(net, lambda x: 1 - 2 * x)
    assert (found.n_units, found.n_effective) == (12, 12.0)
    for fold, before in zip(found.folds, folds, strict=True):
        x = 1 - 2 * before.x.numpy()
        np.testing.assert_allclose(fold.x, x, rtol=1e-6)
        expected = [x @ matrices[member].numpy().T for member in before.members]
        np.testing.assert_allclose(fold.logits, expected, rtol=1e-4, atol=1e-5)
        distances = np.sort(cdist(x, before.references), axis=1)[:, :5].mean(axis=1)
        np.testing.assert_allclose(fold.distances, distances, rtol=1e-5)
        assert torch.equal(fold.labels, before.labels)


def ask_each_network(model, X):
    """Logits `(network, component, row, class)`."""
    predictor = model._predictor()
    with torch.inference_mode():
        (logits,) = predictor.module(scale_to_tensor(X, predictor.x_scaler))
    return logits.unflatten(0, (model.n_networks_, -1)).double().numpy()


@pytest.mark.parametrize("corruption", [None, "swap"])
def test_temperature_minimises_the_held_out_log_loss(data, corruption):
    """Networks give the loss of their held-out rows, and together the factor of the mean."""
    X, y = (part[:40] for part in data)
    params = {**SMALL, "calibration": "temperature", "anchor_corruption": corruption}
    model = DeltaUQClassifier(**params).fit(X, y)
    labels = np.searchsorted(model.classes_, y)
    _, held_out = assign_folds(numpy_rng(model.seed_, Stream.FOLDS), 40, 5, 5, labels)
    logits = ask_each_network(model, X)

    def average(own, temperature):
        return logsumexp(log_softmax(own / temperature, axis=2), axis=0) - np.log(len(own))

    def loss(temperature):
        own = np.concatenate([logits[m][:, rows] for m, rows in enumerate(held_out)], axis=1)
        log_proba = average(own, temperature)
        observed = log_proba[np.arange(held_out.size), labels[held_out.ravel()]]
        return -observed.mean() + 20 / held_out.size * np.log(temperature) ** 2 / 2

    best = minimize_scalar(loss, bounds=(0.2, 5), method="bounded").x
    rows = held_out.ravel()
    of_networks = np.mean([entropy(average(own[:, rows], best)) for own in logits])
    of_mean = entropy(average(np.concatenate(logits)[:, rows], best)).mean()
    assert of_networks < 0.99 * of_mean
    if corruption is not None:
        best *= (of_networks / of_mean) ** (len(rows) / (len(rows) + 20))
    assert model.calibration_["temperature"] == pytest.approx(best, rel=2e-3)
    mixing = model._calibration_.mixing
    proba = np.exp(log_softmax(logits / model.calibration_["temperature"], axis=3))
    expected = (1 - mixing.weight) * proba.mean(axis=(0, 1)) + mixing.weight * mixing.frequencies
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-4)


def entropy(log_proba):
    return -(np.exp(log_proba) * log_proba).sum(axis=1)


def test_one_network_has_no_pooling_factor(data):
    """All networks hold out the same rows, from one fold or from `X_val`."""
    X, y = data
    rng = np.random.default_rng(0)
    X = np.concatenate([X + rng.normal(size=X.shape) for _ in range(8)])
    y = np.tile(y, 8)
    params = {**SMALL, "calibration": "temperature", "anchor_corruption": "swap"}
    model = DeltaUQClassifier(**params).fit(X, y)
    assert model.n_networks_ == 1
    _, [held_out] = assign_folds(
        numpy_rng(model.seed_, Stream.FOLDS), len(X), 10, 1, np.searchsorted(model.classes_, y)
    )
    check_single_temperature(model, X[held_out], y[held_out])
    model = DeltaUQClassifier(**params, n_members=3).fit(X, y, X_val=X[:99] + 1, y_val=y[:99])
    check_single_temperature(model, X[:99] + 1, y[:99])


def check_single_temperature(model, X, y):
    logits = np.concatenate(ask_each_network(model, X))
    found = find_base_temperature(make_held(logits, np.searchsorted(model.classes_, y)))
    assert model.calibration_["temperature"] == pytest.approx(float(found.base), rel=2e-3)


@pytest.mark.parametrize("corruption", [None, "swap"])
def test_prediction_uses_the_temperature_by_distance(data, corruption):
    X, y = data
    model = DeltaUQClassifier(**SMALL, anchor_corruption=corruption).fit(X, y)
    base, exponent, reach = (model.calibration_[k] for k in ("temperature", "exponent", "reach"))
    far = np.concatenate([X[:5], 4 * X[:5]])
    x = scale_to_tensor(far, model.x_scaler_)
    train = scale_to_tensor(X, model.x_scaler_)
    distance = torch.cdist(x, train, compute_mode="donot_use_mm_for_euclid_dist")
    distance = distance.sort(dim=1).values[:, :5].mean(dim=1).numpy()
    temperature = base * (np.maximum(distance + 0.25, reach + 0.25) / (reach + 0.25)) ** exponent
    assert temperature.min() == base
    assert (base < 1) == (corruption is not None)
    assert np.median(temperature[5:]) > 5 * base
    (logits,) = model._predictor().module(x)
    tempered = log_softmax(logits.detach().double().numpy() / temperature[:, None], axis=2)
    np.testing.assert_allclose(
        np.exp(model.predict_log_proba(far)),
        mix(model, np.exp(tempered).mean(axis=0)),
        rtol=1e-4,
    )


def mix(model, proba):
    mixing = model._calibration_.mixing
    return (1 - mixing.weight) * proba + mixing.weight * mixing.frequencies


def test_shifted_rows_are_better_calibrated_with_a_temperature_by_distance(data):
    X, y = data
    shifted = X + np.random.default_rng(1).normal(size=X.shape) * 3 * X.std(axis=0)
    losses = {}
    for calibration in (None, "distance"):
        params = {**SMALL, "max_iter": 60, "calibration": calibration}
        model = DeltaUQClassifier(**params).fit(X, y)
        losses[calibration] = log_loss(y, model.predict_proba(shifted))
    assert losses["distance"] < 0.9 * losses[None]


def test_exponent_without_held_out_rows_is_two_and_partial_fit_keeps_it(data):
    X, y = data
    model = DeltaUQClassifier(**SMALL, early_stopping=False).fit(X, y)
    assert model.calibration_["exponent"] == 2
    model = DeltaUQClassifier(**SMALL).fit(X, y)
    before = dict(model.calibration_)
    assert before["exponent"] != 2
    model.partial_fit(X + 1, y)
    assert model.calibration_["exponent"] == before["exponent"]
    assert model.calibration_["reach"] != before["reach"]
    tempered = DeltaUQClassifier(**SMALL, calibration="temperature").fit(X, y)
    before = dict(tempered.calibration_)
    assert tempered.partial_fit(X, y).calibration_ == before


def test_partial_fit_rejects_numbers_of_another_calibration(data):
    """The temperature near the training rows does not apply to all rows."""
    X, y = data
    model = DeltaUQClassifier(**SMALL, anchor_corruption="swap").fit(X, y)
    assert model.calibration_["temperature"] != 1
    with pytest.raises(ValueError, match="calibration='temperature' takes its numbers"):
        model.set_params(calibration="temperature").partial_fit(X, y)
    tempered = DeltaUQClassifier(**SMALL, calibration="temperature").fit(X, y)
    found = tempered.set_params(calibration="distance").partial_fit(X, y).calibration_
    assert found["temperature"] == 1
    assert found["exponent"] == 2


def test_one_class_has_the_default_exponent(data):
    X, _ = data
    model = DeltaUQClassifier(**SMALL).fit(X, np.zeros(80))
    assert model.calibration_["exponent"] == pytest.approx(2, abs=0.02), "only the prior counts"
    np.testing.assert_array_equal(model.predict_proba(5 * X), 1)


@pytest.fixture
def shifted_rows():
    """Rows `(row, feature)`, a pool of other rows, and the rows after each simulated shift."""
    rng = np.random.default_rng(0)
    x, pool = rng.normal(size=(2, 400, 6))
    found = {corrupt.__name__: corrupt(x, pool, rng) for corrupt in SIMULATED_SHIFTS}
    assert len(found) == 5
    return x, pool, found


def test_noise_shift_has_a_strength_per_row(shifted_rows):
    """The strength is uniform on (0, 1.5)."""
    x, _, found = shifted_rows
    noise = found["_add_noise"] - x
    squares = (noise**2).mean(axis=1)
    assert noise.mean() == pytest.approx(0, abs=0.05)
    assert squares.mean() == pytest.approx(1.5**2 / 3, rel=0.1)
    # The mean of a chi distribution with six degrees of freedom, divided by the root of six
    assert np.sqrt(squares).mean() == pytest.approx(0.75 * 0.9594, rel=0.1)


def test_swap_shift_takes_the_features_of_one_other_row(shifted_rows):
    x, pool, found = shifted_rows
    changed = found["_swap_features"] != x
    assert changed.mean() == pytest.approx(0.3, abs=0.04)
    is_equal = found["_swap_features"][:, None] == pool  # (row, pool row, feature)
    assert (is_equal | ~changed[:, None]).all(axis=2).any(axis=1).all()


def test_blend_shift_moves_rows_up_to_halfway_to_another_row(shifted_rows):
    x, pool, found = shifted_rows
    # (row, pool row, feature)
    parts = (found["_blend_rows"] - x)[:, None] / (pool - x[:, None])
    nearest = np.ptp(parts, axis=2).argmin(axis=1)
    parts = parts[np.arange(len(x)), nearest]  # (row, feature)
    np.testing.assert_allclose(parts, parts[:, :1].repeat(6, axis=1), rtol=1e-6, atol=1e-9)
    assert ((parts >= 0) & (parts <= 0.5)).all()
    assert parts.mean() == pytest.approx(0.25, abs=0.03)


def test_drop_shift_sets_features_to_their_mean(shifted_rows):
    x, _, found = shifted_rows
    dropped = found["_drop_features"] == 0
    assert dropped.mean() == pytest.approx(0.3, abs=0.04)
    np.testing.assert_array_equal(found["_drop_features"], np.where(dropped, 0, x))


def test_stretch_shift_scales_rows_up_to_three_times(shifted_rows):
    x, _, found = shifted_rows
    factors = found["_stretch_rows"] / x
    np.testing.assert_allclose(factors, factors[:, :1].repeat(6, axis=1))
    assert ((factors >= 1) & (factors <= 3)).all()
    assert factors.mean() == pytest.approx(2, abs=0.1)
