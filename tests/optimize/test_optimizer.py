"""Asking and telling: proposals, pending points, failures and bad input."""

import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq.optimize import Optimizer, surrogate
from sk_deltauq.optimize._acquisition import ACQUISITIONS
from sk_deltauq.optimize._optimizer import NAMES
from tests.optimize._helpers import BOUNDS, bowl, make, quick, run

ROOT = Path(__file__).parents[2]


def distances(X, bounds=BOUNDS):
    """Largest distance in any coordinate of the unit cube, for each pair of different rows."""
    U = X / np.ptp(bounds, axis=1)
    pairs = np.abs(U[:, None] - U).max(axis=2)
    return pairs[np.triu_indices(len(X), 1)]


def test_names_of_acquisition_functions():
    assert tuple(ACQUISITIONS) == NAMES


@pytest.mark.long
def test_it_finds_the_minimum():
    optimizer = run(Optimizer(BOUNDS, random_state=0), 14)
    assert optimizer.y_best_ < 5.01
    assert optimizer.y_best_ == bowl(optimizer.x_best_) == optimizer.y_.min()


def test_proposals_approach_the_minimum():
    optimizer = run(make(n_initial=5), 10)
    assert optimizer.y_best_ == bowl(optimizer.x_best_) == optimizer.y_.min()
    assert optimizer.y_best_ < optimizer.y_[:5].min() - 0.01


def test_maximising():
    optimizer = run(make(n_initial=5, maximize=True), 10, f=lambda x: -bowl(x))
    assert optimizer.y_best_ == -bowl(optimizer.x_best_) == optimizer.y_.max()
    assert optimizer.y_best_ > optimizer.y_[:5].max() + 0.01


@pytest.mark.parametrize("acquisition", NAMES)
def test_every_acquisition_function_with_pending_points(acquisition):
    optimizer = make(acquisition=acquisition, n_initial=6)
    optimizer.tell(X := optimizer.ask(6), bowl(X))
    proposed = optimizer.ask(2)
    assert (optimizer.pending_ == proposed).all()
    assert ((proposed >= 0) & (proposed <= [1, 10])).all()
    assert distances(np.vstack([X, proposed])).min() > 1e-6
    again = make(acquisition=acquisition, n_initial=6)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(2), proposed)


def test_a_custom_acquisition_function():
    from botorch.acquisition import PosteriorMean

    seen = []

    def greedy(situation):
        seen.append(situation)
        return PosteriorMean(situation.model)

    optimizer = run(make(acquisition=greedy, n_initial=5), 6)
    [situation] = seen
    assert situation.told.shape == (5, 2)
    np.testing.assert_allclose(situation.values.mean(), 0, atol=1e-12)
    assert situation.values.argmax() == optimizer.y_[:5].argmin()
    assert situation.pending is None


def test_proposals_do_not_change_numpys_or_torchs_random_state(global_state_is_kept):
    run(make(n_initial=4), 5)


def test_existing_data_replace_the_initial_design():
    optimizer = make(n_initial=6)
    X = np.random.default_rng(0).uniform(size=(6, 2)) * [1, 10]
    optimizer.tell(X, bowl(X))
    [x] = optimizer.ask()
    other = make(n_initial=6)
    other.tell(X, -bowl(X))
    assert (other.ask()[0] != x).any()  # the values decide, not a design
    np.testing.assert_array_equal(optimizer.X_, X)
    estimator = optimizer.estimator_
    assert estimator.predict(X).shape == (6,)
    estimator.fit(X, -bowl(X))  # a copy: the search does not follow
    again = make(n_initial=6)
    again.tell(X, bowl(X))
    again.ask()
    np.testing.assert_array_equal(optimizer.ask(), again.ask())


def test_the_initial_design_counts_pending_points():
    optimizer = make(n_initial=6)
    design = optimizer.ask(6)
    np.testing.assert_array_equal(make().ask(6), design)
    assert distances(design).min() > 0.05
    seventh = optimizer.ask()  # without a value no surrogate can be fitted
    assert distances(np.vstack([design, seventh])).min() > 1e-6


