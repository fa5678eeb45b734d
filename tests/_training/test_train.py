"""The training loop of one net, against a plain PyTorch loop."""

import copy
import math
import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from skorch.callbacks import Callback, EarlyStopping

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._networks.mlp import PlainNetwork
from sk_deltauq._training.net import (
    WeightAverage,
    scale_step_size,
)
from tests._helpers import member_weights
from tests._training.net_parts import (
    SIZES,
    Note,
    all_weights,
    assert_close,
    make,
    make_batches,
    make_parts,
    make_rows,
    step,
    train,
)

pytestmark = pytest.mark.usefixtures("single_thread")


def plain_loop(n_epochs, *, alpha=0.0, decay=False):
    """Return the parameters and the mean loss per member after each epoch."""
    network, head = make_parts()
    named = [*network.named_parameters(), *head.named_parameters()]
    free = [p for n, p in named if n.endswith(("bias", "noise", "frequencies"))]
    rest = [p for n, p in named if not n.endswith(("bias", "noise", "frequencies"))]
    assert len(free) == 5
    assert len(rest) == 3
    groups = [{"params": free}, {"params": rest, "weight_decay": alpha / 16}]
    optimizer = torch.optim.Adam(groups, lr=0.05)
    weights, losses = [], []
    for epoch in range(n_epochs):
        for group in optimizer.param_groups:
            group["lr"] = 0.05 / math.sqrt(1 + epoch / 50) if decay else 0.05
        of_batches = []
        for (x,), target in make_batches():
            optimizer.zero_grad()
            loss = head(network(x), target)
            loss.backward()
            optimizer.step()
            of_batches.append(loss.item())
        weights.append(all_weights([network, head]))
        losses.append(np.mean(of_batches) / 2)
    return weights, losses


