"""The moving average of the weights, and the weights at the end of a fit."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from sk_deltauq import DeltaUQRegressor
from sk_deltauq._training.net import WeightAverage
from sk_deltauq.baselines import MCDropoutRegressor
from tests._helpers import member_weights


class Module(nn.Module):
    """Two members, with a float and a counter each."""

    def __init__(self):
        super().__init__()
        self.register_buffer("floats", torch.zeros(2, 3))
        self.register_buffer("counts", torch.zeros(2, dtype=torch.int64))


class Net:
    """The part of a net that an average uses."""

    def __init__(self, module):
        self.module_, self.criterion_ = SimpleNamespace(core=module), nn.Module()
        self.criterion_.noise = nn.Parameter(torch.zeros(2))


def run(values, n_epochs):
    """Return the average after each epoch."""
    net, averages = Net(Module()), []
    floats, counts, noise = (
        net.module_.core.floats,
        net.module_.core.counts,
        net.criterion_.noise.detach(),
    )
    average = WeightAverage(net, n_epochs)
    for epoch, value in enumerate(values):
        floats[:] = torch.as_tensor(value)
        noise[:] = floats[:, 0]
        counts[:] = epoch
        average.update()
        with average.in_place():
            averages.append(floats.numpy().copy())
            torch.testing.assert_close(noise, floats[:, 0], msg="the head is averaged too")
            assert counts.tolist() == [epoch, epoch], "a counter has no mean"
        np.testing.assert_array_equal(floats, value)
        np.testing.assert_array_equal(noise, value[:, 0])
    return averages


def test_average_equals_the_weighted_mean_of_the_definition():
    values = np.random.default_rng(0).normal(size=(12, 2, 3)).astype(np.float32)
    averages = run(values, n_epochs=4)
    for epoch in range(12):
        if epoch < 4:
            shares = np.full(epoch + 1, 1 / (epoch + 1))  # a plain mean so far
        else:  # a plain mean of four; then each epoch multiplies all older shares by 3/4
            later = 0.25 * 0.75 ** np.arange(epoch - 4, -1, -1)
            shares = np.r_[np.full(4, 0.25 * 0.75 ** (epoch - 3)), later]
        assert shares.sum() == pytest.approx(1)
        expected = np.tensordot(shares, values[: epoch + 1].astype(float), 1)
        np.testing.assert_allclose(averages[epoch], expected, rtol=1e-5, atol=1e-6)


def test_error_in_the_context_restores_the_weights():
    net = Net(Module())
    average = WeightAverage(net, 2)
    net.module_.core.floats[:] = 1

    def interrupted():
        with average.in_place():
            assert not net.module_.core.floats.any()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert (net.module_.core.floats == 1).all()


def tied(n_in, n_out):
    """Two layers that share one weight."""
    first, second = nn.Linear(n_in, n_in), nn.Linear(n_in, n_in)
    second.weight = first.weight
    return nn.Sequential(first, nn.Tanh(), second, nn.Tanh(), nn.Linear(n_in, n_out))


def test_tied_weights_are_averaged_and_restored_once():
    net = Net(tied(3, 2))
    layers = [net.module_.core[i] for i in (0, 2, 4)]
    average, values = WeightAverage(net, 5), []
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        for layer in layers:
            layer.weight.data.normal_(generator=generator)
        values.append([layer.weight.detach().clone() for layer in layers])
        average.update()
        with average.in_place():
            for layer, *of_epochs in zip(layers, *values, strict=True):
                torch.testing.assert_close(layer.weight.detach(), torch.stack(of_epochs).mean(0))
        for layer, last in zip(layers, values[-1], strict=True):
            assert torch.equal(layer.weight, last)
    assert torch.equal(values[-1][0], values[-1][1]), "the two layers share one weight"


def test_buffer_that_views_part_of_a_parameter_does_not_replace_it():
    module = nn.Module()
    module.weight = nn.Parameter(torch.zeros(4))
    module.register_buffer("head", module.weight.detach()[:2])
    net = Net(module)
    average = WeightAverage(net, 5)
    for value in (1.0, 3.0):
        module.weight.data.fill_(value)
        average.update()
    with average.in_place():
        assert module.weight.tolist() == [2.0] * 4
    assert module.weight.tolist() == [3.0] * 4


def test_masks_of_a_network_are_not_averaged(regression_data):
    """Masks are constant and larger than the weights, so each copy would take time."""
    net = MCDropoutRegressor((4,), max_iter=2, random_state=0).fit(*regression_data).net_
    net.module_.masks.fill_(7.0)
    average = WeightAverage(net, 3)
    average.update()
    net.module_.masks.fill_(9.0)
    with average.in_place():
        assert (net.module_.masks == 9).all()


def test_averaging_does_not_change_the_training_of_tied_weights(regression_data):
    """The average serves the held-out rows; the next epoch starts from the last weights."""
    params = {"module": tied, "max_iter": 6, "n_iter_no_change": 6, "random_state": 0}
    one, averaged = (
        DeltaUQRegressor(averaging=n, early_stopping=True, **params).fit(*regression_data)
        for n in (1, 3)
    )
    assert one.n_iter_ == averaged.n_iter_ == 6
    assert one.loss_curve_ == averaged.loss_curve_
    assert (one.validation_scores_[1:] != averaged.validation_scores_[1:]).all()


@pytest.mark.parametrize("module", [None, tied])
def test_fit_without_early_stopping_ends_with_the_mean_of_its_epochs(regression_data, module):
    """Without early stopping, and over no more epochs than are averaged: the plain mean."""
    X, y = regression_data
    params = {"module": module, "early_stopping": False, "tol": 0.0, "random_state": 0}
    snapshots = [
        DeltaUQRegressor((4,), averaging=1, max_iter=n, **params).fit(X, y).net_ for n in (1, 2, 3)
    ]
    averaged = DeltaUQRegressor((4,), averaging=5, max_iter=3, **params).fit(X, y).net_
    for mean, *values in zip(
        member_weights(averaged, 0), *(member_weights(net, 0) for net in snapshots), strict=True
    ):
        torch.testing.assert_close(mean, torch.stack(values).mean(0))


def test_buffers_of_a_user_module_are_averaged(regression_data):
    X, y = regression_data

    def module(n_in, n_out):
        return nn.Sequential(nn.Linear(n_in, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, n_out))

    params = {"module": module, "early_stopping": False, "tol": 0.0, "random_state": 0}
    runs = [DeltaUQRegressor(averaging=1, max_iter=n, **params).fit(X, y) for n in (1, 2)]
    averaged = DeltaUQRegressor(averaging=2, max_iter=2, **params).fit(X, y)
    norms = [model.net_.module_.core.members[0][1] for model in (*runs, averaged)]
    expected = (norms[0].running_mean + norms[1].running_mean) / 2
    torch.testing.assert_close(norms[2].running_mean, expected)
    assert norms[2].num_batches_tracked == norms[1].num_batches_tracked
