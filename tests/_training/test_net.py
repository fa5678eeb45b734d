"""Step sizes of training, through skorch's history."""

import math

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from skorch.callbacks import Callback

from sk_deltauq import DeltaUQRegressor


class StepSizes(Callback):
    """Records the step size of the optimizer at the start of each epoch."""

    def on_epoch_begin(self, net, **kwargs):
        net.history.record("lr", net.optimizer_.param_groups[0]["lr"])


def regressor(**params):
    params = {"max_iter": 8, "random_state": 0, **params}
    return DeltaUQRegressor((4,), net_params={"callbacks": [StepSizes()]}, **params)


def step_sizes(model):
    return model.net_.history[:, "lr"]


def inverse_roots(epochs, first):
    return [first / math.sqrt(1 + epoch / 50) for epoch in epochs]


@pytest.mark.parametrize("params", [{}, {"alpha": 0.1}, {"n_members": 3}])
def test_inverse_scaling_divides_the_step_size_by_a_root_of_the_epoch(params, regression_data):
    model = regressor(learning_rate_init=0.02, **params).fit(*regression_data)
    np.testing.assert_allclose(step_sizes(model), inverse_roots(range(8), 0.02))


def test_constant_learning_rate_keeps_the_step_size(regression_data):
    model = regressor(learning_rate="constant").fit(*regression_data)
    assert step_sizes(model) == [0.01] * 8


def test_partial_fit_continues_the_schedule_and_fit_restarts_it(regression_data):
    model = regressor(warm_start=True).fit(*regression_data)
    model.partial_fit(*regression_data).partial_fit(*regression_data)
    np.testing.assert_allclose(step_sizes(model), inverse_roots(range(10), 0.01))
    model.set_params(max_iter=4).fit(*regression_data)
    np.testing.assert_allclose(step_sizes(model), inverse_roots(range(4), 0.01))


def test_new_step_size_continues_the_schedule(regression_data):
    model = regressor().fit(*regression_data)
    model.set_params(learning_rate_init=0.1).partial_fit(*regression_data)
    assert step_sizes(model)[-1] == pytest.approx(inverse_roots([8], 0.1)[0])


def test_interrupt_restores_the_step_size(regression_data):
    class Interrupt(Callback):
        def on_epoch_end(self, net, **kwargs):
            if len(net.history) == 3:
                raise KeyboardInterrupt

    model = regressor(warm_start=True).fit(*regression_data)
    model.net_params["callbacks"].append(Interrupt())
    with pytest.warns(ConvergenceWarning, match="ended training after"):
        model.fit(*regression_data)
    assert {group["lr"] for group in model.net_.optimizer_.param_groups} == {0.01}
