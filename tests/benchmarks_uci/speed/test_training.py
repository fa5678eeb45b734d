import pytest
import torch

from benchmarks_uci.speed import training

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
    curve = training.fit_bare(*data, batch_size=32, epochs=40)
    assert curve[-1] < curve[0] - 0.1


def test_batch_size_equals_auto():
    for n_rows, n_features, batch_size, _ in training.SIZES[:1]:
        model = training.DeltaUQRegressor(5, max_iter=1, random_state=0)
        model.partial_fit(*training.random_rows(n_rows, n_features))
        assert model.net_.batch_size == batch_size
