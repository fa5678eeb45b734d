"""What a fit starts from, and what it returns: settings, streams of numbers, kept values."""

import warnings
from dataclasses import dataclass, replace
from functools import partial as bind

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback

from sk_deltauq._host import Stream, draw_seed, numpy_rng, one_thread, torch_generators
from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._networks.heads import GaussianHead
from sk_deltauq._networks.mlp import MLP, NetworkSpec
from sk_deltauq._training import fit as module
from sk_deltauq._training import settings
from sk_deltauq._training.fit import prepare_fit, read_layer_sizes, run_fit
from sk_deltauq._training.folds import assign_folds
from sk_deltauq._training.method import Method
from sk_deltauq._training.rows import Batches
from sk_deltauq._validation import FitData, FitPlan, Scaler
from tests._helpers import member_weights

PARAMS = {
    "hidden_layer_sizes": (8, 6),
    "activation": "tanh",
    "embedding": True,
    "n_members": 3,
    "alpha": 0.25,
    "net_params": None,
    "noise": "homoscedastic",
    "random_state": 11,
    "batch_size": 8,
    "learning_rate": "constant",
    "learning_rate_init": 0.02,
    "tol": 0.001,
    "n_iter_no_change": 4,
    "early_stopping": True,
    "validation_fraction": 0.25,
    "max_iter": 5,
    "averaging": 3,
    "device": "cpu",
    "verbose": False,
}
SEED = draw_seed(11)

warm, partial = FitPlan(resume=True), FitPlan(resume=True, partial=True)


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


def make_data(n=80):
    """Three networks hold out 60 of 80 rows, so three members are three networks."""
    rng = np.random.default_rng(2)
    x = torch.from_numpy(rng.normal(size=(n, 2))).float()
    weights = torch.from_numpy(rng.uniform(0.5, 1.5, size=n)).float()
    return FitData(x.numpy(), x, x[:, :1] + 0.1, weights, None)


def prepare(
    method=None,
    plan=None,
    previous=None,
    data=None,
    nll_beta=0.5,
    features="sinusoidal",
    **changes,
):
    params = {**PARAMS, **changes}
    method = method or Ensemble()
    make_head = bind(GaussianHead, 1, "homoscedastic", nll_beta)
    plan = plan or FitPlan(resume=False)
    data = data or make_data()
    return prepare_fit(params, "TheName", method, make_head, features, data, plan, previous)


def calibrate(net, hold_out, trains_on):
    return {"asked_": (net, hold_out)}


