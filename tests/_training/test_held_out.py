"""Held-out scores, and the monitors that end training."""

import numpy as np
import pytest
import torch
from skorch.history import History as SkorchHistory

from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._training import held_out as module
from sk_deltauq._training.held_out import (
    HeldOutMonitor,
    HoldOut,
    TrainingLossMonitor,
    make_monitor,
)
from sk_deltauq._training.rows import TrainingRows
from tests._helpers import make_settings, make_training_rows
from tests._training.held_out_parts import (
    ScriptedNet,
    TableNet,
    different_rows,
    held_out_monitor,
    rows_of,
)


def run(scores, **settings):
    net = ScriptedNet(scores)
    monitor = held_out_monitor(net.scores.shape[1], **settings)
    for _ in net.scores:
        net.next_epoch()
        if monitor(net):
            break
    monitor.restore(net)
    return net, monitor, net.epoch


def test_monitor_restores_the_best_weights_and_stops_after_the_patience():
    net, monitor, last = run([[0.0], [1.0], [0.5], [0.7], [9.0]])
    assert last == 3, "two epochs without progress after epoch 1"
    assert net.weights.item() == 1
    assert monitor.best_scores == [1.0]
    assert monitor.summarise()["validation_scores_"].tolist() == [0.0, 1.0, 0.5, 0.7]
    assert monitor.summarise()["best_validation_score_"] == 1.0


def test_gain_below_tol_is_kept_but_does_not_reset_the_patience():
    net, monitor, last = run([[0.0], [0.05], [0.09], [5.0]])
    assert last == 2
    assert net.weights.item() == 2
    assert monitor.best_scores == [0.09]


def test_stopped_member_ignores_later_epochs():
    scores = [[0.0, 0.0], [-1.0, 1.0], [-1.0, 2.0], [50.0, 3.0], [60.0, 0.0], [70.0, 0.0]]
    net, monitor, last = run(scores)
    assert last == 5
    assert net.weights.ravel().tolist() == [0, 3], "member 0 had stopped before its score of 50"
    assert monitor.best_scores.tolist() == [0.0, 3.0]


@pytest.mark.parametrize("member", [0, 1])
def test_each_member_ends_as_if_trained_separately(member):
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
    assert net.history["valid_loss_best"] is True


def test_ask_all_members_evaluates_the_rows_of_each_member():
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


def test_training_loss_monitor_stops_after_the_patience():
    monitor = TrainingLossMonitor(patience=2, tol=0.1)
    net = ScriptedNet([[0.0]])
    stops = []
    for loss in [1.0, 0.5, 0.45, 0.44, 0.1]:
        net.history.record("train_loss", loss)
        stops.append(monitor(net))
    assert stops == [False, False, False, True, False]


@pytest.mark.parametrize(
    ("n_train", "n_held_out", "expected"),
    [
        (10, 5, 8),  # never more than eight
        (10, 256, 8),
        (10, 257, 7),  # 2048 evaluations of the network
        (10, 683, 2),
        (10, 5000, 2),  # never fewer than two
        (20_480, 1024, 4),  # a fifth of the training rows
        (20_475, 1024, 3),
    ],
)
def test_score_limits_the_number_of_components(n_train, n_held_out, expected):
    rows = make_training_rows(
        x=torch.zeros(1, 2),
        y=torch.zeros(1, 1),
        weights=torch.ones(1),
        train=torch.zeros((1, n_train), dtype=torch.int64),
        held_out=torch.zeros((1, n_held_out), dtype=torch.int64),
        generators=[],
    )
    head = GaussianHead(1, noise=None, nll_beta=0, n_members=1)
    net = TableNet(head, n_members=1, n_components=20)
    hold_out = HoldOut(rows)
    hold_out.score(net)
    assert set(net.limits) == {expected}
    hold_out.ask_all_members(net, lambda member, raw, y: torch.zeros(y.shape[-1:]))
    assert net.limits[-1] is None, "calibration asks all components"


