"""`prepare_fit`: settings, random streams, draws and continued training."""

from dataclasses import dataclass, replace
from functools import partial as bind

import numpy as np
import pytest
import torch

from sk_deltauq._host import Stream, numpy_rng, torch_generators
from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._networks.mlp import MLP, NetworkSpec
from sk_deltauq._training import settings
from sk_deltauq._training.fit import prepare_fit, read_layer_sizes
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._training.method import Method
from sk_deltauq._training.rows import Batches
from sk_deltauq._validation import FitPlan
from tests._training.fit_parts import (
    PARAMS,
    SEED,
    assert_equal,
    make_data,
    partial,
    prepare,
    run,
    warm,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("single_thread")


def test_settings_equal_the_parameters():
    settings = prepare(net_params={"optimizer__eps": 0.5}, verbose=1).settings
    for name, value in PARAMS.items():
        if hasattr(settings, name) and name not in ("net_params", "verbose"):
            assert getattr(settings, name) == value, name
    assert settings.net_params == {"optimizer__eps": 0.5}
    assert settings.verbose is True
    assert settings.name == "TheName"
    assert settings.partial is False
    assert prepare().settings.net_params == {}


def test_partial_fit_trains_one_epoch_without_average():
    settings = prepare(plan=partial, early_stopping=False).settings
    assert (settings.partial, settings.max_iter, settings.averaging) == (True, 1, 1)


def test_estimator_without_alpha_has_no_penalty():
    params = {name: value for name, value in PARAMS.items() if name != "alpha"}
    make_head, plan = bind(GaussianHead, 1, "homoscedastic", 0.5), FitPlan(resume=False)
    fit = prepare_fit(params, "TheName", Ensemble(), make_head, None, make_data(), plan, None)
    assert fit.settings.alpha == 0.0
    assert "alpha" not in fit.start.fixed


def test_all_random_numbers_come_from_the_streams_of_the_seed():
    fit = prepare()
    assert fit.start.seed == SEED
    _, held_out = assign_folds(numpy_rng(SEED, Stream.FOLDS), 80, 4, 3)
    np.testing.assert_array_equal(fit.rows.held_out, held_out)
    expected = torch_generators(SEED, Stream.BATCHES, [0, 1, 2], 0)
    seeds = [generator.initial_seed() for generator in fit.rows.generators]
    assert seeds == [generator.initial_seed() for generator in expected]
    spec = NetworkSpec(
        n_features=2,
        n_outputs=1,
        hidden_layer_sizes=(8, 6),
        activation="tanh",
        embedding="sinusoidal",
        members=[0, 1, 2],
        generators=torch_generators(SEED, Stream.WEIGHTS, [0, 1, 2]),
    )
    core, expected = fit.start.net.module_.core, MLP(spec)
    assert_equal(core.state_dict().values(), expected.state_dict().values())
    assert core.activation == "tanh"
    assert type(core.embedding) is type(expected.embedding)


@pytest.mark.parametrize(("noise", "ends"), [("homoscedastic", False), (None, True)])
def test_training_ends_on_all_rows_only_without_noise_model(noise, ends):
    assert prepare(noise=noise).settings.ends_on_all_rows is ends
    params = {name: value for name, value in PARAMS.items() if name != "noise"}  # a classifier
    make_head, plan = bind(GaussianHead, 1, "homoscedastic", 0.5), FitPlan(resume=False)
    fit = prepare_fit(params, "TheName", Ensemble(), make_head, None, make_data(), plan, None)
    assert fit.settings.ends_on_all_rows is False


def test_few_rows_need_more_networks_than_members():
    """Four folds of ten of 40 rows: with all four networks, all rows are held out."""
    fit = prepare(data=make_data(40))
    core, head = fit.start.net.module_.core, fit.start.net.criterion_
    assert (core.n_members, fit.settings.n_members) == (4, 3)
    assert [len(p) for p in head.parameters()] == [4]
    assert sorted(fit.rows.held_out.flatten().tolist()) == list(range(40))
    assert fit.rows.n_units == 40
    seeds = [generator.initial_seed() for generator in fit.rows.generators]
    expected = torch_generators(SEED, Stream.BATCHES, [0, 1, 2, 3], 0)
    assert seeds == [generator.initial_seed() for generator in expected]


def test_continued_training_keeps_the_number_of_networks():
    first = run(data=make_data(40))["_trained_"]
    assert prepare(None, warm, first, data=make_data(200)).rows.held_out.shape == (4, 50)
    first = run()["_trained_"]
    assert prepare(None, warm, first, data=make_data(40)).rows.held_out.shape == (3, 10)


def test_each_network_gets_the_features_of_its_member():
    """The embedding of every other member is switched off."""
    core = prepare(features="alternating").start.net.module_.core
    assert core.embedding.amplitude.ravel().tolist() == [1, 0, 1]


def test_batch_size_is_limited_to_the_rows():
    assert prepare().start.net.batch_size == 8
    assert prepare().batches.batch_size == 8
    assert prepare(batch_size=100).start.net.batch_size == 80
    assert isinstance(prepare().batches, Batches)


@dataclass(frozen=True)
class Keep(Method):
    """An ensemble that keeps its context, and the number of its draws."""

    fixed_parameters = ("special",)

    def network(self, spec):
        return Ensemble().network(spec)

    def draw(self, network, context):
        Ensemble().draw(network, replace(context, earlier=None))
        return {"context_": context}

    def batches(self, network, rows, batch_size):
        assert len(rows.train) == network.core.n_members
        return Batches(rows, batch_size)

    def finish(self, network):
        """Do nothing: batches leave the network as it is."""

    def step(self, network, head, batch):
        return Ensemble().step(network, head, batch)


def test_method_draws_with_the_context_of_the_call():
    data = make_data()
    context = prepare(Keep(), data=data).context
    assert context.data is data
    assert (context.seed, context.call) == (SEED, 0)
    assert context.rows.train.shape[1] == 60
    assert context.rows.held_out.shape[1] == 20
    assert context.settings.name == "TheName"
    assert context.previous is context.earlier is None


@pytest.mark.parametrize("plan", [warm, partial])
def test_continued_training_gets_the_kept_draws(plan):
    first = run(Keep(), early_stopping=False)["_trained_"]
    assert first.n_calls == 1
    fit = prepare(Keep(), plan, first, early_stopping=False, random_state=99)
    context = fit.context
    assert fit.start.seed == context.seed == SEED
    assert context.previous is first.kept
    assert context.earlier is (first.kept if plan.partial else None)
    assert context.call == (1 if plan.partial else 0)
    expected = torch_generators(SEED, Stream.BATCHES, [0, 1, 2], 1)
    seeds = [generator.initial_seed() for generator in fit.rows.generators]
    assert seeds == [generator.initial_seed() for generator in expected]
    assert fit.start.n_calls == 1
    second = run(Keep(), plan, first, early_stopping=False)["_trained_"]
    assert second.n_calls == 2
    assert second.kept["context_"].previous is first.kept


@pytest.mark.parametrize("plan", [warm, partial])
def test_continued_training_starts_from_a_copy(plan):
    first = run(early_stopping=False)["_trained_"]
    before, record = weights_of(first), len(first.net.history)
    fit = prepare(None, plan, first, early_stopping=False, nll_beta=0.9, learning_rate_init=0.3)
    assert fit.start.net is not first.net
    assert_equal(weights_of(fit.start), before)
    assert fit.start.net.criterion_.nll_beta == 0.9
    assert fit.start.net.batch_size == 8
    assert fit.start.net.optimizer_.param_groups[0]["lr"] == 0.3
    # The optimizer goes on in `partial_fit`, and is new in `fit`.
    assert bool(fit.start.net.optimizer_.state) == plan.partial
    assert len(fit.start.net.history) == (record if plan.partial else 0)
    run_partial = run(None, plan, first, early_stopping=False, learning_rate_init=0.3)
    assert_equal(weights_of(first), before)
    after = weights_of(run_partial["_trained_"])
    assert not all(torch.equal(a, b) for a, b in zip(after, before, strict=True))
    assert len(first.net.history) == record


def test_partial_fit_keeps_the_moments_of_the_optimizer():
    first = run(early_stopping=False)["_trained_"]
    fit = prepare(None, partial, first, early_stopping=False)
    moments = [
        [state["exp_avg"] for state in trained.net.optimizer_.state.values()]
        for trained in (first, fit.start)
    ]
    assert moments[0]
    assert_equal(*moments)


@pytest.mark.parametrize("plan", [warm, partial])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden_layer_sizes", (8, 7)),
        ("activation", "relu"),
        ("embedding", False),
        ("n_members", 4),
        ("noise", None),
        ("special", 2),
    ],
)
def test_fixed_parameters_cannot_change(plan, name, value):
    first = run(Keep(), early_stopping=False, special=1)["_trained_"]
    message = rf"cannot continue from the last fit with another {name} \(it was .*\)\. Set it back"
    with pytest.raises(ValueError, match=message):
        prepare(Keep(), plan, first, early_stopping=False, **{"special": 1, name: value})