def run(*args, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return run_fit(prepare(*args, **changes), calibrate)


def weights_of(trained):
    return [w.clone() for m in range(3) for w in member_weights(trained.net, m)]


def assert_equal(found, expected):
    for one, two in zip(found, expected, strict=True):
        assert torch.equal(one, two)


def test_the_settings_are_the_parameters():
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


def test_an_estimator_without_alpha_has_no_penalty():
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
def test_only_without_a_noise_model_training_ends_on_all_rows(noise, ends):
    assert prepare(noise=noise).settings.ends_on_all_rows is ends
    params = {name: value for name, value in PARAMS.items() if name != "noise"}  # a classifier
    make_head, plan = bind(GaussianHead, 1, "homoscedastic", 0.5), FitPlan(resume=False)
    fit = prepare_fit(params, "TheName", Ensemble(), make_head, None, make_data(), plan, None)
    assert fit.settings.ends_on_all_rows is False


def test_with_few_rows_there_are_more_networks_than_members():
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


def test_batches_have_the_size():
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


def test_the_method_draws_with_the_context_of_the_call():
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
def test_a_new_optimizer_takes_the_current_values(name, value):
    first = run(early_stopping=False)["_trained_"]
    changed = {"early_stopping": False, name: value}
    fit = prepare(None, warm, first, **changed)
    assert fit.start.fixed[name] == value
    with pytest.raises(ValueError, match=f"another {name}"):
        prepare(None, partial, first, **changed)
    prepare(None, partial, fit.start, **changed)


def test_all_changes_are_named_and_equal_values_are_no_change():
    first = run(early_stopping=False, net_params={"optimizer__eps": 0.1})["_trained_"]
    with pytest.raises(ValueError, match=r"another activation \(.*\), alpha \(it was .*\)\."):
        prepare(None, partial, first, early_stopping=False, alpha=1, activation="relu",
                net_params={"optimizer__eps": 0.1})  # fmt: skip
    same = {"hidden_layer_sizes": np.array([8, 6]), "net_params": {"optimizer__eps": 0.1}}
    prepare(None, partial, first, early_stopping=False, **same)


def test_the_same_object_is_no_change_even_if_it_differs_from_itself():
    value = float("nan")
    first = run(Keep(), early_stopping=False, special=value)["_trained_"]
    prepare(Keep(), partial, first, early_stopping=False, special=value)


def test_only_partial_fit_must_stay_on_the_device():
    first = run(early_stopping=False)["_trained_"]
    first.net.device = "cuda"
    with pytest.raises(ValueError, match=r"device='cpu': the net is on 'cuda'"):
        prepare(None, partial, first, early_stopping=False)
    first.net.device = "cpu"
    prepare(None, partial, first, early_stopping=False)


def test_an_unknown_device_is_an_error_with_its_cause():
    with pytest.raises(ValueError, match=r"device must name a device .* got 'abacus'") as caught:
        prepare(device="abacus")
    assert isinstance(caught.value.__cause__, RuntimeError)


def test_a_device_without_float64_is_refused(monkeypatch):
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
def test_other_layer_sizes_are_refused(sizes):
    with pytest.raises(ValueError, match="hidden_layer_sizes must be a positive int"):
        read_layer_sizes(sizes)


def test_a_fit_returns_its_attributes():
    found = run()
    trained = found["_trained_"]
    net = trained.net
    assert found["asked_"][0] is net
    assert found["asked_"][1] is not None
    assert found["seed_"] == trained.seed == SEED
    assert found["n_components_"] == 3
    assert found["n_iter_"] == len(found["loss_curve_"]) == len(net.history) == 5
    assert found["loss_curve_"] == net.history[:, "train_loss"]
    assert found["validation_scores_"].shape == (5, 3)
    assert found["best_validation_score_"].tolist() == found["validation_scores_"].max(0).tolist()
    assert found["_x_range_"] is trained.kept["_x_range_"]
    assert run(early_stopping=False)["asked_"][1] is None


def test_training_has_the_schedule_the_average_and_the_epochs(monkeypatch):
    calls = []
    train = module.StackedNet.train

    def note(net, rows, **params):
        calls.append({**params, "rows": rows})
        return train(net, rows, **params)

    monkeypatch.setattr(module.StackedNet, "train", note)
    found = run(learning_rate="invscaling")
    run()
    scaled, constant = calls
    assert scaled["decay"] is True
    assert constant["decay"] is False
    assert scaled["averaged_epochs"] == 3
    assert scaled["n_epochs"] == 5
    assert scaled["rows"].held_out.shape == (3, 20)
    # The best weights are back in the net when the calibration asks it.
    net, hold_out = found["asked_"]
    np.testing.assert_allclose(hold_out.score(net), found["best_validation_score_"], rtol=1e-5)


@pytest.mark.parametrize(("stop", "what"), [(True, "held-out score"), (False, "training loss")])
def test_a_fit_that_was_cut_short_warns(stop, what):
    message = rf"TheName reached max_iter=5 before its {what} stopped improving"
    with pytest.warns(ConvergenceWarning, match=message):
        run_fit(prepare(early_stopping=stop), calibrate)


@pytest.mark.parametrize("changes", [{"tol": 1e9, "max_iter": 50}, {"plan": partial}])
def test_a_fit_that_stopped_and_partial_fit_do_not_warn(changes):
    fit = prepare(early_stopping=False, **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run_fit(fit, calibrate)
    assert found["n_iter_"] < 50


def test_the_progress_bar_is_shown_on_request(capsys):
    run()
    assert "TheName" not in capsys.readouterr().err
    run(verbose=True)
    text = capsys.readouterr().err
    assert "TheName" in text
    assert "5/5" in text


def test_a_warm_fit_that_gets_worse_keeps_its_initial_weights():
    first = run()
    worse = run(None, warm, first["_trained_"], learning_rate_init=30.0, max_iter=2, averaging=1)
    assert (worse["validation_scores_"] < first["best_validation_score_"]).all()
    assert_equal(weights_of(worse["_trained_"]), weights_of(first["_trained_"]))
    # A first fit has nothing to go back to.
    alone = run(learning_rate_init=30.0, max_iter=2, averaging=1)
    best = alone["validation_scores_"].max(axis=0)
    np.testing.assert_array_equal(alone["best_validation_score_"], best)


@dataclass(frozen=True)
class Noisy(Method):
    """Trains on rows with noise; without a given level, the best of some levels stays."""

    level: float | None = None
    levels: tuple = (3.0, 0.0, 1.0)
    shares_initial_weights = True

    @property
    def variants(self):
        return [Noisy(level) for level in self.levels] if self.level is None else ()

    def network(self, spec):
        return Ensemble().network(spec)

    def draw(self, network, context):
        Ensemble().draw(network, context)
        return {"level_": self.level, "n_networks_": network.core.n_members}

    def batches(self, network, rows, batch_size):
        return Batches(rows, batch_size)

    def finish(self, network):
        """Do nothing: batches leave the network as it is."""

    def step(self, network, head, batch):
        (x,), target = batch
        levels = torch.tensor([v.level for v in self.variants or [self]])
        noise = levels.repeat(len(x) // len(levels))[:, None, None]
        # Not the same for all rows, so that it cannot be learnt
        signs = torch.linspace(-1, 1, x.shape[-1]) * 5
        return Ensemble().step(network, head, ((x + noise * signs,), target))


def test_the_variant_with_the_best_scores_stays():
    data = make_data(120)
    fit = prepare(Noisy(), data=data, n_members=2, max_iter=20)
    assert fit.start.net.module_.core.n_members == 6
    members = [fit.start.net.module_.core.member_tensors(m) for m in range(6)]
    for other in members[1:]:  # all start from the weights of the first one
        assert_equal(other, members[0])
    first = prepare(n_members=1, data=data).start.net.module_.core.member_tensors(0)
    assert_equal(members[0], first)
    assert fit.rows.held_out[0].tolist() == fit.rows.held_out[2].tolist()
    assert fit.rows.held_out[0].tolist() != fit.rows.held_out[3].tolist()
    seeds = [generator.initial_seed() for generator in fit.rows.generators]
    expected = torch_generators(SEED, Stream.BATCHES, [0, 0, 0, 1, 1, 1], 0)
    assert seeds == [generator.initial_seed() for generator in expected]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run_fit(fit, calibrate)
    assert found["level_"] == 0.0
    assert found["n_networks_"] == found["n_components_"] == 2
    assert found["_trained_"].method == Noisy(0.0)
    assert found["_trained_"].kept["level_"] == 0.0
    assert found["validation_scores_"].shape == (found["n_iter_"], 2)
    # The kept networks equal a fit with this variant alone.
    alone = run(Noisy(0.0), data=data, n_members=2, max_iter=20)
    kept_best, own_best = (f["best_validation_score_"] for f in (found, alone))
    np.testing.assert_allclose(kept_best, own_best, rtol=0.05, atol=0.02)
    net, hold_out = found["asked_"]
    np.testing.assert_allclose(hold_out.score(net), kept_best, rtol=1e-5)


def test_two_variants_are_enough_to_choose():
    data = make_data(120)
    found = run(Noisy(levels=(3.0, 0.0)), data=data, n_members=2, max_iter=20)
    assert found["level_"] == 0.0
    assert found["n_components_"] == 2


def test_the_best_variant_is_best_on_average_over_members():
    class Keeper:
        def keep_members(self, members):
            self.kept = list(range(6))[members]

    net, monitor, hold_out = Keeper(), Keeper(), Keeper()
    monitor.best_scores = np.array([0.0, 9.0, 5.0, 0.0, -9.0, 4.0])  # (member, variant)
    method, members = module._keep_best_variant(net, Noisy(), monitor, hold_out)
    assert method == Noisy(1.0)
    assert list(range(6))[members] == net.kept
    assert net.kept == monitor.kept == hold_out.kept == [2, 5]


class Draws(Callback):
    """Draws from torch's global generator, as code of the user may."""

    def on_epoch_begin(self, net, **kwargs):
        net.history.record("draw", torch.rand(1).item())


@pytest.mark.parametrize("n_calls", [0, 2])
def test_code_of_the_user_draws_from_its_own_stream(n_calls):
    params = {"early_stopping": False, "net_params": {"callbacks": [Draws()]}}
    trained, plan = None, FitPlan(resume=False)
    for _ in range(n_calls):
        trained, plan = run(None, plan, trained, **params)["_trained_"], warm
    before = torch.get_rng_state()
    net = run(None, plan, trained, **params)["_trained_"].net
    assert torch.equal(torch.get_rng_state(), before)
    seed = int(numpy_rng(SEED, Stream.MODULE, n_calls).integers(2**63))
    own = torch.Generator().manual_seed(seed)
    expected = [torch.rand(1, generator=own).item() for _ in range(5)]
    assert net.history[:, "draw"] == expected


def test_a_module_of_the_user_has_the_same_stream():
    def factory(n_in, n_out):
        return torch.nn.Sequential(torch.nn.Linear(n_in, n_out), torch.nn.Dropout(0.5))

    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        runs.append(run(Ensemble(module=factory), module=factory, early_stopping=False))
    assert runs[0]["loss_curve_"] == runs[1]["loss_curve_"]


def test_without_code_of_the_user_the_global_generators_are_not_locked(monkeypatch):
    monkeypatch.setattr(module, "seed_torch", None)
    run(module=None)


def test_the_predictor_holds_the_trained_parts():
    trained = run()["_trained_"]
    x_scaler, y_scaler = Scaler(), Scaler()
    predictor = trained.predictor(x_scaler=x_scaler, y_scaler=y_scaler, std_factor=np.array([2.0]))
    assert predictor.module.network is trained.net.module_
    assert predictor.module.head is trained.net.criterion_
    assert (predictor.n_components, predictor.width, predictor.device) == (3, 8, "cpu")
    assert predictor.x_scaler is x_scaler
    assert predictor.y_scaler is y_scaler
    assert predictor.std_factor.tolist() == [2.0]
    assert predictor.inflation is None
    assert predictor.ddof == 0
    plain = trained.predictor(x_scaler=x_scaler)
    assert plain.y_scaler is None
    assert plain.std_factor.tolist() == [1.0]
    inflation = torch.nn.Identity()
    other = replace(trained, kept={"_inflation_": inflation})
    assert other.predictor(x_scaler=x_scaler).inflation is inflation
