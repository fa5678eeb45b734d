import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist

from sk_deltauq._methods.anchored import Landmarks


def rows(n_rows, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n_rows, n_features)).astype(np.float32))


def pick(x, seed=0, earlier=None):
    return Landmarks.pick(x, np.random.default_rng(seed), earlier)


def test_landmarks_are_training_rows_spread_over_them():
    x = rows(2000)
    landmarks = pick(x)
    assert landmarks.rows.shape == (64, 3)
    assert (cdist(landmarks.rows, x).min(axis=1) == 0).all()
    # Better spread than rows at random: the farthest row is nearer to one.
    at_random = x[:64].numpy()
    assert cdist(x, landmarks.rows).min(axis=1).max() < cdist(x, at_random).min(axis=1).max()


@pytest.mark.parametrize("n_rows", [300, 6000])
def test_nine_tenths_of_the_rows_are_inside(n_rows):
    x = rows(n_rows)
    excess = pick(x).excess(x).numpy()
    assert np.mean(excess == 0) == pytest.approx(0.9, abs=0.02)


def test_excess_is_the_distance_beyond_the_reach():
    landmarks, new = pick(rows(500)), 3 * rows(40, seed=1)
    nearest = cdist(new, landmarks.rows).min(axis=1)
    expected = np.maximum(0, nearest - landmarks.reach) / (landmarks.reach + 0.5)
    assert (expected > 0).any()
    np.testing.assert_allclose(landmarks.excess(new), expected, rtol=1e-4, atol=1e-4)


def test_between_a_few_values_is_inside():
    """All values are landmarks, so no row is away from one; half-way between two is near."""
    x = torch.arange(10.0).repeat(30)[:, None]
    landmarks = pick(x)
    assert landmarks.reach == 0.5
    found = landmarks.excess(torch.tensor([[4.5], [9.5], [11.0]]))
    np.testing.assert_allclose(found, [0, 0, 1.5], atol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_rows_that_are_all_one(n_rows):
    landmarks = pick(torch.ones(n_rows, 2))
    assert landmarks.reach < 1e-5
    found = landmarks.excess(torch.tensor([[1.0, 1.0], [1.0, 3.0]]))
    np.testing.assert_allclose(found, [0, 4], atol=1e-4)


def test_far_rows_stay_finite():
    found = pick(rows(100)).excess(torch.full((1, 3), 1e6))
    assert torch.isfinite(found).all()
    assert found > 1e5


def test_later_rows_count_and_earlier_ones_are_not_forgotten():
    first = pick(rows(300))
    later = pick(rows(300, seed=1) + 10, seed=1, earlier=first)
    assert later.reach >= first.reach
    inside_both = torch.tensor([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]])
    assert (later.excess(inside_both) == 0).all()
    assert (first.excess(inside_both) > 0).tolist() == [False, True]


def test_gradient_leads_away_from_the_rows():
    landmarks = pick(rows(300))
    x = torch.tensor([landmarks.rows[0].tolist(), [5.0, 5.0, 5.0]], requires_grad=True)
    landmarks.excess(x).sum().backward()
    assert (x.grad[0] == 0).all()
    assert (x.grad[1] > 0).all()
