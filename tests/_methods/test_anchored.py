"""Anchored networks against the paper's input `[c, x - c]`, their batches, and the landmarks."""

import numpy as np
import pytest
import torch
from scipy.spatial.distance import cdist
from torch import nn

from sk_deltauq._methods.anchored import Anchored, DistanceInflation, Landmarks
from sk_deltauq._networks import mlp as mlp_module
from sk_deltauq._networks.mlp import ACTIVATIONS
from sk_deltauq._training.rows import Batches
from tests._helpers import make_spec, make_training_rows

M, D, P, N, K = 2, 3, 4, 5, 6  # members, features, outputs, samples, anchors
EXACT = {"rtol": 1e-10, "atol": 1e-12}


def draws(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


# Networks


def perceptron(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 6), nn.Tanh(), nn.Linear(6, n_out))


def network(module=None, members=range(M), **changes):
    return Anchored(K, module).network(make_spec(D, P, members, **changes)).double()


NETWORKS = {
    "mlp": network,
    "mlp without hidden layers": lambda: network(sizes=()),
    "mlp, sinusoidal": lambda: network(embedding="sinusoidal"),
    "mlp, periodic": lambda: network(embedding="periodic"),
    "modules": lambda: network(perceptron),
    "modules, periodic": lambda: network(perceptron, embedding="periodic"),
}


def pair_one_by_one(network, x, c):
    """Map all pairs, anchor by anchor: the second route of `components`."""
    pairs = [network(x, c[:, :, k : k + 1].expand(-1, -1, x.shape[2])) for k in range(c.shape[2])]
    return torch.stack(pairs, dim=2)  # (member, output, anchor, sample)


@pytest.mark.parametrize("no_gradient", [False, True])
@pytest.mark.parametrize("name", NETWORKS)
def test_components_are_a_loop_over_anchors(name, no_gradient):
    network, x, c = NETWORKS[name](), draws(D, N), draws(D, K, seed=1)
    expected = pair_one_by_one(network, x.expand(M, -1, -1), c.expand(M, -1, -1))
    assert expected.shape == (M, P, K, N)
    network.set_anchors(c.T)
    assert network.n_components == M * K
    with torch.inference_mode(no_gradient):
        found, few = network.components(x), network.components(x, limit=2)
    torch.testing.assert_close(found, expected, **EXACT)
    torch.testing.assert_close(few, expected[:, :, :2], **EXACT)


@pytest.mark.parametrize("name", NETWORKS)
def test_components_take_samples_of_each_member(name):
    network, x, c = NETWORKS[name](), draws(M, D, N), draws(D, K, seed=1)
    expected = pair_one_by_one(network, x, c.expand(M, -1, -1))
    network.set_anchors(c.T)
    torch.testing.assert_close(network.components(x), expected, **EXACT)


@pytest.mark.parametrize("sizes", [(), (8,)])
def test_anchors_in_several_parts_are_all_anchors_at_once(sizes, monkeypatch):
    """The parts share memory without a gradient, but not if they are the result."""
    net, x = network(sizes=sizes), draws(D, N)
    net.set_anchors(draws(K, D, seed=1))
    with torch.inference_mode():
        expected = net.components(x)
        monkeypatch.setattr(mlp_module, "_CACHE_FLOATS", 2 * M * net.core.widths[0] * N)
        torch.testing.assert_close(net.components(x), expected, **EXACT)


@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_a_perceptron_is_the_papers_network_on_the_concatenated_input(activation):
    reference_activation = {
        "relu": nn.ReLU(),
        "tanh": nn.Tanh(),
        "logistic": nn.Sigmoid(),
        "silu": nn.SiLU(),
        "gelu": nn.GELU(),
        "identity": nn.Identity(),
    }[activation]
    net, x, c = network(activation=activation), draws(M, D, N), draws(M, D, N, seed=1)
    out = net(x, c)
    first = net.core.first
    for m in range(M):
        h = torch.cat([c[m], x[m] - c[m]]).T  # rows [c, x - c], eq. (6)
        weights = torch.cat([first.weight[m] + first.anchor_weight[m], first.weight[m]], dim=1)
        h = h @ weights.T + first.bias[m, :, 0]
        for layer in net.core.rest:
            h = reference_activation(h) @ layer.weight[m].T + layer.bias[m, :, 0]
        torch.testing.assert_close(out[m].T, h, **EXACT)


def test_a_users_module_gets_the_papers_input():
    net, x, c = network(nn.Linear), draws(M, D, N), draws(M, D, N, seed=1)
    for m, module in enumerate(net.core.members):
        expected = module(torch.cat([c[m], x[m] - c[m]]).T).T
        torch.testing.assert_close(net(x, c)[m], expected, **EXACT)


def test_gradients_reach_the_rows():
    net = network()
    net.set_anchors(draws(K, D, seed=1))
    assert torch.autograd.gradcheck(net.components, draws(D, N).requires_grad_())


@pytest.mark.parametrize("module", [None, perceptron])
def test_a_member_starts_the_same_alone_and_in_a_stack(module):
    stack = network(module).core
    for m in range(M):
        alone = network(module, [m]).core
        pairs = zip(stack.member_tensors(m), alone.member_tensors(0), strict=True)
        assert all(torch.equal(in_stack, own) for in_stack, own in pairs)


