"""Data and networks for the tests of neighbours as anchors."""

from dataclasses import replace

import numpy as np
import torch

from sk_deltauq._methods.neighbours import NearestAnchors
from sk_deltauq._training.method import DrawContext
from sk_deltauq._validation import FitData
from tests._helpers import make_settings, make_spec, make_training_rows

M, D, N = 2, 3, 40

# Member m holds out every fourth row, from row m on.
SPLIT = [[i for i in range(N) if i % 4 != m] for m in range(M)]


def make_data(n=N, seed=0, groups=None):
    rng = np.random.default_rng(seed)
    x = torch.from_numpy(rng.normal(size=(n, D)).astype(np.float32))
    y = torch.from_numpy(rng.normal(size=(n, 1)).astype(np.float32))
    return FitData(x.numpy().astype(float), x, y, torch.ones(n), None, groups)


def take_rows(data, train=None, held_out=None):
    """Rows of M members; without `train` each member trains on all of them."""
    if train is None:
        train = [list(range(len(data.x)))] * M
    return make_training_rows(
        x=data.x,
        y=data.y,
        weights=data.weights,
        train=torch.tensor(train),
        held_out=held_out,
        generators=[torch.Generator().manual_seed(m) for m in range(len(train))],
    )


def make_context(data, *, rows=None, call=0, previous=None, earlier=None):
    rows = take_rows(data) if rows is None else rows
    return DrawContext(data, rows, 3, call, make_settings(), previous, earlier)


def make_network(data, n_anchors=4, n_neighbors=6, module=None, **changes):
    method = NearestAnchors(n_anchors, n_neighbors, module=module)
    spec = make_spec(D, 2 * data.y.shape[1], range(M), **changes)
    network = method.network(replace(spec, n_targets=data.y.shape[1]))
    return method, network, method.draw(network, make_context(data))