def test_equal_values_cannot_be_fitted():
    optimizer = make(n_initial=2)
    run(optimizer, 4, f=lambda x: 1.0)
    with pytest.raises(NotFittedError, match="two different values"):
        _ = optimizer.estimator_


def test_differences_that_float64_cannot_square_cannot_be_fitted():
    optimizer = run(make(n_initial=2), 4, f=lambda x: 1e-200 * x[0])
    with pytest.raises(NotFittedError, match="two different values"):
        _ = optimizer.estimator_


def test_values_of_any_scale_give_the_same_proposals():
    X = np.random.default_rng(0).uniform(size=(8, 2)) * [1, 10]
    proposals = []
    for scale in (1.0, 2.0**-40, 2.0**40):
        optimizer = make()
        optimizer.tell(X, bowl(X) * scale)
        proposals.append(optimizer.ask())
    np.testing.assert_allclose(proposals[1], proposals[0], rtol=1e-3)
    np.testing.assert_allclose(proposals[2], proposals[0], rtol=1e-3)


# Pending points, failures, duplicates


def test_told_points_are_not_pending():
    optimizer = make(n_initial=4)
    X = optimizer.ask(4)
    optimizer.tell(X[2], 1.0)
    np.testing.assert_array_equal(optimizer.pending_, X[[0, 1, 3]])
    optimizer.tell(X[0] + 1e-9, 2.0)  # written and read with fewer digits
    assert len(optimizer.pending_) == 2


def test_a_proposal_is_never_a_told_point():
    """Also where the acquisition function has its maximum at a told point."""
    from botorch.acquisition import PosteriorMean

    optimizer = make(acquisition=lambda s: PosteriorMean(s.model), n_initial=4)
    run(optimizer, 12, f=lambda x: float(x[0]))  # the best points are on the edge
    assert distances(optimizer.X_).min() > 1e-6


def test_failures_are_kept_and_avoided():
    optimizer = Optimizer(BOUNDS, random_state=0, n_initial=8)
    run(optimizer, 16, f=lambda x: np.nan if x[0] < 0.5 else bowl(x))
    failed = np.isnan(optimizer.y_)
    assert failed[:8].sum() >= 3
    # The minimum is on the side that fails.
    assert failed[12:].sum() <= 2
    assert optimizer.y_best_ == np.nanmin(optimizer.y_)


def test_a_failure_may_be_told_again():
    optimizer = make(n_initial=4)
    X = optimizer.ask(2)
    optimizer.tell(X, [np.nan, 1.0])
    optimizer.tell(X[0], 3.0)
    assert optimizer.y_.tolist() == [3.0, 1.0]
    assert optimizer.y_best_ == 1.0


def test_the_same_point_with_another_value():
    optimizer = make()
    optimizer.tell([0.5, 5], 1.0)
    optimizer.tell([0.5, 5], 1.0)  # told twice, as after a kill
    assert len(optimizer.y_) == 1
    with pytest.raises(ValueError, match=r"has the value 1.0 already.*2.0.*noisy=True.*tell NaN"):
        optimizer.tell([[0.1, 1], [0.5, 5]], [3.0, 2.0])
    assert optimizer.y_.tolist() == [1.0]  # nothing of the call is stored
    optimizer.tell([0.5, 5], np.nan)
    optimizer.tell([0.5, 5], 2.0)
    assert optimizer.y_.tolist() == [2.0]


def test_near_points_may_have_different_values():
    """Existing data on a logarithmic scale: only proposals keep away from other points."""
    optimizer = make([(1e-8, 1)], n_initial=5)
    X = np.logspace(-7, -3, 5)[:, np.newaxis]
    optimizer.tell(X, [5.0, 4.0, 3.0, 2.0, 1.0])
    assert optimizer.y_.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    [x] = optimizer.ask()
    assert np.abs(x - X).min() > 1e-6


def test_noisy_functions_may_have_several_values():
    optimizer = Optimizer(BOUNDS, noisy=True, random_state=0)
    optimizer.tell([[0.5, 5], [0.5, 5]], [1.0, 2.0])
    assert optimizer.y_.tolist() == [1.0, 2.0]
    assert optimizer._acquisition == "log_nei"
    assert optimizer._surrogates.alone.noise == "homoscedastic"


