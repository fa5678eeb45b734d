"""Proposals, pending points, failures, and repeated points of the optimizer."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from sk_deltauq import baselines
from sk_deltauq.optimize import Optimizer, surrogate
from sk_deltauq.optimize._acquisition import ACQUISITIONS
from sk_deltauq.optimize._optimizer import NAMES
from tests.optimize._helpers import BOUNDS, bowl, make, measure_distances, quick, run


def test_names_of_acquisition_functions_agree_in_both_files():
    assert tuple(ACQUISITIONS) == NAMES


@pytest.mark.long
def test_recommended_surrogate_finds_the_minimum():
    optimizer = run(Optimizer(BOUNDS, random_state=0), 14)
    assert optimizer.y_best_ < 5.01
    assert optimizer.y_best_ == bowl(optimizer.x_best_) == optimizer.y_.min()


@pytest.mark.parametrize("maximize", [False, True])
def test_proposals_approach_the_optimum(maximize):
    """Faster than the design of the first points, which has the same number of points."""
    sign = -1 if maximize else 1
    optimizer = run(make(n_initial=5, maximize=maximize), 10, f=lambda x: sign * bowl(x))
    values, design = sign * optimizer.y_, bowl(make(n_initial=10).ask(10))
    np.testing.assert_array_equal(values[:5], design[:5])
    assert sign * optimizer.y_best_ == bowl(optimizer.x_best_) == values.min()
    assert values.min() < design.min() - 0.01
    assert np.median(values[5:]) < np.median(design[5:]) - 0.05


@pytest.mark.parametrize("acquisition", NAMES)
def test_every_acquisition_function_proposes_new_points_of_a_batch(acquisition):
    optimizer = make(acquisition=acquisition, n_initial=6)
    optimizer.tell(X := optimizer.ask(6), bowl(X))
    proposed = optimizer.ask(2)
    assert (optimizer.pending_ == proposed).all()
    assert ((proposed >= 0) & (proposed <= [1, 10])).all()
    assert measure_distances(np.vstack([X, proposed])).min() > 1e-6
    again = make(acquisition=acquisition, n_initial=6)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(2), proposed)


def test_custom_acquisition_function_gets_the_standardised_situation():
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


def test_ask_does_not_change_global_random_states(global_state_is_kept):
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
    optimizer.estimator_.fit(X, -bowl(X))  # a copy: the search does not follow
    again = make(n_initial=6)
    again.tell(X, bowl(X))
    again.ask()
    np.testing.assert_array_equal(optimizer.ask(), again.ask())


def test_the_initial_design_counts_pending_points():
    optimizer = make(n_initial=6)
    design = optimizer.ask(6)
    np.testing.assert_array_equal(make().ask(6), design)
    assert measure_distances(design).min() > 0.05
    seventh = optimizer.ask()  # without a value no surrogate can be fitted
    assert measure_distances(np.vstack([design, seventh])).min() > 1e-6


def test_equal_values_are_followed_by_points_of_the_design():
    optimizer = run(make(n_initial=2), 4, f=lambda x: 1.0)
    np.testing.assert_array_equal(optimizer.X_, make(n_initial=4).ask(4))


def test_differences_too_small_for_float64_count_as_equal_values():
    optimizer = run(make(n_initial=2), 4, f=lambda x: 1e-200 * x[0])
    with pytest.raises(NotFittedError, match="two different values"):
        _ = optimizer.estimator_


def test_scale_of_values_does_not_change_the_proposals():
    X = np.random.default_rng(0).uniform(size=(8, 2)) * [1, 10]
    proposals = []
    for scale in (1.0, 2.0**-40, 2.0**40):
        optimizer = make()
        optimizer.tell(X, bowl(X) * scale)
        proposals.append(optimizer.ask())
    np.testing.assert_allclose(proposals[1], proposals[0], rtol=1e-3)
    np.testing.assert_allclose(proposals[2], proposals[0], rtol=1e-3)


# Pending points, failures, duplicates


def test_evaluated_points_are_not_pending():
    optimizer = make(n_initial=4)
    X = optimizer.ask(4)
    optimizer.tell(X[2], 1.0)
    np.testing.assert_array_equal(optimizer.pending_, X[[0, 1, 3]])
    optimizer.tell(X[0] + 1e-9, 2.0)  # written and read with fewer digits
    assert len(optimizer.pending_) == 2


def test_ask_never_repeats_an_evaluated_point():
    """The acquisition function has its maximum at an evaluated point."""
    from botorch.acquisition import PosteriorMean

    optimizer = make(acquisition=lambda s: PosteriorMean(s.model), n_initial=4)
    run(optimizer, 12, f=lambda x: float(x[0]))  # the best points are on the edge
    assert measure_distances(optimizer.X_).min() > 1e-6


def test_search_avoids_failures():
    optimizer = Optimizer(BOUNDS, random_state=0, n_initial=8)
    run(optimizer, 16, f=lambda x: np.nan if x[0] < 0.5 else bowl(x))
    failed = np.isnan(optimizer.y_)
    assert failed[:8].sum() >= 3
    # The minimum is on the side that fails.
    assert failed[12:].sum() <= 2
    assert optimizer.y_best_ == np.nanmin(optimizer.y_)


def test_later_value_replaces_a_failure():
    optimizer = make(n_initial=4)
    X = optimizer.ask(2)
    optimizer.tell(X, [np.nan, 1.0])
    optimizer.tell(X[0], 3.0)
    assert optimizer.y_.tolist() == [3.0, 1.0]
    assert optimizer.y_best_ == 1.0


def test_second_value_of_a_point_is_an_error():
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


def test_near_points_can_have_different_values():
    """Existing data on a logarithmic scale: only proposals keep away from other points."""
    optimizer = make([(1e-8, 1)], n_initial=5)
    X = np.logspace(-7, -3, 5)[:, np.newaxis]
    optimizer.tell(X, [5.0, 4.0, 3.0, 2.0, 1.0])
    assert optimizer.y_.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    [x] = optimizer.ask()
    assert np.abs(x - X).min() > 1e-6


def test_noisy_function_can_have_several_values_per_point():
    optimizer = Optimizer(BOUNDS, noisy=True, random_state=0)
    optimizer.tell([[0.5, 5], [0.5, 5]], [1.0, 2.0])
    assert optimizer.y_.tolist() == [1.0, 2.0]
    assert optimizer._acquisition == "log_nei"
    assert optimizer._surrogates.alone.noise == "homoscedastic"


def test_failure_of_a_noisy_function_is_not_fitted_beside_a_value():
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


def test_points_of_a_batch_keep_a_distance():
    """A network with random anchors has a small std and proposes almost the same point again."""
    rng = np.random.default_rng(0)
    X = np.array(BOUNDS)[:, 0] + np.ptp(BOUNDS, axis=1) * rng.uniform(size=(12, 2))
    batches = {}
    sure = surrogate().set_params(anchors="random", n_members=1)
    for name, chosen in (("default", None), ("sure", sure)):
        optimizer = Optimizer(BOUNDS, surrogate=chosen, random_state=0)
        optimizer.tell(X, bowl(X))
        batches[name] = optimizer.ask(3)
    assert measure_distances(batches["default"], BOUNDS).min() > 0.02
    assert measure_distances(batches["sure"], BOUNDS).min() < 0.02
    again = Optimizer(BOUNDS, random_state=0)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(), batches["default"][:1])
    np.testing.assert_array_equal(again.ask(2), batches["default"][1:])


# Integers


def test_proposals_of_integer_parameters_are_integers():
    bounds = [(0, 1), (-3, 4)]
    optimizer = make(bounds, integers=[1], n_initial=5)
    run(optimizer, 8, f=lambda x: (x[0] - 0.5) ** 2 + x[1] ** 2)
    assert (optimizer.X_[:, 1] == np.round(optimizer.X_[:, 1])).all()
    assert measure_distances(optimizer.X_, bounds).min() > 1e-6
    assert len(set(optimizer.X_[:, 1])) > 2


def test_ask_raises_when_all_integer_points_are_evaluated():
    optimizer = make([(0, 2), (0, 1)], integers=[0, 1], n_initial=3)
    run(optimizer, 6, f=lambda x: float(x[0] * 2 + x[1]))
    assert len(np.unique(optimizer.X_, axis=0)) == 6
    with pytest.raises(ValueError, match="all 6 points"):
        optimizer.ask()
    assert len(optimizer.pending_) == 0


def test_ask_rejects_more_points_than_are_free():
    optimizer = make([(0, 3)], integers=[0])
    optimizer.tell([2], 1.0)
    with pytest.raises(ValueError, match="n is 4, but only 3 of the 4 points"):
        optimizer.ask(4)
    assert len(optimizer.pending_) == 0
    assert sorted(optimizer.ask(3).ravel()) == [0, 1, 3]


def test_baselines_serve_as_surrogates():
    small = {"hidden_layer_sizes": (16,), "max_iter": 5, "noise": None}
    design = make(n_initial=7).ask(7)
    for model in (
        baselines.DeepEnsembleRegressor(**small, n_members=1, early_stopping=False),
        baselines.MCDropoutRegressor(**small, n_masks=5, dropout=0.1),
        baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=2),
    ):
        optimizer = run(make(surrogate=model, n_initial=5), 7)
        assert type(optimizer.estimator_) is type(model)
        assert measure_distances(optimizer.X_).min() > 1e-6
        assert (optimizer.X_[5:] != design[5:]).all(), "the surrogate proposes, not the design"
