import numpy as np
import pytest
import torch
from torch import nn

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._training.net import WeightAverage


class Net:
    """What an average needs of a net: two members, with a float and a counter each."""

    def __init__(self):
        self.floats, self.counts = torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64)
        self.module_ = self
        self.n_members = 2

    def member_tensors(self, member):
        return [self.floats[member], self.counts[member]]


def run(values, n_epochs):
    """The average after each epoch."""
    net, averages = Net(), []
    average = WeightAverage(net, n_epochs)
    for epoch, value in enumerate(values):
        net.floats[:] = torch.as_tensor(value)
        net.counts[:] = epoch
        average.update()
        with average.in_place():
            averages.append(net.floats.numpy().copy())
            assert net.counts.tolist() == [epoch, epoch], "a counter has no mean"
        np.testing.assert_array_equal(net.floats, value)
    return averages


def test_it_is_the_weighted_mean_of_the_definition():
    values = np.random.default_rng(0).normal(size=(12, 2, 3)).astype(np.float32)
    averages = run(values, n_epochs=4)
    for epoch in range(12):
        if epoch < 4:
            shares = np.full(epoch + 1, 1 / (epoch + 1))  # a plain mean so far
        else:  # the plain mean of four, then each older value counts 3/4 of before
            later = 0.25 * 0.75 ** np.arange(epoch - 4, -1, -1)
            shares = np.r_[np.full(4, 0.25 * 0.75 ** (epoch - 3)), later]
        assert shares.sum() == pytest.approx(1)
        expected = np.tensordot(shares, values[: epoch + 1].astype(float), 1)
        np.testing.assert_allclose(averages[epoch], expected, rtol=1e-5, atol=1e-6)


def test_an_error_in_the_context_puts_the_weights_back():
    net = Net()
    average = WeightAverage(net, 2)
    net.floats[:] = 1

    def interrupted():
        with average.in_place():
            assert not net.floats.any()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (net.floats == 1).all()


def test_a_fit_ends_with_the_mean_of_its_epochs(regression_data):
    """Without early stopping, and over no more epochs than are averaged: the plain mean."""
    X, y = regression_data
    params = {"early_stopping": False, "tol": 0.0, "random_state": 0}
    snapshots = [
        DeltaUQRegressor((4,), averaging=1, max_iter=n, **params).fit(X, y).net_ for n in (1, 2, 3)
    ]
    averaged = DeltaUQRegressor((4,), averaging=5, max_iter=3, **params).fit(X, y).net_
    for mean, *values in zip(
        averaged.member_tensors(0), *(net.member_tensors(0) for net in snapshots), strict=True
    ):
        torch.testing.assert_close(mean, torch.stack(values).mean(0))


def test_buffers_of_a_users_module_are_averaged_with_its_weights(regression_data):
    X, y = regression_data

    def module(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, n_out))

    params = {"module": module, "early_stopping": False, "tol": 0.0, "random_state": 0}
    runs = [DeltaUQRegressor(averaging=1, max_iter=n, **params).fit(X, y) for n in (1, 2)]
    averaged = DeltaUQRegressor(averaging=2, max_iter=2, **params).fit(X, y)
    means = [model.net_.module_.core.members[0][1].running_mean for model in runs]
    norm = averaged.net_.module_.core.members[0][1]
    torch.testing.assert_close(norm.running_mean, (means[0] + means[1]) / 2)
    assert norm.num_batches_tracked == runs[1].net_.module_.core.members[0][1].num_batches_tracked
