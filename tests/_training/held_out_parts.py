"""Nets with known scores and their held-out rows, for tests of `held_out.py`."""

import numpy as np
import torch

from sk_deltauq._training.held_out import HeldOutMonitor, HoldOut
from tests._helpers import make_training_rows


class History(dict):
    def record(self, key, value):
        self[key] = value

    def __getitem__(self, key):
        return super().__getitem__(key[1] if isinstance(key, tuple) else key)


class ScriptedNet:
    """A net with given scores per epoch and member; its one weight is the epoch number."""

    width = 1

    def __init__(self, scores):
        self.scores, self.epoch = np.asarray(scores, dtype=float), -1
        self.weights = torch.zeros(self.scores.shape[1], 1)
        self.n_members = self.n_components = self.scores.shape[1]
        self.history = History()
        self.module_ = self.criterion_ = self.core = self

    def next_epoch(self):
        self.epoch += 1
        self.weights[:] = self.epoch

    def eval(self):
        return self

    def record_best(self, name):
        self.history.record(name + "_best", True)

    def parameters(self):
        return []

    def components(self, x, limit):
        return x

    def score(self, raw, y):
        return torch.as_tensor(self.scores[self.epoch])[:, None].expand(-1, y.shape[-1])

    def member_tensors(self, member):
        return [self.weights[member]]


def rows_of(n_members, weights=None, n=8):
    return make_training_rows(
        x=torch.zeros(n, 1),
        y=torch.zeros(n, 1),
        weights=torch.ones(n) if weights is None else weights,
        train=torch.arange(4).expand(n_members, -1),
        held_out=torch.arange(4, n).expand(n_members, -1),
        generators=[],
    )


def held_out_monitor(n_members, patience=2, tol=0.1, weights=None):
    rows = rows_of(n_members, weights)
    return HeldOutMonitor(HoldOut(rows), n_members, patience=patience, tol=tol)


class TableNet:
    """Raw outputs `(member, output, component)` that are linear in the first feature."""

    def __init__(self, head, n_members, n_components, seed=0):
        rng = np.random.default_rng(seed)
        shape = (n_members, head.n_network_outputs, n_components, 1)
        self.a, self.b = (torch.from_numpy(rng.normal(size=shape)).float() for _ in range(2))
        self.criterion_, self.n_members, self.width = head, n_members, 1
        self.n_components = n_members * n_components
        self.limits = []
        self.module_ = self.core = self

    def eval(self):
        return self

    def components(self, x, limit):
        assert x.shape[:2] == (self.n_members, 2), "(member, feature, sample)"
        self.limits.append(limit)
        return (self.a * x[:, :1, None] + self.b)[:, :, :limit]


def different_rows(n_members, n_targets=1):
    rng = np.random.default_rng(1)
    n, size = 30, 6
    return make_training_rows(
        x=torch.from_numpy(rng.normal(size=(n, 2))).float(),
        y=torch.from_numpy(rng.normal(size=(n, n_targets))).float(),
        weights=torch.from_numpy(rng.uniform(0.2, 2, size=n)).float(),
        train=torch.arange(n - size).expand(n_members, -1),
        held_out=torch.from_numpy(rng.permutation(n)[: size * n_members].reshape(n_members, -1)),
        generators=[],
    )
