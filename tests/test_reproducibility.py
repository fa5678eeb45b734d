"""Seeds determine models, rows are predicted independently, and no global state changes."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from sk_deltauq._methods.anchored import Anchored
from tests._helpers import (
    ESTIMATORS,
    assert_close_predictions,
    assert_same_predictions,
    assert_stacked_is_alone,
    member_weights,
    predict_all,
    regressor,
)

SETTINGS = [
    {},
    {"n_members": 3, "embedding": "periodic"},
    {"early_stopping": True, "alpha": 0.1, "batch_size": 16},
    {"module": torch.nn.Linear},
    {"net_params": {"optimizer": torch.optim.RMSprop}},
]


@pytest.fixture(scope="module", params=ESTIMATORS, ids=lambda make: make.__name__)
def fitted(request, regression_data, classification_data):
    """A fitted model of each kind with several components, and new rows."""
    is_regressor = request.param is regressor
    X, y = regression_data if is_regressor else classification_data
    own = {} if is_regressor else {"calibration": "spread"}
    model = request.param(n_members=2, n_anchors=20, early_stopping=True, max_iter=8, **own)
    rng = np.random.default_rng(1)
    return model.fit(X, y), rng.normal(size=(700, X.shape[1]))


# Seeds


@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_one_seed_gives_identical_models_in_any_global_random_state(make, data, params):
    X, y = data
    models = []
    for seed in (1, 2):
        np.random.seed(seed)  # noqa: NPY002
        torch.manual_seed(seed)
        models.append(make(**params).fit(X, y))
    assert_same_predictions(*(predict_all(model, X) for model in models))
    np.testing.assert_array_equal(models[0].anchors_, models[1].anchors_)
    assert models[0].loss_curve_ == models[1].loss_curve_


def test_another_seed_gives_another_model(make, data):
    X, y = data
    fits = [
        make(random_state=seed).fit(X, y) for seed in (0, 1, np.random.RandomState(7), None, None)
    ]
    stds = np.array([model.predict(X, return_std=True)[1] for model in fits])
    distances = np.abs(stds[:, None] - stds[None]).max(axis=2)
    assert distances[~np.eye(5, dtype=bool)].min() > 1e-4 * stds.mean()
    assert (fits[0].anchors_ != fits[1].anchors_).any()


def test_a_random_state_instance_is_advanced_and_reproducible(make, data):
    X, y = data
    one, other = (np.random.RandomState(5) for _ in range(2))
    first, again = make(random_state=one).fit(X, y), make(random_state=other).fit(X, y)
    assert_same_predictions(predict_all(first, X), predict_all(again, X))
    second = make(random_state=one).fit(X, y)
    assert not np.array_equal(first.predict(X, True)[1], second.predict(X, True)[1])


def test_fitting_again_equals_fitting_a_new_estimator(make, data):
    X, y = data
    model = make(n_members=2).fit(X[:50], y[:50])
    model.fit(X[:, :2], y)
    assert_same_predictions(
        predict_all(model, X[:, :2]), predict_all(make(n_members=2).fit(X[:, :2], y), X[:, :2])
    )


def test_partial_fit_is_reproducible(make, data):
    X, y = data
    found = []
    for _ in range(2):
        model = make()
        for rows in (slice(0, 30), slice(30, 50), slice(50, 60)):
            model.partial_fit(X[rows], y[rows])
        found.append(predict_all(model, X))
    assert_same_predictions(*found)


# The global state


@pytest.mark.usefixtures("global_state_is_kept")
@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_global_state_is_kept(make, data, params):
    X, y = data
    model = make(**params).fit(X, y)
    predict_all(model, X)
    model.set_params(early_stopping=False).partial_fit(X, y)


@pytest.mark.usefixtures("global_state_is_kept")
@pytest.mark.parametrize("params", SETTINGS, ids=str)
def test_global_state_is_kept_when_fit_fails(make, data, params):
    X, y = data
    with pytest.raises(ValueError, match="diverged"):
        make(**{**params, "learning_rate_init": 3e38, "max_iter": 20}).fit(X, y)
    with pytest.raises(ValueError, match="infinity"):
        make(**params).fit(np.where(X[3] == X, np.inf, X), y)
    with pytest.raises(ValueError, match="unexpected argument"):
        make(net_params={"no_such_thing": 1}).fit(X, y)


@pytest.mark.usefixtures("global_state_is_kept")
def test_global_state_is_kept_when_a_users_module_fails(make, data):
    def module(n_in, n_out):
        torch.rand(3)
        raise RuntimeError("out of luck")

    with pytest.raises(RuntimeError, match="out of luck"):
        make(module=module).fit(*data)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_the_thread_count_is_kept(make, data, n_threads):
    X, y = data
    before = torch.get_num_threads()
    torch.set_num_threads(n_threads)
    try:
        make(n_members=2).fit(X, y).predict(X)
        assert torch.get_num_threads() == n_threads
        with pytest.raises(ValueError, match="diverged"):
            make(learning_rate_init=1e35, max_iter=20).fit(X, y)
        assert torch.get_num_threads() == n_threads
    finally:
        torch.set_num_threads(before)


def test_the_default_dtype_of_torch_does_not_matter(make, data):
    X, y = data
    reference = make(n_members=2, embedding="sinusoidal").fit(X, y)
    torch.set_default_dtype(torch.float64)
    try:
        found = predict_all(reference, X)
        model = make(n_members=2, embedding="sinusoidal").fit(X, y)
        assert torch.get_default_dtype() == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    assert_same_predictions(found, predict_all(reference, X))
    assert_same_predictions(predict_all(model, X), found)


def test_fit_works_if_gradients_are_off(make, data):
    X, y = data
    reference = make().fit(X, y)
    with torch.no_grad():
        model = make().fit(X, y)
        assert not torch.is_grad_enabled()
    assert_same_predictions(predict_all(model, X), predict_all(reference, X))


# Predictions of a row


@pytest.mark.parametrize(
    "rows", [[0], [699], [5, 3, 3], slice(None, None, -1), slice(0, 257)], ids=str
)
def test_the_prediction_of_a_row_does_not_depend_on_other_rows(fitted, rows):
    model, X = fitted
    together, apart = predict_all(model, X), predict_all(model, X[rows])
    # Samples differ, because each call draws new ones.
    together.pop("sample_y", None), apart.pop("sample_y", None)
    assert_close_predictions({k: v[rows] for k, v in together.items()}, apart)


def test_the_distribution_of_a_row_does_not_depend_on_other_rows(fitted):
    model, X = fitted
    together, alone = model.predict_dist(X), model.predict_dist(X[10:11])
    names = ("mean", "std", "epistemic", "aleatoric")
    if not hasattr(together, "mean"):
        names = ("proba", "log_proba", "entropy", "mutual_information")
    assert_close_predictions(
        {name: getattr(together, name)[10:11] for name in names},
        {name: getattr(alone, name) for name in names},
    )


def test_predict_is_pure(fitted):
    model, X = fitted
    first = predict_all(model, X)
    for _ in range(2):
        assert_same_predictions(predict_all(model, X), first)


@pytest.mark.usefixtures("two_threads")
def test_several_threads_predict_the_same(fitted):
    model, X = fitted
    X = X[:200]
    expected = predict_all(model, X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: predict_all(model, X), range(8)):
            assert_same_predictions(found, expected)


@pytest.mark.usefixtures("two_threads")
def test_several_threads_fit_the_same_model(make, data):
    X, y = data
    expected = predict_all(make().fit(X, y), X)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(lambda _: predict_all(make().fit(X, y), X), range(4)):
            assert_same_predictions(found, expected)


# Members


@pytest.mark.parametrize(
    ("kind", "hold_out", "weighted"),
    [
        ("regressor", False, False),
        ("regressor", True, True),
        ("classifier", False, True),
        ("classifier", True, False),
    ],
)
def test_stacked_members_equal_members_trained_separately(kind, hold_out, weighted):
    embedding = "periodic" if weighted else "alternating"
    settings = {"hold_out": hold_out, "weighted": weighted, "embedding": embedding}
    assert_stacked_is_alone(Anchored(3), kind=kind, **settings)


def test_the_first_member_does_not_depend_on_the_number_of_members(make, data):
    X, y = data
    params = {"early_stopping": False, "max_iter": 5, "tol": 0}
    one, three = (make(n_members=n, **params).fit(X, y) for n in (1, 3))
    for own, stacked in zip(
        member_weights(one.net_, 0), member_weights(three.net_, 0), strict=True
    ):
        torch.testing.assert_close(stacked, own, rtol=1e-4, atol=1e-6)
    assert not torch.equal(*(three.net_.module_.core.first.weight[m] for m in (0, 1)))
