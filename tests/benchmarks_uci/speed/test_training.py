import pytest
import torch

from benchmarks_uci.speed import training

SETTINGS = {"batch_size": 32, "epochs": 3}


@pytest.fixture(scope="module")
def data():
    return training.data(100, 4)


@pytest.fixture
def steps(monkeypatch):
    """Numbers of rows of each mini-batch whose loss was computed."""
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


def test_the_loss_is_that_of_the_estimator(data):
    model = training.fit_ours(*data, **SETTINGS)
    raw, y = torch.randn(7, 2), torch.randn(7)
    head = model.net_.criterion_  # reads (member, output, sample)
    ours = head(raw.T[None], (y[None, None], torch.ones(1, 7)))
    torch.testing.assert_close(training.beta_nll(raw, y), ours)


def test_networks_have_as_many_weights(data):
    model = training.fit_ours(*data, **SETTINGS)

    def size(module):
        return sum(p.numel() for p in module.parameters())

    bare, concatenating = training.BareNetwork(4), training.ConcatenatingNetwork(4)
    assert size(model.net_.module_) == size(bare) == size(concatenating)


def test_the_bare_loop_learns(data):
    torch.manual_seed(0)
    curve = training.fit_bare(*data, batch_size=32, epochs=40)
    assert curve[-1] < curve[0] - 0.1


def test_batch_size_is_what_auto_chooses():
    for n_rows, n_features, batch_size, _ in training.SIZES[:1]:
        model = training.DeltaUQRegressor(5, max_iter=1, random_state=0)
        model.partial_fit(*training.data(n_rows, n_features))
        assert model.net_.batch_size == batch_size
