import numpy as np
import pytest
import torch

from benchmarks_uci.speed import training
from benchmarks_uci.threads import threads

SETTINGS = {"batch_size": 32, "epochs": 3}


@pytest.fixture(scope="module")
def data():
    return training.random_rows(100, 4)


@pytest.fixture
def steps(monkeypatch):
    """The number of rows of each mini-batch in the bare loop."""
    sizes = []

    def counting(raw, y, beta_nll=training.beta_nll):
        sizes.append(len(y))
        return beta_nll(raw, y)

    monkeypatch.setattr(training, "beta_nll", counting)
    return sizes


def optimizer_steps(net):
    return {int(state["step"]) for state in net.optimizer_.state.values()}


def test_all_take_the_same_number_of_steps(data, steps):
    assert optimizer_steps(training.fit_ours(*data, **SETTINGS).net_) == {12}
    assert optimizer_steps(training.fit_skorch(*data, **SETTINGS)) == {12}
    steps.clear()
    training.fit_bare(*data, **SETTINGS)
    assert steps == [25] * 12


def test_the_loss_equals_the_estimator_s(data):
    model = training.fit_ours(*data, **SETTINGS)
    raw, y = torch.randn(7, 2), torch.randn(7)
    head = model.net_.criterion_  # reads (member, output, sample)
    ours = head(raw.T[None], (y[None, None], torch.ones(1, 7)))
    torch.testing.assert_close(training.beta_nll(raw, y), ours)


def test_networks_have_the_same_number_of_weights(data):
    model = training.fit_ours(*data, **SETTINGS)

    def size(module):
        return sum(p.numel() for p in module.parameters())

    bare, concatenating = training.BareNetwork(4), training.ConcatenatingNetwork(4)
    assert size(model.net_.module_) == size(bare) == size(concatenating)


def test_the_bare_loop_learns(data):
    torch.manual_seed(0)
    with threads(1):  # two would wait for each other
        curve = training.fit_bare(*data, batch_size=32, epochs=40)
    assert curve[-1] < curve[0] - 0.1


def test_batch_size_equals_auto():
    for n_rows, n_features, batch_size, _ in training.SIZES[:1]:
        model = training.DeltaUQRegressor(5, max_iter=1, random_state=0)
        model.partial_fit(*training.random_rows(n_rows, n_features))
        assert model.net_.batch_size == batch_size


ARGUMENTS = *training.random_rows(100, 4), 32, 3


@pytest.fixture(scope="module")
def stacked():
    return training.fit_ensemble(*ARGUMENTS)


def test_both_fits_have_the_same_networks_and_steps(stacked):
    alone = training.fit_separately(*ARGUMENTS)
    assert stacked.n_components_ == len(alone) == 5
    for model in [stacked, *alone]:
        assert model.n_iter_ == 3
        assert {int(s["step"]) for s in model.net_.optimizer_.state.values()} == {12}


def test_separate_networks_differ(stacked):
    means = [m.predict(ARGUMENTS[0]) for m in training.fit_separately(*ARGUMENTS)]
    assert len({tuple(np.round(mean, 6)) for mean in means}) == 5


def test_every_size_has_a_goal_for_its_members():
    assert set(training.MEMBER_GOALS) == {size.n_rows for size in training.SIZES}


def test_search_scores_every_setting(monkeypatch):
    monkeypatch.setattr(training, "GRID", {"hidden_layer_sizes": [(2,), (3,)], "max_iter": [5]})
    found = training.search(*training.random_rows(30, 3), n_jobs=1)
    scores = found.cv_results_["mean_test_score"]
    assert len(scores) == 2
    assert np.isfinite(scores).all()


def test_search_compares_the_jobs(monkeypatch):
    jobs = []
    monkeypatch.setattr(training, "search", lambda X, y, n_jobs: jobs.append(n_jobs))
    [result] = training.measure_search(quick=True)
    assert jobs == [1, 2]
    assert list(result.parts) == ["two jobs", "one job"]
    assert result.value == result.parts["one job"] / result.parts["two jobs"]
