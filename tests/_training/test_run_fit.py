"""Training, calibration, and the fitted attributes that `run_fit` returns."""

import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback

from sk_deltauq._host import Stream, numpy_rng, torch_generators
from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._training import fit as module
from sk_deltauq._training.fit import run_fit
from sk_deltauq._training.method import Method
from sk_deltauq._training.rows import Batches
from sk_deltauq._validation import FitPlan, Scaler
from tests._training.fit_parts import (
    SEED,
    assert_equal,
    calibrate,
    make_data,
    partial,
    prepare,
    run,
    warm,
    weights_of,
)

pytestmark = pytest.mark.usefixtures("single_thread")


def test_run_fit_returns_the_fitted_attributes():
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


def test_run_fit_passes_schedule_average_and_epochs_to_training(monkeypatch):
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
def test_fit_that_reaches_max_iter_warns(stop, what):
    message = rf"TheName reached max_iter=5 before its {what} stopped improving"
    with pytest.warns(ConvergenceWarning, match=message):
        run_fit(prepare(early_stopping=stop), calibrate)


@pytest.mark.parametrize("changes", [{"tol": 1e9, "max_iter": 50}, {"plan": partial}])
def test_stopped_fit_and_partial_fit_do_not_warn(changes):
    fit = prepare(early_stopping=False, **changes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = run_fit(fit, calibrate)
    assert found["n_iter_"] < 50


def test_verbose_shows_a_progress_bar(capsys):
    run()
    assert "TheName" not in capsys.readouterr().err
    run(verbose=True)
    text = capsys.readouterr().err
    assert "TheName" in text
    assert "5/5" in text


def test_warm_fit_without_progress_keeps_its_initial_weights():
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


def test_run_fit_keeps_the_variant_with_the_best_scores():
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


def test_run_fit_chooses_between_two_variants():
    data = make_data(120)
    found = run(Noisy(levels=(3.0, 0.0)), data=data, n_members=2, max_iter=20)
    assert found["level_"] == 0.0
    assert found["n_components_"] == 2


def test_best_variant_has_the_best_mean_score_of_members():
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
def test_user_code_draws_from_its_own_stream(n_calls):
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


def test_user_module_draws_from_its_own_stream():
    def factory(n_in, n_out):
        return torch.nn.Sequential(torch.nn.Linear(n_in, n_out), torch.nn.Dropout(0.5))

    runs = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        runs.append(run(Ensemble(module=factory), module=factory, early_stopping=False))
    assert runs[0]["loss_curve_"] == runs[1]["loss_curve_"]


def test_global_generators_are_unused_without_user_code(monkeypatch):
    monkeypatch.setattr(module, "seed_torch", None)
    run(module=None)


def test_predictor_has_the_trained_parts():
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
