"""Held-out logits and temperatures, by a second route."""

import numpy as np
import pytest
import torch
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp
from sklearn.datasets import make_blobs
from sklearn.metrics import log_loss

from sk_deltauq import DeltaUQClassifier
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._training.held_out_logits import FoldLogits, HeldOutLogits
from sk_deltauq._training.logit_calibration import SIMULATED_SHIFTS, find_base_temperature
from sk_deltauq._validation import scale_to_tensor

SMALL = {"hidden_layer_sizes": (16,), "max_iter": 15, "random_state": 0}


@pytest.fixture(scope="module")
def data():
    X, y = make_blobs(80, n_features=3, centers=4, cluster_std=3, random_state=0)
    return X, np.array(["a", "b", "c", "d"])[y]


def make_held(logits, labels):
    """One fold of rows inside."""
    n = logits.shape[1]
    fold = FoldLogits(
        members=[0],
        logits=torch.from_numpy(logits),
        labels=torch.from_numpy(labels),
        weights=torch.ones(n).double(),
        x=torch.zeros(n, 1),
        distances=torch.zeros(n),
        references=torch.zeros(1, 1),
    )
    return HeldOutLogits((fold,), n, float(n))


def test_too_sure_logits_get_the_temperature_that_makes_them_right():
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


def test_a_sample_has_rows_of_the_whole_fold():
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


def ask_each_network(model, X):
    """Logits `(network, component, row, class)`."""
    predictor = model._predictor()
    with torch.inference_mode():
        (logits,) = predictor.module(scale_to_tensor(X, predictor.x_scaler))
    return logits.unflatten(0, (model.n_networks_, -1)).double().numpy()


@pytest.mark.parametrize("corruption", [None, "swap"])
def test_the_temperature_minimises_the_log_loss_of_the_networks_that_held_the_rows_out(
    data, corruption
):
    """The loss row by row from single networks, and the factor for the mean from all networks."""
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
    """The held-out rows of one network say all, and so do validation rows for all networks."""
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
def test_the_temperature_by_distance_in_a_prediction(data, corruption):
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


def test_without_held_out_rows_the_exponent_is_two_and_partial_fit_keeps_it(data):
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


def test_partial_fit_takes_no_numbers_of_another_calibration(data):
    """The temperature near the training rows is none for all rows."""
    X, y = data
    model = DeltaUQClassifier(**SMALL, anchor_corruption="swap").fit(X, y)
    assert model.calibration_["temperature"] != 1
    with pytest.raises(ValueError, match="calibration='temperature' takes its numbers"):
        model.set_params(calibration="temperature").partial_fit(X, y)
    tempered = DeltaUQClassifier(**SMALL, calibration="temperature").fit(X, y)
    found = tempered.set_params(calibration="distance").partial_fit(X, y).calibration_
    assert found["temperature"] == 1
    assert found["exponent"] == 2


def test_one_class_has_a_temperature_too(data):
    X, _ = data
    model = DeltaUQClassifier(**SMALL).fit(X, np.zeros(80))
    assert np.isfinite(model.calibration_["exponent"])
    np.testing.assert_array_equal(model.predict_proba(5 * X), 1)


@pytest.mark.parametrize("corrupt", SIMULATED_SHIFTS)
def test_corruptions_change_rows_and_keep_their_shape(corrupt):
    rng = np.random.default_rng(0)
    x, pool = rng.normal(size=(2, 200, 6))
    found = corrupt(x, pool, rng)
    assert found.shape == x.shape
    assert np.isfinite(found).all()
    assert 0.05 < np.abs(found - x).mean() < 2
