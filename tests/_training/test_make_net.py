"""New and continued nets: settings, `net_params` and the optimizer."""

import pytest
import torch
from skorch.callbacks import Callback, LRScheduler

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training.net import (
    StackedNet,
    make_net,
)
from tests._helpers import make_settings
from tests._training.net_parts import (
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


def test_new_net_has_the_settings():
    settings = make_settings(learning_rate_init=0.125, max_iter=7, alpha=0.0)
    network, head = make_parts()
    net = make_net(network, head, settings, 9)
    assert isinstance(net, StackedNet)
    assert net.module_ is network
    assert net.criterion_ is head
    assert net.train_split is None
    assert (net.lr, net.max_epochs, net.batch_size) == (0.125, 7, 9)
    assert (net.device, net.verbose, net.callbacks_) == ("cpu", 0, [])
    assert type(net.optimizer_) is torch.optim.Adam
    assert net.optimizer_.defaults["fused"] is True
    assert net.optimizer_.defaults["weight_decay"] == 0


def test_net_params_override_the_defaults_and_are_copied():
    note = Note()
    params = {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.5, "callbacks": [note]}
    net = make(alpha=0.0, net_params=params)
    assert type(net.optimizer_) is torch.optim.SGD
    assert net.optimizer_.defaults["momentum"] == 0.5
    train(net, 1)
    assert note.events == []
    assert len(net.callbacks_[0][1].events) == 6
    assert make(net_params={"optimizer__eps": 0.5}).optimizer_.defaults["eps"] == 0.5


@pytest.mark.parametrize(
    "name",
    [
        *("module", "criterion", "device", "batch_size", "verbose", "max_epochs", "warm_start"),
        *("iterator_train", "train_split", "iterator_train__shuffle", "lr", "optimizer__lr"),
    ],
)
def test_net_params_reject_names_of_other_parameters(name):
    with pytest.raises(ValueError, match=rf"must not hold {name}: '{name}' is set by"):
        make(net_params={"optimizer": torch.optim.SGD, name: 1})


def test_message_lists_all_rejected_names():
    with pytest.raises(ValueError, match=r"not hold device, module: 'device' is .* 'module' is"):
        make(net_params={"module": 1, "device": 1})


@pytest.mark.parametrize("callbacks", [None, [], (), "disable"])
def test_empty_callbacks_allow_inverse_scaling(callbacks):
    net = make(net_params={"callbacks": callbacks}, learning_rate="invscaling")
    assert net.callbacks_ == []


def test_schedule_of_the_user_needs_a_constant_step_size():
    schedule = LRScheduler("StepLR", step_size=1)
    for callbacks in ([schedule], [LRScheduler], [("name", schedule)], (Callback(), schedule)):
        with pytest.raises(ValueError, match="learning_rate='invscaling'"):
            make(net_params={"callbacks": callbacks}, learning_rate="invscaling")
        make(net_params={"callbacks": list(callbacks)}, learning_rate="constant")
    make(net_params={"callbacks": [("name", Callback())]}, learning_rate="invscaling")


def test_error_of_skorch_names_the_parameters():
    with pytest.raises(ValueError, match=r"refuses net_params=.*nonsense.* alpha=0\.01") as caught:
        make(alpha=0.01, net_params={"optimizer__nonsense": 1})
    assert caught.value.__cause__ is not None


def go_on(net, head=None, batch_size=5, *, partial=True, **settings):
    settings = make_settings(**{"alpha": 0.0, "partial": partial, **settings})
    return make_net(net.module_, head or net.criterion_, settings, batch_size, previous=net)


def new_head():
    return GaussianHead(1, noise="homoscedastic", nll_beta=0.9, n_members=2)


def test_continued_training_takes_new_settings():
    net = make()
    train(net, 2)
    weights = all_weights([net.module_, net.criterion_])
    optimizer = net.optimizer_
    assert go_on(net, new_head(), learning_rate_init=0.25) is net
    assert net.optimizer_ is optimizer
    assert net.criterion_.nll_beta == 0.9
    assert net.batch_size == 5
    assert net.lr == 0.25
    assert {group["lr"] for group in net.optimizer_.param_groups} == {0.25}
    assert_close(all_weights([net.module_, net.criterion_]), weights)


def test_fit_continues_from_the_weights_with_a_new_optimizer():
    net, head = make(), new_head()
    train(net, 2)
    weights = all_weights([net.module_, net.criterion_])
    other = go_on(net, head, partial=False)
    assert other is not net
    assert other.criterion_ is head
    assert other.criterion_.nll_beta == 0.9
    assert not other.optimizer_.state
    assert_close(all_weights([other.module_, other.criterion_]), weights)


def test_same_step_size_keeps_the_schedule_of_the_user():
    """A schedule has changed the optimizer; the same `learning_rate_init` does not undo it."""
    net = make()
    for group in net.optimizer_.param_groups:
        group["lr"] = 0.001
    go_on(net)
    assert {group["lr"] for group in net.optimizer_.param_groups} == {0.001}


def test_training_mode_is_set_before_each_step():
    net, modes = make(), []

    def note_mode(network, head, batch):
        modes.append((network.training, head.training))
        return step(network, head, batch)

    for network, head in [(False, True), (True, False), (True, True), (False, False)]:
        net.module_.train(network)
        net.criterion_.train(head)
        net.train(make_rows(), batches=make_batches(), step=note_mode, n_epochs=1)
    assert modes == [(True, True)] * 8