@pytest.mark.parametrize(
    ("name", "value"), [("alpha", 0.5), ("net_params", {"optimizer__eps": 0.1})]
)
def test_warm_fit_takes_new_optimizer_parameters_and_partial_fit_rejects_them(name, value):
    first = run(early_stopping=False)["_trained_"]
    changed = {"early_stopping": False, name: value}
    fit = prepare(None, warm, first, **changed)
    assert fit.start.fixed[name] == value
    with pytest.raises(ValueError, match=f"another {name}"):
        prepare(None, partial, first, **changed)
    prepare(None, partial, fit.start, **changed)


def test_error_names_all_changes_and_equal_values_are_allowed():
    first = run(early_stopping=False, net_params={"optimizer__eps": 0.1})["_trained_"]
    with pytest.raises(ValueError, match=r"another activation \(.*\), alpha \(it was .*\)\."):
        prepare(None, partial, first, early_stopping=False, alpha=1, activation="relu",
                net_params={"optimizer__eps": 0.1})  # fmt: skip
    same = {"hidden_layer_sizes": np.array([8, 6]), "net_params": {"optimizer__eps": 0.1}}
    prepare(None, partial, first, early_stopping=False, **same)


def test_same_nan_object_is_no_change():
    value = float("nan")
    first = run(Keep(), early_stopping=False, special=value)["_trained_"]
    prepare(Keep(), partial, first, early_stopping=False, special=value)


