"""A small net with its batches, for tests of the training loop."""

import numpy as np
import torch
from skorch.callbacks import Callback

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._networks.mlp import MLP, PlainNetwork
from sk_deltauq._training.net import (
    make_net,
)
from tests._helpers import make_settings, make_spec, make_training_rows

SIZES = [16, 12]


def make_parts(n_members=2, embedding="periodic"):
    network = PlainNetwork(MLP(make_spec(2, 1, list(range(n_members)), embedding=embedding)))
    return network, GaussianHead(1, noise="homoscedastic", nll_beta=0.5, n_members=n_members)


def make_rows(n_members=2):
    x, train = torch.zeros(28, 2), torch.zeros(n_members, 28)
    return make_training_rows(x=x, y=x[:, :1], weights=x[:, 0], train=train, generators=[])


def make_batches(n_members=2):
    rng = np.random.default_rng(0)
    batches = []
    for size in SIZES:
        x = torch.from_numpy(rng.normal(size=(n_members, 2, size))).float()
        weights = torch.from_numpy(rng.uniform(0.5, 1.5, size=(n_members, size))).float()
        batches.append(((x,), (x[:, :1] * 3 + 1, weights)))
    return batches


def step(network, head, batch):
    (x,), target = batch
    outputs = network(x)
    return head.backpropagate(outputs, target), outputs


def train(net, n_epochs=5, n_members=2, **params):
    batches = make_batches(n_members)
    return net.train(make_rows(n_members), batches=batches, step=step, n_epochs=n_epochs, **params)


def make(n_members=2, batch_size=16, **settings):
    return make_net(
        *make_parts(n_members), make_settings(**{"alpha": 0.0, **settings}), batch_size
    )


def all_weights(module_and_head):
    return [p.detach().clone() for module in module_and_head for p in module.parameters()]


def assert_close(found, expected):
    for one, two in zip(found, expected, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


class Note(Callback):
    """Record the arguments of each event of skorch."""

    def __init__(self):
        self.events = []

    def on_train_begin(self, net, X=None, y=None, **kwargs):
        self.events.append(("train begins", len(X), y))

    def on_train_end(self, net, X=None, y=None, **kwargs):
        self.events.append(("train ends", len(X), y))

    def on_epoch_begin(self, net, dataset_train=None, **kwargs):
        self.events.append(("epoch begins", len(dataset_train)))

    def on_epoch_end(self, net, dataset_train=None, **kwargs):
        # The history keeps the batches of the current epoch only.
        self.events.append(("epoch ends", len(dataset_train), len(net.history[-1, "batches"])))
        if len(net.history) > 1:
            assert net.history[-2]["batches"] == []

    def on_batch_end(self, net, batch=None, training=False, loss=None, y_pred=None, **kwargs):
        assert net.module_.training
        assert net.criterion_.training
        self.events.append(("batch ends", tuple(y_pred.shape), training, loss.item()))
