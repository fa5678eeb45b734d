"""The learnt metric against loops, and against targets that depend on known directions."""

import numpy as np
import pytest
import torch

from sk_deltauq._methods import metric as metric_module
from sk_deltauq._methods.metric import Metric, _Candidates, _measure_unit, learn_metric
from sk_deltauq._methods.pool import PoolRows

M, D = 2, 3


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def make_rows(n=400, d=4, seed=0, target=None, groups=None):
    x = draws(n, d, seed=seed)
    y = target(x)[:, None]
    return PoolRows(x, (y - y.mean()) / y.std(), torch.ones(n), groups)


def learn(rows, is_trained=None, seed=0):
    if is_trained is None:
        is_trained = torch.ones((M, len(rows.x)), dtype=torch.bool)
    return learn_metric(rows, is_trained, torch.Generator().manual_seed(seed))


def make_metric(n_scales=1, n_directions=1, unit=None):
    unit = torch.tensor([0.5, 1.0, 2.0]) if unit is None else unit
    scales, directions = draws(M, n_scales, D, seed=1), draws(M, n_directions, D, D, seed=2)
    return Metric(unit, scales, directions)


# Distances


@pytest.mark.parametrize(("n_scales", "n_directions"), [(1, 1), (2, 0), (0, 2)])
def test_distances_are_sums_of_squares(n_scales, n_directions):
    metric = make_metric(n_scales, n_directions)
    x, values = draws(M, 4, D, seed=3), draws(M, 4, 5, D + 2, seed=4)
    found = metric.measure(x, values)
    assert found.shape == (M, 4, 2, 5)
    for m in range(M):
        heads = [torch.diag(s) for s in metric.scales[m]] + list(metric.directions[m])
        for s in range(4):
            for k in range(5):
                gap = x[m, s] - values[m, s, k, :D]
                expected = torch.stack([(gap @ head).square().sum() for head in heads])
                torch.testing.assert_close(found[m, s, :, k], expected)


@pytest.mark.parametrize(("n_scales", "n_directions"), [(1, 1), (2, 0)])
def test_the_search_space_has_the_mean_of_all_metrics(n_scales, n_directions):
    metric = make_metric(n_scales, n_directions)
    space = metric.find_search_space()
    space = torch.diag(space) if space.ndim == 1 else space
    products = []
    for m in range(M):
        for head in [torch.diag(s) for s in metric.scales[m]] + list(metric.directions[m]):
            product = (head @ head.T).double()
            products.append(product / product.trace())
    expected = torch.stack(products).mean(dim=0) / torch.outer(metric.unit, metric.unit)
    expected = expected * D / expected.trace()
    torch.testing.assert_close(space @ space.T, expected)
    np.testing.assert_allclose(metric.measure_effects(), expected.diagonal())


def test_the_unit_is_the_typical_difference_between_neighbours():
    x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [12.0, 0.0]])
    rows = PoolRows(x, torch.zeros(4, 1), torch.ones(4), None)
    # Four rows have two neighbours each.
    gaps = np.array([1, 10, 1, 9, 2, 9, 2, 11])
    expected = float(np.sqrt(np.mean(gaps**2)))
    found = _measure_unit(rows, torch.arange(4))
    torch.testing.assert_close(found, torch.tensor([expected + 0.03, 0.03]))


# What is learnt


def test_a_feature_without_effect_does_not_make_rows_strangers():
    metric = learn(make_rows(target=lambda x: (2 * x[:, 1]).sin()))
    assert metric.scales.shape == (M, 1, 4)
    shares = (metric.scales / metric.unit).square()
    shares = shares / shares.sum(dim=2, keepdim=True)
    assert (shares[..., 1] > 0.8).all()


def test_directions_are_found():
    """The target depends on one direction, which no scale of a feature can express."""
    way = torch.tensor([1.0, -1.0, 1.0, 0.0]) / 3**0.5
    metric = learn(make_rows(800, target=lambda x: (2 * x @ way).sin()))
    assert metric.directions.shape == (M, 1, 4, 4)
    maps = metric.directions[:, 0] / metric.unit[:, None]
    products = maps @ maps.transpose(1, 2)
    along = way @ products @ way
    assert (along / products.diagonal(dim1=1, dim2=2).sum(dim=1) > 0.8).all()


def test_a_learnt_metric_predicts_new_rows_better_than_the_first_one():
    def target(x):
        return (2 * x[:, 0]).sin() + (2 * (x[:, 1] - x[:, 2])).cos()

    rows, new = make_rows(600, target=target), make_rows(200, seed=1, target=target)
    metric, index = learn(rows), torch.arange(len(rows.distinct.x))
    start = Metric(metric.unit, torch.full((M, 2, 4), 0.5), metric.directions[:, :0])
    everyone = torch.ones((M, 600), dtype=torch.bool)
    errors = []
    for each in (start, metric):
        pool = _Candidates.find(rows, everyone, each, index).pool
        near, _ = pool.find(new.x, by_index=False)
        x = (new.x / each.unit).expand(M, -1, -1)
        values = torch.stack([pool.values[m, near[m]] for m in range(M)])
        weights = each.measure(x, values).neg().softmax(dim=3)
        means = (weights.unsqueeze(3) @ values[..., None, :, 4:5]).mean(dim=2).squeeze()
        errors.append(float((means - new.y[:, 0]).square().mean()))
    assert errors[1] < 0.6 * errors[0]