def test_a_failure_of_a_noisy_function():
    optimizer = Optimizer(BOUNDS, noisy=True, surrogate=quick(), random_state=0)
    optimizer.tell([0.5, 5], np.nan)
    optimizer.tell([0.5, 5], 1.0)  # evaluated again
    assert optimizer.y_.tolist() == [1.0]
    optimizer.tell([[0.5, 5], [0.1, 1], [0.9, 9]], [np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(optimizer.y_, [1.0, np.nan, 2.0, np.nan])
    # The failure at a point with a value is not fitted: an optimiser without it predicts the same.
    other = Optimizer(BOUNDS, noisy=True, surrogate=quick(), random_state=0)
    other.tell([[0.5, 5], [0.1, 1], [0.9, 9]], [1.0, 2.0, np.nan])
    rows = optimizer._state.list_fit_rows(optimizer._space)
    assert rows.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(optimizer.X_[rows], other.X_)


def test_the_points_of_a_batch_keep_apart():
    """A network with random anchors is so sure that it would propose the first point again."""
    rng = np.random.default_rng(0)
    X = np.array(BOUNDS)[:, 0] + np.ptp(BOUNDS, axis=1) * rng.uniform(size=(12, 2))
    batches = {}
    sure = surrogate().set_params(anchors="random", n_members=1)
    for name, chosen in (("default", None), ("sure", sure)):
        optimizer = Optimizer(BOUNDS, surrogate=chosen, random_state=0)
        optimizer.tell(X, bowl(X))
        batches[name] = optimizer.ask(3)
    assert distances(batches["default"], BOUNDS).min() > 0.02
    assert distances(batches["sure"], BOUNDS).min() < 0.02
    again = Optimizer(BOUNDS, random_state=0)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(), batches["default"][:1])
    np.testing.assert_array_equal(again.ask(2), batches["default"][1:])


# Integers


def test_integers_are_rounded():
    bounds = [(0, 1), (-3, 4)]
    optimizer = make(bounds, integers=[1], n_initial=5)
    run(optimizer, 8, f=lambda x: (x[0] - 0.5) ** 2 + x[1] ** 2)
    assert (optimizer.X_[:, 1] == np.round(optimizer.X_[:, 1])).all()
    assert distances(optimizer.X_, bounds).min() > 1e-6
    assert len(set(optimizer.X_[:, 1])) > 2


def test_a_space_of_integers_is_searched_to_its_end():
    optimizer = make([(0, 2), (0, 1)], integers=[0, 1], n_initial=3)
    run(optimizer, 6, f=lambda x: float(x[0] * 2 + x[1]))
    assert len(np.unique(optimizer.X_, axis=0)) == 6
    with pytest.raises(ValueError, match="all 6 points"):
        optimizer.ask()
    assert len(optimizer.pending_) == 0


def test_more_points_than_a_space_of_integers_has():
    optimizer = make([(0, 3)], integers=[0])
    optimizer.tell([2], 1.0)
    with pytest.raises(ValueError, match="n is 4, but only 3 of the 4 points"):
        optimizer.ask(4)
    assert len(optimizer.pending_) == 0
    assert sorted(optimizer.ask(3).ravel()) == [0, 1, 3]


# Bad input


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"surrogate": DeltaUQClassifier()}, TypeError, "regressor of sk_deltauq.*Classifier"),
        ({"surrogate": Ridge()}, TypeError, "Ridge"),
        ({"surrogate": DeltaUQRegressor}, TypeError, r"the class .* Write DeltaUQRegressor\(\)"),
        ({"surrogate": DeltaUQRegressor(n_anchors=0)}, ValueError, "'n_anchors' parameter"),
        (
            {"surrogate": DeltaUQRegressor(categorical_features=[1])},
            ValueError,
            "categorical_features=None or 'from_dtype'",
        ),
        ({"surrogate": DeltaUQRegressor(warm_start=True)}, ValueError, "warm_start"),
        ({"acquisition": "ei"}, ValueError, "'auto', 'log_ei'.*got 'ei'"),
        ({"acquisition": np.array([1, 2])}, ValueError, "acquisition must be one of"),
        ({"maximize": "min"}, ValueError, "maximize must be True or False, got 'min'"),
        ({"noisy": "no"}, ValueError, "noisy must be True or False, got 'no'"),
        ({"integers": None}, ValueError, "integers must be a list of positions.*got None"),
        ({"integers": 1}, ValueError, "integers must be a list of positions.*got 1"),
        ({"n_initial": 1}, ValueError, "from 2 on, got 1"),
        ({"n_initial": 2.5}, ValueError, "got 2.5"),
        ({"bounds": [(1, 0)]}, ValueError, "lower < upper"),
        ({"integers": [5]}, ValueError, "got 5"),
    ],
)
def test_invalid_settings(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.5, 5], np.inf, "at most 1e\\+100 in size, got inf for point 0. Use NaN"),
        ([[0.5, 5], [0.1, 5]], [1.0, -1e200], "got -1e\\+200 for point 1"),
        ([0.5, 5], "1.5", "numbers, got '1.5'"),
        ([0.5, 5], None, "numbers, got None. Does your function return its value"),
        ([[0.5, 5], [0.1, 5]], [1.0, None], "numbers, got None"),
        ([0.5, 5], [1.0, 2.0], "one value for each of 1 points"),
        ([[0.5, 5], [0.1, 5]], 1.0, "each of 2 points"),
        ([0.5, 11], 1.0, "outside"),
        ([np.nan, 5], 1.0, "NaN"),
        ([0.5], 1.0, "2 numbers"),
    ],
)
def test_invalid_values_change_nothing(x, y, message):
    optimizer = make()
    optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(x, y)
    assert len(optimizer.y_) == 0
    assert len(optimizer.pending_) == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [([[0.5, 5]], 1.0), ([0.5, 5], [[1.0]]), ([[0.5, 5], [0.1, 1]], [[1.0], [2.0]])],
    ids=["one", "one-cell", "column"],
)
def test_shapes_of_values(x, y):
    optimizer = make()
    optimizer.tell(x, y)
    assert optimizer.y_.tolist() == np.ravel(y).tolist()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_invalid_numbers_of_points(n):
    with pytest.raises(ValueError, match="n must be"):
        make().ask(n)


