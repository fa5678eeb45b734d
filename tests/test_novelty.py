"""The reference rows, the effects of the features, and the distance-based inflation."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._novelty import DistanceInflation, ReferenceRows
from sk_deltauq._validation import scale_to_tensor


def draw_rows(n_rows, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n_rows, n_features)).astype(np.float32))


def pick_references(x, seed=0, earlier=None):
    keys = np.log(np.random.default_rng(seed).random(len(x)))
    return ReferenceRows.pick(x, keys, earlier)


def make_inflation(x, strength=1.0, **changes):
    return DistanceInflation(pick_references(x, **changes), strength)


def measure_effects(inflation, function):
    """Measure the effects of the features on `function`: `(row, feature)` to `(row, output)`."""
    inflation.measure_effects(lambda x: (function(x)[None],), 1, "cpu")
    return inflation


def test_all_rows_of_a_small_table_are_references():
    x = draw_rows(100)
    assert np.array_equal(np.unique(pick_references(x).rows, axis=0), np.unique(x.numpy(), axis=0))


def test_references_of_a_large_table_are_a_sample():
    x = draw_rows(3000)
    found = pick_references(x).rows
    assert found.shape == (512, 3)
    assert (cdist(found, x).min(axis=1) == 0).all()
    assert len(np.unique(found, axis=0)) == 512


def test_references_contain_most_rare_rows():
    """Four of 4,000 rows have the category; its column is standardised."""
    x = np.zeros((4000, 2))
    x[:4, 0] = 1
    x = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1)
    x[:, 1] = np.random.default_rng(0).normal(size=4000)
    found = [
        (pick_references(torch.from_numpy(x), seed).rows[:, 0] > 1).sum() for seed in range(5)
    ]
    assert np.mean(found) > 3


@pytest.mark.parametrize("n_rows", [30, 300, 6000])
def test_90_percent_of_new_rows_have_a_factor_of_one(n_rows):
    inside = make_inflation(draw_rows(n_rows))(draw_rows(4000, seed=1)) == 1
    assert inside.float().mean() == pytest.approx(0.9, abs=0.06 if n_rows < 100 else 0.04)


@pytest.mark.parametrize("strength", [0.5, 1.0])
def test_the_factor_is_linear_in_the_distance_beyond_the_reach(strength):
    x, new = draw_rows(300), 3 * draw_rows(40, seed=1)
    inflation = make_inflation(x, strength)
    between = cdist(x, x)
    np.fill_diagonal(between, np.inf)
    reach = np.sort(between.min(axis=1))[269]
    assert float(inflation.reach) == pytest.approx(reach, rel=1e-5)
    excess = np.maximum(cdist(new, x).min(axis=1) - reach, 0) / (reach + 0.25)
    assert (excess > 0).any()
    np.testing.assert_allclose(inflation(new), 1 + strength * excess, rtol=1e-4)


def test_copies_of_a_row_do_not_shorten_the_reach():
    x = draw_rows(100)
    copies = make_inflation(x.repeat(4, 1))
    assert float(copies.reach) == float(make_inflation(x).reach)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_equal_rows_have_no_reach(n_rows):
    found = make_inflation(torch.ones(n_rows, 2))(torch.tensor([[1.0, 1.0], [1.0, 3.0]]))
    np.testing.assert_allclose(found, [1, 1 + 2 / 0.25], rtol=1e-4)


def test_factors_of_far_rows_are_finite():
    found = make_inflation(draw_rows(100))(torch.full((1, 3), 1e6))
    assert torch.isfinite(found).all()
    assert found > 1e5


def test_a_feature_with_a_larger_effect_has_a_larger_weight():
    slopes = torch.tensor([3.0, 0.0, 1.0])
    inflation = measure_effects(make_inflation(draw_rows(400)), lambda x: x @ slopes[:, None])
    relative = slopes.numpy() ** 2 / (10 / 3)
    np.testing.assert_allclose(inflation.weights, np.sqrt((relative + 0.1) / 1.1), rtol=1e-5)
    along = inflation(torch.eye(3) * 8)
    assert along[0] > along[2] > along[1] > 1


def test_the_effect_is_the_mean_square_of_the_derivatives():
    """Three outputs, a sine and two lines, with derivatives by hand."""
    x = draw_rows(20_000, 2)
    inflation = measure_effects(
        make_inflation(x), lambda x: torch.stack([x[:, 0].sin(), 2 * x[:, 1], x[:, 0]], dim=1)
    )
    probes = pick_references(x).rows[:256]
    effect = np.array([1 + (np.cos(probes[:, 0]) ** 2).mean(), 4])
    expected = np.sqrt((effect / effect.mean() + 0.1) / 1.1)
    np.testing.assert_allclose(inflation.weights, expected, rtol=0.1)


def test_weights_scale_the_features_in_the_reach_and_the_distance():
    x, new = draw_rows(300), 4 * draw_rows(20, seed=1)
    inflation = measure_effects(make_inflation(x), lambda x: x[:, :1])
    by_hand = make_inflation(x * inflation.weights)
    assert float(inflation.reach) == pytest.approx(float(by_hand.reach), rel=1e-5)
    torch.testing.assert_close(inflation(new), by_hand(new * inflation.weights))


def test_a_constant_feature_does_not_lower_the_other_weights():
    x = draw_rows(300)
    x[:, 2] = 0
    slopes = torch.tensor([[1.0], [1.0], [100.0]])
    found = measure_effects(make_inflation(x), lambda x: x @ slopes).weights
    np.testing.assert_allclose(found[:2], [1, 1], rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x @ torch.zeros(3, 1),
        lambda x: torch.ones(2, requires_grad=True)[(x[:, :1] > 0).long()],
        lambda x: x[:, :1] * torch.nan,
    ],
    ids=["constant", "indices", "NaN"],
)
def test_without_effects_all_features_have_the_same_weight(function):
    inflation = measure_effects(make_inflation(draw_rows(100)), function)
    assert inflation.weights.tolist() == [1, 1, 1]


def test_known_effects_are_not_measured():
    x, effects = draw_rows(300), np.array([3.0, 0.0, 6.0])
    inflation = DistanceInflation(pick_references(x), 1.0, effects)
    assert not inflation.awaits_effects
    np.testing.assert_allclose(inflation.weights, np.sqrt((effects / 3 + 0.1) / 1.1), rtol=1e-6)
    by_hand = make_inflation(x * inflation.weights)
    assert by_hand.awaits_effects
    assert float(inflation.reach) == pytest.approx(float(by_hand.reach), rel=1e-5)


def test_effects_can_be_measured_in_inference_mode():
    with torch.inference_mode():
        inflation = measure_effects(make_inflation(draw_rows(100)), lambda x: x[:, :1])
    assert inflation.weights[0] > 1


def test_rows_of_earlier_calls_stay_references():
    first = pick_references(draw_rows(300))
    later = pick_references(draw_rows(300, seed=1) + 10, seed=1, earlier=first)
    both = torch.tensor([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]])
    assert (DistanceInflation(later, 1.0)(both) == 1).all()
    assert (DistanceInflation(first, 1.0)(both) > 1).tolist() == [False, True]


def test_references_of_two_calls_equal_references_of_one_call():
    x, keys = draw_rows(2000), np.log(np.random.default_rng(0).random(2000))
    first = ReferenceRows.pick(x[:900], keys[:900])
    both = ReferenceRows.pick(x[900:], keys[900:], first)
    assert np.array_equal(both.rows, ReferenceRows.pick(x, keys).rows)


def test_the_factor_has_gradients_only_outside_the_reach():
    x = draw_rows(300)
    new = torch.tensor([x[0].tolist(), [5.0, 5.0, 5.0]], requires_grad=True)
    make_inflation(x, 0.7)(new).sum().backward()
    assert (new.grad[0] == 0).all()
    assert (new.grad[1] > 0).all()


def test_the_reach_is_measured_between_groups():
    """Rows of a group are close together. Without `groups`, a new group counts as far away."""
    rng = np.random.default_rng(0)

    def draw(n_groups):
        centres = rng.normal(size=(n_groups, 4))
        ids = np.repeat(np.arange(n_groups), 10)
        return centres[ids] + 0.02 * rng.normal(size=(len(ids), 4)), ids

    (X, ids), (X_new, _) = draw(40), draw(100)
    y = X[:, 0] + rng.normal(size=40)[ids]
    shares = []
    for groups in (ids, None):
        model = DeltaUQRegressor(max_iter=3, random_state=0).fit(X, y, groups=groups)
        inflation = model._trained_.kept["_inflation_"]
        scaled = scale_to_tensor(X_new, model.x_scaler_)
        shares.append(float((inflation(scaled) == 1).double().mean()))
    assert len(model._trained_.kept["_references_"].rows) == 400
    assert shares[0] > 0.8
    assert shares[1] < 0.1