def test_many_features_have_scales_only(monkeypatch):
    monkeypatch.setattr(metric_module, "_MOST_FEATURES", 3)
    metric = learn(make_rows(100, target=lambda x: x[:, 0]))
    assert metric.scales.shape == (M, 2, 4)
    assert metric.directions.shape == (M, 0, 4, 4)
    torch.testing.assert_close(metric.scales[:, 1], 2.7 * metric.scales[:, 0])
    assert metric.find_search_space().shape == (4,)


def test_a_member_learns_from_its_own_rows():
    """Held-out targets change nothing while neighbours are searched in the common start metric."""
    rows = make_rows(target=lambda x: x[:, 0] ** 2)
    is_trained = torch.arange(400) % torch.tensor([[4], [5]]) != 0
    before = learn(rows, is_trained)
    held_out = ~is_trained[0]
    changed = PoolRows(rows.x, torch.where(held_out[:, None], 50.0, rows.y), rows.weights, None)
    after = learn(changed, is_trained)
    assert torch.equal(after.scales[0], before.scales[0])
    assert not torch.equal(after.scales[1], before.scales[1])


def test_targets_of_the_same_group_do_not_help():
    """Within a group targets are equal, and groups say nothing about each other."""
    groups = torch.arange(400) // 4
    x = draws(100, 4)[groups] + 0.01 * draws(400, 4, seed=1)
    y = draws(100, 1, seed=2)[groups]
    everyone = torch.ones((M, 400), dtype=torch.bool)
    index = torch.arange(400)
    counted = []
    for by_group in (None, groups.float()):
        rows = PoolRows(x, y, torch.ones(400), by_group)
        found = _Candidates.find(rows, everyone, learn(rows), index)
        own = groups[_number_of(rows, x)]
        same = own[found.near[0]] == own[index][:, None]
        counted.append(int((same & found.counts[0]).sum()))
    assert counted[0] > 800
    assert counted[1] == 0


def _number_of(rows, x):
    """Row of `x` for each distinct row."""
    places = torch.empty(len(rows.distinct.x), dtype=torch.int64)
    places[rows.distinct.inverse] = torch.arange(len(x))
    return places


def test_weights_count_like_copies():
    """Two members: one row with weight 3 is as three rows, in what the steps see."""
    rows = make_rows(60, d=D, target=lambda x: x[:, 0])
    copies = torch.cat([torch.arange(60), torch.zeros(2, dtype=torch.int64)])
    more = PoolRows(rows.x[copies], rows.y[copies], torch.ones(62), None)
    weights = torch.ones(60)
    weights[0] = 3
    weighted = PoolRows(rows.x, rows.y, weights, None)
    metric, index = make_metric(), torch.arange(60)
    found = [
        _Candidates.find(part, torch.ones((M, len(part.x)), dtype=torch.bool), metric, index)
        for part in (weighted, more)
    ]
    torch.testing.assert_close(found[0].weights, found[1].weights)
    torch.testing.assert_close(found[0].pool.values, found[1].pool.values)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows(n):
    rows = PoolRows(draws(n, D), draws(n, 1, seed=1), torch.ones(n), None)
    is_trained = torch.zeros((M, n), dtype=torch.bool)
    is_trained[0] = True
    metric = learn(rows, is_trained)
    for part in (metric.unit, metric.scales, metric.directions):
        assert torch.isfinite(part).all()


def test_the_error_is_the_mean_over_the_neighbours_that_take_part():
    rows = make_rows(30, d=D, target=lambda x: x[:, 0])
    metric = make_metric()
    found = _Candidates.find(rows, torch.ones((M, 30), dtype=torch.bool), metric, torch.arange(30))
    chosen = torch.tensor([[3, 8], [4, 11]])
    n_candidates = found.near.shape[2]
    is_drawn = draws(M, 2, n_candidates, seed=5) > 0
    is_drawn[..., 0] = True
    error = found._measure_error(
        metric.scales[:, 0], metric_module._measure_by_scales, chosen, is_drawn
    )
    expected = 0.0
    for m in range(M):
        for s in range(2):
            total = weight = 0.0
            for k in range(n_candidates):
                if is_drawn[m, s, k] and found.counts[m, chosen[m, s], k]:
                    row = found.near[m, chosen[m, s], k]
                    gap = found.x[chosen[m, s]] - found.pool.values[m, row, :D]
                    w = float(torch.exp(-((gap * metric.scales[m, 0]) ** 2).sum()))
                    total, weight = total + w * float(found.pool.values[m, row, D]), weight + w
            expected += (total / weight - float(found.y[m, chosen[m, s], 0])) ** 2 / 2
    np.testing.assert_allclose(float(error), expected, rtol=1e-4)