def test_no_best_point_without_a_value():
    optimizer = make()
    for name in ("x_best_", "y_best_", "estimator_"):
        with pytest.raises(NotFittedError):
            getattr(optimizer, name)
    optimizer.tell([0.5, 5], np.nan)
    with pytest.raises(NotFittedError, match="No point has a value"):
        _ = optimizer.x_best_


def test_a_missing_botorch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botorch", None)
    with pytest.raises(ImportError, match=r"Optimizer needs BoTorch.*'sk-deltauq\[optimize\]'"):
        make()


@pytest.mark.long
def test_botorch_is_missing():
    code = """
        import sys
        sys.modules["botorch"] = None
        import sk_deltauq.optimize as optimize
        optimize.surrogate()
        for call in (lambda: optimize.Optimizer([(0, 1)]), lambda: optimize.BoTorchModel,
                     lambda: optimize.minimize(sum, [(0, 1)])):
            try:
                call()
            except ImportError as error:
                assert "pip install 'sk-deltauq[optimize]'" in str(error), error
            else:
                raise AssertionError("no error")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_other_methods_as_surrogates():
    small = {"hidden_layer_sizes": (16,), "max_iter": 5, "noise": None}
    for model in (
        baselines.DeepEnsembleRegressor(**small, n_members=1, early_stopping=False),
        baselines.MCDropoutRegressor(**small, n_masks=5, dropout=0.1),
        baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=2),
    ):
        optimizer = run(make(surrogate=model, n_initial=5), 7)
        assert distances(optimizer.X_).min() > 1e-6


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"random_state": "a"}, ValueError, "random_state must be an int"),
        ({"random_state": -1}, ValueError, "random_state must be an int"),
        ({"path": 3}, TypeError, "path must be a str or path-like object, got int"),
        (
            {"path": "no-such-folder/state.json"},
            ValueError,
            "path must be in a folder that exists",
        ),
    ],
)
def test_invalid_seed_or_path(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)