# Batches


def training_rows():
    number = torch.arange(23.0)
    return make_training_rows(
        x=number[:, None],
        y=-number[:, None],
        weights=torch.ones(23),
        train=torch.stack([torch.arange(18), torch.arange(5, 23)]),
        held_out=torch.stack([torch.arange(18, 23), torch.arange(5)]),
        generators=[torch.Generator().manual_seed(member) for member in range(2)],
    )


def test_each_sample_is_paired_with_a_training_row_of_its_member():
    batches = list(Anchored(5).batches(network(), training_rows(), 5))
    x, c = (torch.cat([inputs[i] for inputs, _ in batches], dim=2) for i in range(2))
    for member, train in enumerate(training_rows().train):
        for found in (x, c):
            assert found[member, 0].sort().values.equal(train.float())
        assert (x[member] != c[member]).sum() > 10
    plain = list(Batches(training_rows(), 5))
    for (inputs, (y, weights)), ((alone,), (plain_y, plain_weights)) in zip(
        batches, plain, strict=True
    ):
        assert inputs[0].equal(alone), "the anchors leave the order of the rows alone"
        assert y.equal(plain_y)
        assert weights.equal(plain_weights)


# Landmarks


def rows(n_rows, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((n_rows, n_features)).astype(np.float32))


def pick(x, seed=0, earlier=None):
    return Landmarks.pick(x, np.random.default_rng(seed), earlier)


def excess(landmarks, x):
    """The distance beyond the reach, from the factor of the standard deviation."""
    factor = DistanceInflation(landmarks, 1.0)(x)
    torch.testing.assert_close(DistanceInflation(landmarks, 0.5)(x), 1 + 0.5 * (factor - 1))
    return factor - 1


def test_landmarks_are_training_rows_that_are_spread_over_all_rows():
    x = rows(2000)
    landmarks = pick(x)
    assert landmarks.rows.shape == (64, 3)
    assert (cdist(landmarks.rows, x).min(axis=1) == 0).all()
    # The farthest row is nearer to a landmark than to one of as many random rows.
    random_rows = x[:64].numpy()
    assert cdist(x, landmarks.rows).min(axis=1).max() < cdist(x, random_rows).min(axis=1).max()


@pytest.mark.parametrize("n_rows", [300, 6000])
def test_90_percent_of_the_rows_are_inside(n_rows):
    x = rows(n_rows)
    outside = excess(pick(x), x).numpy()
    assert np.mean(outside == 0) == pytest.approx(0.9, abs=0.02)


def test_excess_is_the_distance_beyond_the_reach():
    landmarks, new = pick(rows(500)), 3 * rows(40, seed=1)
    nearest = cdist(new, landmarks.rows).min(axis=1)
    expected = np.maximum(0, nearest - landmarks.reach) / (landmarks.reach + 0.5)
    assert (expected > 0).any()
    np.testing.assert_allclose(excess(landmarks, new), expected, rtol=1e-4, atol=1e-4)


def test_a_row_between_a_few_values_is_inside():
    """All values are landmarks, so training rows have no distance; half-way between is inside."""
    x = torch.arange(10.0).repeat(30)[:, None]
    landmarks = pick(x)
    assert landmarks.reach == 0.5
    found = excess(landmarks, torch.tensor([[4.5], [9.5], [11.0]]))
    np.testing.assert_allclose(found, [0, 0, 1.5], atol=1e-3)


@pytest.mark.parametrize("n_rows", [1, 5])
def test_equal_rows_have_one_landmark(n_rows):
    landmarks = pick(torch.ones(n_rows, 2))
    assert landmarks.reach < 1e-5
    found = excess(landmarks, torch.tensor([[1.0, 1.0], [1.0, 3.0]]))
    np.testing.assert_allclose(found, [0, 4], atol=1e-4)


def test_far_rows_stay_finite():
    found = excess(pick(rows(100)), torch.full((1, 3), 1e6))
    assert torch.isfinite(found).all()
    assert found > 1e5


def test_landmarks_of_earlier_rows_stay_candidates():
    first = pick(rows(300))
    later = pick(rows(300, seed=1) + 10, seed=1, earlier=first)
    assert later.reach >= first.reach
    inside_both = torch.tensor([[0.0, 0.0, 0.0], [10.0, 10.0, 10.0]])
    assert (excess(later, inside_both) == 0).all()
    assert (excess(first, inside_both) > 0).tolist() == [False, True]


def test_the_reach_does_not_shrink_with_later_rows():
    """Dense rows alone have a small reach; the reach of earlier rows still counts."""
    dense = 0.01 * rows(300)
    assert pick(dense).reach < 1
    earlier = Landmarks(dense[:1].numpy(), reach=7.0)
    assert pick(dense, earlier=earlier).reach == 7.0


def test_the_factor_grows_with_the_distance_from_the_rows():
    landmarks = pick(rows(300))
    x = torch.tensor([landmarks.rows[0].tolist(), [5.0, 5.0, 5.0]], requires_grad=True)
    DistanceInflation(landmarks, 0.7)(x).sum().backward()
    assert (x.grad[0] == 0).all()
    assert (x.grad[1] > 0).all()
