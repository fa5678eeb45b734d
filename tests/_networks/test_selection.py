"""Soft selection against a loop over members, rows, subsets and heads."""

import math

import pytest
import torch

from sk_deltauq._networks.selection import N_HEADS, Neighbours, blend, count_outputs

M, S, J, K, D = 2, 3, 4, 5, 3  # members, samples, subsets, neighbours, features


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def make_neighbours(n_targets=1, n_first=M, weights=False):
    targets = draws(n_first, S, K, n_targets, seed=3)
    values = torch.cat([draws(n_first, S, K, D, seed=2), targets, targets**2 + 0.1], dim=3)
    log_weights = draws(n_first, S, K, seed=4) if weights else None
    used = draws(n_first, S, J, K, seed=5) > 0
    used[..., 0] = True
    distance = draws(M, S, N_HEADS, K, seed=6).square()
    return Neighbours(values, distance, log_weights, used)


def describe_by_loops(x, found, n_targets, m, s, j):
    """Features of one row in the order of the documentation, and the level."""
    own = 0 if len(found.values) == 1 else m
    differences, levels, spreads, distances = [], [], [], []
    for head in range(N_HEADS):
        rows = [k for k in range(K) if found.used[own, s, j, k]]
        squares = found.distance[m, s, head, rows].tolist()
        weights = [math.exp(-square) for square in squares]
        if found.log_weights is not None:
            weights = [
                w * math.exp(found.log_weights[own, s, k])
                for w, k in zip(weights, rows, strict=True)
            ]
        weights = torch.tensor(weights, dtype=torch.float64) / sum(weights)
        mean = (weights[:, None] * found.values[own, s, rows]).sum(dim=0)
        differences.append((x[m, s] - mean[:D]).asinh())
        level = mean[D : D + n_targets]
        levels.append(level)
        spreads.append((mean[D + n_targets :] - level**2 + 1e-6).sqrt())
        far = (weights * torch.tensor(squares, dtype=torch.float64)).sum()
        distances.append((far[None] + 1e-6).sqrt().asinh())
    parts = [*differences, *levels, *spreads, *distances]
    return torch.cat(parts), torch.stack(levels).mean(dim=0)


@pytest.mark.parametrize("n_targets", [1, 2])
@pytest.mark.parametrize("n_first", [1, M])
@pytest.mark.parametrize("weights", [False, True])
def test_features_are_weighted_means_over_the_neighbours(n_targets, n_first, weights):
    x, found = draws(M, S, D), make_neighbours(n_targets, n_first, weights)
    features, level = blend(x, found, n_targets)
    assert features.shape == (M, count_outputs(D, n_targets), J, S)
    assert level.shape == (M, n_targets, J, S)
    for m in range(M):
        for s in range(S):
            for j in range(J):
                expected, mean = describe_by_loops(x, found, n_targets, m, s, j)
                torch.testing.assert_close(features[m, :, j, s], expected)
                torch.testing.assert_close(level[m, :, j, s], mean)


def test_neighbours_that_take_no_part_have_no_effect():
    x, found = draws(M, S, D), make_neighbours()
    first = found._replace(used=found.used[:, :, :1])
    takes_part = first.used.squeeze(2).unsqueeze(3)  # (member, sample, neighbour, 1)
    changed = first._replace(values=torch.where(takes_part, found.values, 77.0))
    assert not takes_part.all()
    torch.testing.assert_close(blend(x, changed, 1), blend(x, first, 1))


def test_without_neighbours_all_features_are_zero():
    x, found = draws(M, S, D), make_neighbours()
    found.used[:, 1] = False
    features, level = blend(x, found, 1)
    assert not features[..., 1].any()
    assert not level[..., 1].any()
    assert features[..., 0].all()


def test_gradients_are_finite_at_equal_rows_and_without_neighbours():
    x = draws(M, S, D).requires_grad_()
    found = make_neighbours()
    values = found.values.clone()
    values[..., :D] = x.detach().unsqueeze(2)
    values[..., D + 1 :] = values[..., D : D + 1] ** 2
    found.used[:, 0] = False
    distance = (x.unsqueeze(2) - values[..., :D]).square().sum(dim=3).unsqueeze(2)
    distance = distance.expand(-1, -1, N_HEADS, -1)
    features, level = blend(x, found._replace(values=values, distance=distance), 1)
    (features.sum() + level.sum()).backward()
    assert torch.isfinite(x.grad).all()


def test_far_and_near_differences_have_the_values_and_the_gradients_of_asinh():
    distances = torch.tensor([0.0, 1e-6, 1e-3, 0.5, 3.0, 1e4, 3e7])
    x = torch.cat([-distances, distances]).reshape(1, -1, 1)
    values = torch.zeros(1, x.shape[1], 1, 3)  # the one neighbour is at 0
    found = Neighbours(
        values,
        torch.zeros(1, x.shape[1], N_HEADS, 1),
        None,
        torch.ones(1, x.shape[1], 1, 1, dtype=torch.bool),
    )
    exact = x.double().asinh()[0, :, 0]
    for requires_grad in (False, True):
        inputs = x.clone().requires_grad_(requires_grad)
        features, _ = blend(inputs, found, 1)
        gap = features[0, 0, 0]
        torch.testing.assert_close(gap.detach().double(), exact, rtol=1e-6, atol=0)
        if requires_grad:
            gap.sum().backward()
            slope = (1 + x.double() ** 2) ** -0.5
            torch.testing.assert_close(inputs.grad.double(), slope, rtol=1e-5, atol=0)