def test_score_is_the_weighted_mean_over_held_out_rows():
    rows = different_rows(2)
    head = GaussianHead(1, noise=None, nll_beta=0, n_members=2)
    net = TableNet(head, n_members=2, n_components=3)
    scores = HoldOut(rows).score(net)
    assert scores.dtype == np.float64
    for member, held_out in enumerate(rows.held_out):
        total = norm = 0.0
        for i in held_out:
            mean = float((net.a[member] * rows.x[i, 0] + net.b[member]).mean())
            total -= float(rows.weights[i]) * (float(rows.y[i]) - mean) ** 2
            norm += float(rows.weights[i])
        assert scores[member] == pytest.approx(total / norm, rel=1e-5)


@pytest.mark.parametrize("samples_per_chunk", [1, 4])
def test_chunks_do_not_change_scores(samples_per_chunk, monkeypatch):
    rows = different_rows(2)
    head = GaussianHead(1, noise="heteroscedastic", nll_beta=0, n_members=2)
    hold_out, net = HoldOut(rows), TableNet(head, n_members=2, n_components=3)
    sizes = []

    def function(member, raw, y):
        sizes.append(y.shape[-1])
        return raw[:, 0].sum(dim=(0, 1)) + y[0] + member

    score, (values, _) = hold_out.score(net), hold_out.ask_all_members(net, function)
    assert sizes == [6, 6]
    monkeypatch.setattr(module, "_CHUNK_ELEMENTS", samples_per_chunk * 2 * 3 * net.width)
    np.testing.assert_allclose(hold_out.score(net), score, rtol=1e-6)
    torch.testing.assert_close(hold_out.ask_all_members(net, function)[0], values)
    assert set(sizes[2:]) == {1: {1}, 4: {4, 2}}[samples_per_chunk]


def test_rows_of_dropped_members_are_not_evaluated():
    rows = different_rows(4)
    head = GaussianHead(1, noise=None, nll_beta=0, n_members=4)
    hold_out, net = HoldOut(rows), TableNet(head, n_members=4, n_components=3)
    scores = hold_out.score(net)
    hold_out.keep_members(slice(1, None, 2))
    net.a, net.b, net.n_members, net.n_components = net.a[1::2], net.b[1::2], 2, 6
    np.testing.assert_allclose(hold_out.score(net), scores[1::2], rtol=1e-6)
    x, weights = hold_out.ask_all_members(net, lambda member, raw, y: y[0])
    expected = rows.held_out[1::2].flatten()
    torch.testing.assert_close(x, rows.y[expected, 0].double())
    torch.testing.assert_close(weights, rows.weights[expected].double())


def test_initial_weights_are_the_best_so_far():
    net = ScriptedNet([[1.0, 1.0], [0.5, 3.0], [0.9, 0.0]])
    monitor = held_out_monitor(2)
    net.next_epoch()
    net.weights[:] = 7
    monitor.start_from(net)
    assert monitor.best_scores.tolist() == [1.0, 1.0]
    for _ in range(2):
        net.next_epoch()
        stopped = monitor(net)
    assert not stopped, "member 1 has gone one epoch without progress"
    monitor.restore(net)
    assert net.weights.ravel().tolist() == [7, 1]
    assert monitor.best_scores.tolist() == [1.0, 3.0]
    assert len(monitor.scores) == 2, "the score before the first epoch is not one of an epoch"


def test_gain_of_exactly_tol_is_no_progress_and_ties_keep_older_weights():
    *_, last = run([[0.0], [0.5], [1.0], [1.0], [9.0]], tol=0.5)
    assert last == 2, "two gains of 0.5 each; the second one ends the patience"
    net, _, last = run([[0.0], [1.0], [1.0], [1.0], [9.0]], tol=0.5)
    assert (last, net.weights.item()) == (3, 1)


def test_progress_resets_the_patience():
    *_, last = run([[0.0], [0.0], [1.0], [1.0], [2.0], [2.0], [2.0], [9.0]], patience=2)
    assert last == 6


def test_head_is_restored_with_the_network():
    net = ScriptedNet([[0.0, 0.0], [5.0, -1.0], [1.0, -2.0]])
    scale = torch.nn.Parameter(torch.zeros(2, 1))
    net.parameters = lambda: [scale]
    monitor = held_out_monitor(2, patience=5)
    for _ in range(3):
        net.next_epoch()
        scale.data[:] = 10 + net.epoch
        monitor(net)
    monitor.restore(net)
    assert scale.ravel().tolist() == [11, 10]
    assert net.weights.ravel().tolist() == [1, 0]


