"""Arguments for skorch in `net_params`, and a torch module of the user."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback, Checkpoint, EarlyStopping, GradientNormClipping, LRScheduler

from tests._helpers import assert_finite, assert_same_predictions, predict_all, regressor


class MLP(torch.nn.Sequential):
    """A module of the user, with batch normalisation and dropout."""

    def __init__(self, n_in, n_out):
        super().__init__(
            torch.nn.Linear(n_in, 8),
            torch.nn.BatchNorm1d(8),
            torch.nn.ReLU(),
            torch.nn.Dropout(0.1),
            torch.nn.Linear(8, n_out),
        )


def test_net_params_choose_the_optimizer(make, data):
    X, y = data
    net_params = {"optimizer": torch.optim.SGD, "optimizer__momentum": 0.5}
    model = make(net_params=net_params, learning_rate_init=0.25, alpha=0.5, batch_size=20).fit(
        X, y
    )
    assert type(model.net_.optimizer_) is torch.optim.SGD
    groups = model.net_.optimizer_.param_groups
    assert {(group["momentum"], group["lr"]) for group in groups} == {(0.5, 0.25)}
    # `alpha` applies to every optimizer
    assert sorted({group["weight_decay"] for group in groups}) == [0, 0.5 / 20]
    assert type(make().fit(X, y).net_.optimizer_) is torch.optim.Adam


def test_net_params_set_a_learning_rate_schedule(make, data):
    schedule = LRScheduler(torch.optim.lr_scheduler.StepLR, step_size=1, gamma=0.1)
    model = make(net_params={"callbacks": [("schedule", schedule)]}, learning_rate="constant")
    model.fit(*data)
    rates = model.net_.history[:, "event_lr"]
    np.testing.assert_allclose(rates, [0.01, 0.001, 0.0001])
    assert model.net_.optimizer_.param_groups[0]["lr"] == pytest.approx(1e-5)


@pytest.mark.parametrize(
    "schedule", [LRScheduler, LRScheduler("StepLR", step_size=1), ("name", LRScheduler("StepLR"))]
)
def test_two_schedules_at_once_are_rejected(make, data, schedule):
    with pytest.raises(ValueError, match="learning_rate='constant' to use your schedule alone"):
        make(net_params={"callbacks": [schedule]}).fit(*data)


@pytest.mark.parametrize(
    ("monitor", "early_stopping"), [("train_loss", False), ("valid_loss", True)]
)
def test_early_stopping_of_skorch_ends_training(make, data, monitor, early_stopping):
    X, y = data
    stop = EarlyStopping(monitor=monitor, patience=3, threshold=1e9, threshold_mode="abs")
    model = make(net_params={"callbacks": [stop]}, max_iter=30, early_stopping=early_stopping).fit(
        X, y
    )
    assert model.n_iter_ == len(model.loss_curve_) == 4
    assert_finite(predict_all(model, X))


def test_skorchs_gradient_clipping_is_applied(make, data):
    X, y = data
    callback = GradientNormClipping(gradient_clip_value=1e-12)
    clipped = make(net_params={"optimizer": torch.optim.SGD, "callbacks": [callback]}).fit(X, y)
    unmoved = make(net_params={"optimizer": torch.optim.SGD}, learning_rate_init=1e-30).fit(X, y)
    np.testing.assert_allclose(clipped.predict(X, True)[1], unmoved.predict(X, True)[1], rtol=1e-4)


# Modules of the user


@pytest.mark.parametrize("module", [MLP, torch.nn.Linear, lambda i, o: torch.nn.Linear(i, o)])
@pytest.mark.parametrize("embedding", [None, "sinusoidal"])
def test_a_users_module_gets_anchor_and_difference(make, data, module, embedding):
    X, y = data
    model = make(module=module, n_members=2, embedding=embedding).fit(X, y)
    assert_finite(predict_all(model, X))
    members = model.net_.module_.core.members
    width = {None: 1, "sinusoidal": 7}[embedding] * X.shape[1]
    first = next(m for m in members[0].modules() if isinstance(m, torch.nn.Linear))
    assert first.in_features == 2 * width
    weights = [next(member.parameters()) for member in members]
    assert len(weights) == 2
    assert not torch.equal(*weights)


def test_linear_module_of_the_user_equals_the_formula_of_the_paper(regression_data):
    X, y = regression_data
    model = regressor(module=torch.nn.Linear, noise=None, max_iter=10, widening=0).fit(X, y)
    linear = model.net_.module_.core.members[0]
    weight = linear.weight.detach().double().numpy()[0]
    scale, mean = model.x_scaler_.scale_, model.x_scaler_.mean_
    x, c = (X - mean) / scale, (model.anchors_ - mean) / scale
    inputs = np.concatenate(
        [np.broadcast_to(c[:, None], (5, 60, 3)), x[None] - c[:, None]], axis=2
    )
    components = inputs @ weight + linear.bias.item()
    expected = components * model.y_scaler_.scale_ + model.y_scaler_.mean_
    predicted, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(predicted, expected.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(std, expected.std(axis=0, ddof=1), rtol=1e-3)


def test_dropout_and_batch_norm_are_off_at_prediction(make, data):
    X, y = data
    model = make(module=MLP, early_stopping=True).fit(X, y)
    assert_same_predictions(predict_all(model, X), predict_all(model, X))
    batch_norm = model.net_.module_.core.members[0][1]
    before = batch_norm.running_mean.clone()
    assert before.abs().max() > 0
    model.predict(X + 100)
    assert torch.equal(batch_norm.running_mean, before)


def test_module_with_a_wrong_number_of_outputs_is_rejected(make, data):
    model = make(module=lambda n_in, n_out: torch.nn.Linear(n_in, n_out + 3))
    with pytest.raises(ValueError, match=r"module must map rows of width .* to .* outputs"):
        model.fit(*data)


@pytest.mark.parametrize(
    "net_params",
    [
        *({"max_epochs": 1}, {"device": "cuda"}, {"module": torch.nn.Linear}),
        *({"train_split": None}, {"lr": 0.1}, {"optimizer__lr": 0.1}, {"batch_size": 3}),
        *({"verbose": 1}, {"warm_start": True}, {"criterion": torch.nn.MSELoss}),
        *({"criterion__nll_beta": 0.0}, {"module__width": 3}, {"iterator_train__shuffle": True}),
    ],
    ids=lambda params: next(iter(params)),
)
def test_net_params_that_have_their_own_parameter_are_rejected(make, data, net_params):
    (name,) = net_params
    with pytest.raises(ValueError, match=rf"net_params must not hold {name}: '{name}' is set by"):
        make(net_params=net_params).fit(*data)


@pytest.mark.parametrize("name", ["optimizer__weight_decay", "optimizer__param_groups"])
def test_weight_decay_and_alpha_together_are_rejected(make, data, name):
    value = 0.1 if name == "optimizer__weight_decay" else [("*weight", {"weight_decay": 0.1})]
    net_params = {"optimizer": torch.optim.AdamW, name: value}
    with pytest.raises(ValueError, match=rf"{name}: '{name}' is set by the parameter alpha"):
        make(net_params=net_params, alpha=0.1).fit(*data)
    groups = make(net_params=net_params).fit(*data).net_.optimizer_.param_groups
    assert 0.1 in {group["weight_decay"] for group in groups}


def test_keyboard_interrupt_in_a_callback_of_the_user_acts_like_ctrl_c(make, data):
    class Interrupting(Callback):
        def on_epoch_end(self, net, **kwargs):
            raise KeyboardInterrupt

    class AtOnce(Callback):
        def on_batch_begin(self, net, **kwargs):
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="Ctrl-C ended training after 1 epochs"):
        model = make(net_params={"callbacks": [Interrupting()]}).fit(*data)
    assert model.n_iter_ == 1
    with pytest.raises(KeyboardInterrupt):
        make(net_params={"callbacks": [AtOnce()]}).fit(*data)


@pytest.mark.parametrize(
    "params", [{"module": torch.nn.Linear}, {"embedding": "periodic"}, {"noise": "homoscedastic"}]
)
def test_default_dtype_of_the_user_does_not_change_the_network(data, make, params):
    params = {k: v for k, v in params.items() if k in make().get_params()}
    torch.set_default_dtype(torch.float64)
    try:
        model = make(**params).fit(*data)
        assert_finite(predict_all(model, data[0]))
    finally:
        torch.set_default_dtype(torch.float32)
    weights = [*model.net_.module_.parameters(), *model.net_.criterion_.parameters()]
    assert {p.dtype for p in weights} == {torch.float32}


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_fit_is_the_same_inside_no_grad_and_inference_mode(make, data, mode):
    expected = predict_all(make().fit(*data), data[0])
    with mode():
        model = make().fit(*data)
    assert_same_predictions(predict_all(model, data[0]), expected)


def test_instance_of_a_module_is_rejected(make, data):
    with pytest.raises(ValueError, match=r"module must be a factory, .* an instance of Linear"):
        make(module=torch.nn.Linear(4, 2)).fit(*data)


def test_errors_of_skorch_and_the_optimizer_name_the_parameter(make, data):
    with pytest.raises(ValueError, match=r"net_params=.*optimiser"):
        make(net_params={"optimiser": torch.optim.SGD}).fit(*data)
    with pytest.raises(ValueError, match=r"alpha=0\.1 .*weight_decay"):
        make(net_params={"optimizer": torch.optim.Rprop}, alpha=0.1).fit(*data)


@pytest.mark.parametrize("changes", [{"noise": None}, {"refine_mean": True}])
def test_callbacks_do_not_run_in_the_final_training_on_all_rows(make, data, tmp_path, changes):
    if not changes.keys() <= make().get_params().keys():
        pytest.skip("only regressors have a second training phase")
    callbacks = [Checkpoint(dirname=tmp_path), EarlyStopping(patience=3, load_best=True)]
    model = make(net_params={"callbacks": callbacks}, early_stopping=True, **changes).fit(*data)
    recorded = ["valid_loss" in record for record in model.net_.history]
    assert recorded[0]
    assert recorded[-1] == ("noise" not in changes)  # refinement trains a copy
    assert len(model.net_.callbacks_) == 2


def test_callbacks_of_skorch_can_read_validation_losses(make, data, tmp_path):
    callbacks = [Checkpoint(dirname=tmp_path), LRScheduler("ReduceLROnPlateau")]
    model = make(
        net_params={"callbacks": callbacks}, learning_rate="constant", early_stopping=True
    ).fit(*data)
    assert (tmp_path / "params.pt").exists()
    best = model.net_.history[:, "valid_loss_best"]
    losses = model.net_.history[:, "valid_loss"]
    assert best == [loss <= min(losses[: i + 1]) for i, loss in enumerate(losses)]


def test_fits_of_a_users_module_in_threads_equal_single_fits(make, data):
    def module(n_in, n_out):
        layers = torch.nn.Linear(n_in, 8), torch.nn.Dropout(), torch.nn.Linear(8, n_out)
        return torch.nn.Sequential(*layers)

    torch.manual_seed(3)
    before = torch.get_rng_state()
    models = [make(module=module, random_state=i) for i in range(4)]
    alone = [predict_all(clone(model).fit(*data), data[0]) for model in models]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(lambda model: predict_all(model.fit(*data), data[0]), models))
    for one, other in zip(alone, together, strict=True):
        assert_same_predictions(one, other)
    assert torch.equal(before, torch.get_rng_state())


def test_cpu_0_has_the_chunk_size_of_the_cpu(make, data):
    predictor = make().fit(*data)._predictor()
    on_cpu, on_cpu_0, on_cuda = (
        replace(predictor, device=device).count_chunk_rows()
        for device in ("cpu", "cpu:0", "cuda:0")
    )
    assert on_cpu_0 == on_cpu < on_cuda