@pytest.mark.parametrize("alpha", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("decay", [False, True])
@pytest.mark.parametrize("callbacks", [[], [Callback()]])
def test_training_equals_the_plain_loop(alpha, decay, callbacks):
    net = make(alpha=alpha, net_params={"callbacks": callbacks})
    assert train(net, 6, decay=decay) is False
    weights, losses = plain_loop(6, alpha=alpha, decay=decay)
    assert_close(all_weights([net.module_, net.criterion_]), weights[-1])
    np.testing.assert_allclose(net.history[:, "train_loss"], losses, rtol=1e-5)
    lowest = [loss <= min(losses[: i + 1]) for i, loss in enumerate(losses)]
    assert net.history[:, "train_loss_best"] == lowest


def test_weight_penalty_changes_the_plain_loop():
    plain, penalised = (plain_loop(6, alpha=alpha)[0][-1] for alpha in (0.0, 3.0))
    assert not all(torch.allclose(a, b, rtol=1e-3) for a, b in zip(plain, penalised, strict=True))


def test_training_ends_with_the_average_of_the_last_weights():
    net = make()
    train(net, 5, averaged_epochs=2)
    weights, _ = plain_loop(5)
    mean = weights[0]
    for epoch, latest in enumerate(weights[1:], start=2):
        share = 1 / min(epoch, 2)
        mean = [(1 - share) * m + share * w for m, w in zip(mean, latest, strict=True)]
    assert_close(all_weights([net.module_, net.criterion_]), mean)


def test_average_over_one_epoch_equals_the_last_weights():
    net = make()
    train(net, 3, averaged_epochs=1)
    assert_close(all_weights([net.module_, net.criterion_]), plain_loop(3)[0][-1])


def test_average_keeps_counters_and_counts_shared_weights_once():
    """A user's module may hold integers, and one tensor under two names."""
    head = torch.nn.Linear(1, 1)
    network = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    network.append(network[0])
    net = SimpleNamespace(module_=SimpleNamespace(core=network), criterion_=head)
    average = WeightAverage(net, 3)
    values = np.random.default_rng(0).normal(size=6)
    expected = None
    for i, value in enumerate(values):
        for tensor in [*network.parameters(), *head.parameters(), network[1].running_mean]:
            tensor.data.fill_(float(value))
        network[1].num_batches_tracked.fill_(i)
        average.update()
        share = 1 / min(i + 1, 3)
        expected = value if expected is None else (1 - share) * expected + share * value
    with average.in_place():
        for tensor in [*network.parameters(), *head.parameters(), network[1].running_mean]:
            torch.testing.assert_close(tensor.detach(), torch.full_like(tensor, expected))
        assert network[1].num_batches_tracked == 5
    assert (network[0].weight == np.float32(values[-1])).all()


def test_monitor_gets_the_average_and_ends_training():
    net, seen = make(), []

    def monitor(of):
        assert of is net
        seen.append(all_weights([net.module_, net.criterion_]))
        return len(seen) == 3

    assert train(net, 10, averaged_epochs=20, monitor=monitor) is True
    weights, _ = plain_loop(3)
    assert len(seen) == len(net.history) == 3
    for epoch in range(3):
        means = [torch.stack(p).mean(0) for p in zip(*weights[: epoch + 1], strict=True)]
        assert_close(seen[epoch], means)
    assert_close(all_weights([net.module_, net.criterion_]), seen[-1])


def test_monitor_is_called_after_each_epoch():
    net, calls = make(), []
    assert train(net, 4, monitor=lambda net: bool(calls.append(len(net.history)))) is False
    assert calls == [1, 2, 3, 4]


def test_progress_bar_advances_by_one_per_epoch():
    class Bar:
        n, losses = 0, []

        def update(self, n=1):
            self.n += n

        def set_postfix(self, loss, refresh):
            self.losses.append(loss)

    bar, net = Bar(), make()
    train(net, 3, progress=bar)
    assert bar.n == 3
    assert bar.losses == [f"{loss:.4g}" for loss in net.history[:, "train_loss"]]


@pytest.mark.parametrize("decay", [False, True])
def test_continued_training_equals_one_call(decay):
    """The optimizer, the step size and the last weights continue."""
    net, whole = make(alpha=3.0), plain_loop(6, alpha=3.0, decay=decay)
    train(net, 4, decay=decay)
    assert {group["lr"] for group in net.optimizer_.param_groups} == {0.05}
    assert not any("initial_lr" in group for group in net.optimizer_.param_groups)
    train(net, 2, decay=decay)
    assert_close(all_weights([net.module_, net.criterion_]), whole[0][-1])
    np.testing.assert_allclose(net.history[:, "train_loss"], whole[1], rtol=1e-5)


def test_pickled_net_has_no_data():
    net = make()
    train(net, 2, averaged_epochs=2, decay=True, monitor=lambda net: False)
    assert not net.module_.training
    text = pickle.dumps(net)
    other = pickle.loads(text)
    for one, two in zip(
        all_weights([net.module_, net.criterion_]),
        all_weights([other.module_, other.criterion_]),
        strict=True,
    ):
        assert torch.equal(one, two)
    left = [net._batches, net._step, net._monitor, net._progress, net._schedule, net._average]
    assert left == [None] * 6
    assert net.module is PlainNetwork
    assert net.criterion is GaussianHead


def test_callbacks_get_every_event():
    note = Note()
    net = make(net_params={"callbacks": [("note", note)]})
    (_, note) = net.callbacks_[0]
    train(net, 2)
    losses = [event[-1] for event in note.events if event[0] == "batch ends"]
    batches = [("batch ends", (2, 1, size), True) for size in SIZES]
    epoch = [("epoch begins", 28), *batches, ("epoch ends", 28, 2)]
    found = [event[:3] for event in note.events]
    assert found == [("train begins", 28, None), *epoch, *epoch, ("train ends", 28, None)]
    means = np.reshape(losses, (2, 2)).mean(axis=1) / 2
    np.testing.assert_allclose(net.history[:, "train_loss"], means, rtol=1e-6)
    assert [record["batches"] for record in net.history] == [[], []]
    assert net.history[:, "epoch"] == [1, 2]


@pytest.mark.parametrize("average", [1, 5])
def test_error_in_training_restores_the_optimizer(average):
    net = make(alpha=3.0)

    def fail(net):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(net, 3, decay=True, averaged_epochs=average, monitor=fail)
    assert {group["lr"] for group in net.optimizer_.param_groups} == {0.05}
    assert net._batches is net._monitor is net._average is None


@pytest.mark.parametrize("loss", [math.nan, math.inf])
def test_loss_that_is_not_finite_raises(loss):
    net = make(learning_rate_init=0.125)

    def bad_step(network, head, batch):
        _, outputs = step(network, head, batch)
        return torch.tensor(loss), outputs

    with pytest.raises(ValueError, match=rf"is {loss} in epoch 1, with learning_rate_init=0.125"):
        net.train(make_rows(), batches=make_batches(), step=bad_step, n_epochs=3)


@pytest.mark.parametrize("first", [True, False])
def test_early_stopping_of_skorch_ends_training_after_all_callbacks(first):
    class Count(Callback):
        n = 0

        def on_epoch_end(self, net, **kwargs):
            self.n += 1

    stop = EarlyStopping(monitor="train_loss", patience=2, threshold=1e9, threshold_mode="abs")
    callbacks = [("stop", stop), ("count", Count())]
    net = make(net_params={"callbacks": callbacks if first else callbacks[::-1]})
    try:
        stopped = train(net, 10)
    except KeyboardInterrupt:  # it would end the whole test run
        pytest.fail("skorch's way to ask for the end reached the caller")
    assert stopped is True
    assert len(net.history) == 3
    assert dict(net.callbacks_)["count"].n == 3


@pytest.mark.parametrize("kept", [slice(1, None, 3), slice(0, 2), slice(2, None)])
@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.Adafactor])
def test_kept_members_continue_as_if_trained_separately(kept, optimizer):
    fused = {} if optimizer is torch.optim.Adafactor else {"optimizer__fused": True}
    net = make(6, alpha=3.0, net_params={"optimizer": optimizer, **fused})
    train(net, 3, n_members=6)
    twin = copy.deepcopy(net)
    members = list(range(6))[kept]
    net.keep_members(kept)
    assert net.module_.core.n_members == net.module_.n_components == len(members)
    for place, member in enumerate(members):
        assert_close(member_weights(net, place), member_weights(twin, member))
    state = net.optimizer_.state
    for p, old in zip(net.module_.parameters(), twin.module_.parameters(), strict=True):
        assert p.grad is None
        for name, value in twin.optimizer_.state[old].items():
            found = state[p][name]
            if value.ndim:
                torch.testing.assert_close(found, value[kept])
                assert found.is_contiguous()
            else:
                assert found == value
    if optimizer is torch.optim.Adafactor:
        return  # its step size depends on all members
    batches = make_batches(6)
    fewer = [((x[kept],), (y[kept], w[kept])) for (x,), (y, w) in batches]
    net.train(make_rows(len(members)), batches=fewer, step=step, n_epochs=2)
    train(twin, 2, n_members=6)
    for place, member in enumerate(members):
        assert_close(member_weights(net, place), member_weights(twin, member))


def test_members_of_an_untrained_net_can_be_kept():
    net = make(3)
    expected = member_weights(net, 2)
    net.keep_members(slice(2, 3))
    assert_close(member_weights(net, 0), expected)


def test_record_best_marks_the_lowest_value_so_far():
    net, found = make(), []
    for value in [2.0, 3.0, 2.0, 1.0]:
        net.history.new_epoch()
        net.history.record("loss", value)
        net.record_best("loss")
        found.append(net.history[-1, "loss_best"])
    assert found == [True, False, True, True]


@pytest.mark.parametrize("epoch", [0, 1, 50, 150])
def test_scale_step_size_is_an_inverse_root(epoch):
    assert scale_step_size(epoch) == pytest.approx(math.sqrt(50 / (50 + epoch)))