def test_recorded_loss_is_minus_the_mean_score_of_members():
    net, monitor, _ = run([[1.0, 4.0]])
    assert net.history["valid_loss"] == -2.5
    summary = monitor.summarise()
    assert summary["validation_scores_"].tolist() == [[1.0, 4.0]]
    assert summary["best_validation_score_"].tolist() == [1.0, 4.0]
    monitor.keep_members(slice(1, None, 2))
    assert monitor.summarise()["validation_scores_"].tolist() == [4.0]
    assert monitor.summarise()["best_validation_score_"] == 4.0


def stops_of_losses(losses, **settings):
    """Results of the monitor after each epoch, with a history of skorch."""
    monitor, net, stops = TrainingLossMonitor(**settings), ScriptedNet([[0.0]]), []
    net.history = SkorchHistory()
    monitor.start_from(net)
    for loss in losses:
        net.history.new_epoch()
        net.history.record("train_loss", loss)
        stops.append(monitor(net))
    return stops


@pytest.mark.parametrize(
    ("losses", "n_epochs"),
    [
        ([2.0, 1.5, 1.0, 0.0], 3),  # falls of exactly tol
        ([2.0, 1.5, 0.75, 3.0, 0.5, 0.0], 5),  # 0.75 falls by more
        ([2.0, 1.7, 1.3, 1.1], 3),  # 1.3 is not far below 1.7, the best so far
        ([2.0, 3.0, 1.0, 3.0, 3.0], 5),
    ],
)
def test_progress_is_a_training_loss_more_than_tol_below_the_best(losses, n_epochs):
    stops = stops_of_losses(losses, patience=2, tol=0.5)
    assert stops.index(True) == n_epochs - 1


def test_training_loss_monitor_keeps_the_weights_and_has_no_scores():
    monitor, net = TrainingLossMonitor(patience=1, tol=0), ScriptedNet([[0.0]])
    net.weights[:] = 5
    monitor.start_from(net)
    net.weights[:] = 6
    monitor.restore(net)
    assert net.weights.item() == 6
    nothing = {"validation_scores_": None, "best_validation_score_": None}
    assert monitor.summarise() == nothing


@pytest.mark.parametrize("hold_out", [False, True])
def test_make_monitor_takes_patience_and_tol_from_the_settings(hold_out):
    settings = make_settings(n_iter_no_change=3, tol=0.2)
    rows = rows_of(2)
    if not hold_out:
        parts = {"x": rows.x, "y": rows.y, "weights": rows.weights, "train": rows.train}
        rows = make_training_rows(**parts, generators=[])
    found, monitor = make_monitor(rows, settings)
    assert (found is not None) == hold_out
    net = ScriptedNet([[0.0] * 2, [1.0] * 2, [1.1] * 2, [1.2] * 2, [1.19] * 2, [2.0] * 2])
    n_epochs = 0
    for scores in net.scores:
        net.next_epoch()
        net.history.record("train_loss", -scores[0])
        n_epochs += 1
        if monitor(net):
            break
    assert n_epochs == 5
    assert isinstance(monitor, HeldOutMonitor if hold_out else TrainingLossMonitor)


def test_iterate_folds_returns_rows_of_each_member():
    """Padding appears once; dropped members are gone."""
    rows = TrainingRows(
        x=torch.arange(12.0).view(6, 2),
        y=torch.zeros(6, 1),
        weights=torch.ones(6),
        train=torch.tensor([[4, 0, 1], [5, 3, 3]]),
        held_out=torch.tensor([[2, 3], [0, 1]]),
        held_out_weights=torch.ones(2, 2),
        n_units=4,
        generators=[],
    )
    hold_out = HoldOut(rows)
    found = [(trained[:, 0].tolist(), x[:, 0].tolist()) for trained, x in hold_out.iterate_folds()]
    assert found == [([0, 2, 8], [4, 6]), ([6, 10], [0, 2])]
    hold_out.keep_members(slice(1, None))
    (fold,) = hold_out.iterate_folds()
    assert fold[0].tolist() == [[6, 7], [10, 11]]