def test_partial_fit_rejects_another_device():
    first = run(early_stopping=False)["_trained_"]
    first.net.device = "cuda"
    with pytest.raises(ValueError, match=r"device='cpu': the net is on 'cuda'"):
        prepare(None, partial, first, early_stopping=False)
    first.net.device = "cpu"
    prepare(None, partial, first, early_stopping=False)


def test_unknown_device_raises_with_its_cause():
    with pytest.raises(ValueError, match=r"device must name a device .* got 'abacus'") as caught:
        prepare(device="abacus")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_device_without_float64_is_rejected(monkeypatch):
    """Held-out scores are summed in float64, which some GPUs do not have."""

    def zeros(*shape, device, dtype):
        assert device == "cpu"
        raise RuntimeError(f"no {dtype}")

    monkeypatch.setattr(settings.torch, "zeros", zeros)
    with pytest.raises(ValueError, match=r"got 'cpu': no torch\.float64"):
        settings.find_device("cpu")


@pytest.mark.parametrize(
    ("sizes", "expected"), [(5, (5,)), ((), ()), ([3, 1], (3, 1)), (np.array([2, 2]), (2, 2))]
)
def test_layer_sizes_are_a_tuple_of_ints(sizes, expected):
    found = read_layer_sizes(sizes)
    assert found == expected
    assert all(type(size) is int for size in found)


@pytest.mark.parametrize("sizes", [0, -1, (3, 0), 2.5, (1.0,), "8", [[3]], (True,)])
def test_invalid_layer_sizes_are_rejected(sizes):
    with pytest.raises(ValueError, match="hidden_layer_sizes must be a positive int"):
        read_layer_sizes(sizes)
