import numpy as np
import pytest
import torch

from sk_deltauq._training.held_out import HeldOutMonitor, HoldOut, TrainingLossMonitor
from sk_deltauq._training.rows import TrainingRows


class History(dict):
    def record(self, key, value):
        self[key] = value

    def __getitem__(self, key):
        return super().__getitem__(key[1] if isinstance(key, tuple) else key)


class ScriptedNet:
    """A net whose members score what the script says; its one weight is the epoch number."""

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
    return TrainingRows(
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


def run(scores, **settings):
    net = ScriptedNet(scores)
    monitor = held_out_monitor(net.scores.shape[1], **settings)
    for _ in net.scores:
        net.next_epoch()
        if monitor(net):
            break
    monitor.restore(net)
    return net, monitor, net.epoch


def test_best_weights_come_back_and_training_stops_after_the_patience():
    net, monitor, last = run([[0.0], [1.0], [0.5], [0.7], [9.0]])
    assert last == 3, "two epochs without progress after epoch 1"
    assert net.weights.item() == 1
    assert monitor.best_scores == [1.0]
    assert monitor.summarise()["validation_scores_"].tolist() == [0.0, 1.0, 0.5, 0.7]
    assert monitor.summarise()["best_validation_score_"] == 1.0


def test_a_gain_below_tol_is_kept_but_does_not_count_as_progress():
    net, monitor, last = run([[0.0], [0.05], [0.09], [5.0]])
    assert last == 2
    assert net.weights.item() == 2
    assert monitor.best_scores == [0.09]


def test_members_stop_alone_and_what_comes_later_is_not_looked_at():
    scores = [[0.0, 0.0], [-1.0, 1.0], [-1.0, 2.0], [50.0, 3.0], [60.0, 0.0], [70.0, 0.0]]
    net, monitor, last = run(scores)
    assert last == 5
    assert net.weights.ravel().tolist() == [0, 3], "member 0 had stopped before its score of 50"
    assert monitor.best_scores.tolist() == [0.0, 3.0]


@pytest.mark.parametrize("member", [0, 1])
def test_each_member_ends_as_it_would_alone(member):
    scores = np.random.default_rng(3).normal(size=(30, 2)).cumsum(axis=0)
    stack, *_ = run(scores, patience=4)
    alone, *_ = run(scores[:, [member]], patience=4)
    assert stack.weights[member] == alone.weights[0]


def test_nan_scores_are_no_progress():
    net, monitor, last = run([[1.0], [np.nan], [np.nan], [2.0]])
    assert (last, net.weights.item(), monitor.best_scores.tolist()) == (2, 0, [1.0])


def test_held_out_rows_count_by_their_weights():
    weights = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 3.0, 1.0])
    monitor = held_out_monitor(1, weights=weights)
    net = ScriptedNet([[0.0]])
    net.score = lambda raw, y: torch.tensor([[100.0, 100.0, 1.0, 5.0]])
    net.next_epoch()
    monitor(net)
    assert monitor.best_scores == [2.0]
    assert net.history["valid_loss"] == -2.0


def test_all_members_are_asked_about_the_rows_of_each():
    weights = torch.tensor([1.0, 1.0, 1.0, 1.0, 0.0, 0.5, 3.0, 1.0])
    hold_out, net = HoldOut(rows_of(2, weights=weights)), ScriptedNet([[0.0, 0.0]])
    net.components = lambda x, limit: x.unsqueeze(2)  # (member, feature, component, sample)
    asked = []

    def function(member, raw, y):
        asked.append((member, tuple(raw.shape), tuple(y.shape)))
        return torch.arange(4.0) + 10 * torch.tensor([[member], [member + 1]])

    values, found_weights = hold_out.ask_all_members(net, function)
    assert asked == [(0, (2, 1, 1, 4), (1, 4)), (1, (2, 1, 1, 4), (1, 4))]
    assert found_weights.tolist() == [0.0, 0.5, 3.0, 1.0] * 2
    expected = [[0, 1, 2, 3, 10, 11, 12, 13], [10, 11, 12, 13, 20, 21, 22, 23]]
    assert values.tolist() == expected


def test_training_loss_monitor_stops_after_patience_epochs_without_a_gain_of_tol():
    monitor = TrainingLossMonitor(patience=2, tol=0.1)
    net = ScriptedNet([[0.0]])
    stops = []
    for loss in [1.0, 0.5, 0.45, 0.44, 0.1]:
        net.history.record("train_loss", loss)
        stops.append(monitor(net))
    assert stops == [False, False, False, True, False]
