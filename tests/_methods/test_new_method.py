"""Adding a method takes one file: here a plain MLP with Gaussian noise on its inputs."""

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
import torch

from sk_deltauq._estimators.network_regressor import NetworkRegressor
from sk_deltauq._networks.mlp import MLP, PlainNetwork
from sk_deltauq._training.method import Method
from sk_deltauq._training.rows import Batches


@dataclass(frozen=True)
class InputNoise(Method):
    noise_std: float

    def network(self, spec):
        return PlainNetwork(MLP(spec))

    def draw(self, network, context):
        return {"input_noise_std_": self.noise_std}

    def batches(self, network, rows, batch_size):
        return Batches(rows, batch_size)

    def finish(self, network):
        """Do nothing: batches leave the network as it is."""

    def step(self, network, head, batch):
        (x,), target = batch
        outputs = network(x + self.noise_std * torch.randn_like(x))
        return head.backpropagate(outputs, target), outputs


@dataclass(eq=False, repr=False)
class InputNoiseRegressor(NetworkRegressor):
    hidden_layer_sizes: Any = (30,)
    activation: str = "relu"
    _: KW_ONLY
    input_noise: float = 0.1
    n_members: int = 2
    noise: str | None = "heteroscedastic"
    nll_beta: float = 0.5
    calibrate: bool = True
    refine_mean: bool = False
    embedding: str | None = None
    alpha: float = 0.0
    batch_size: int | str = "auto"
    learning_rate: str = "invscaling"
    learning_rate_init: float = 0.01
    averaging: int = 10
    max_iter: int = 200
    tol: float = 1e-4
    n_iter_no_change: int = 20
    early_stopping: bool | str = "auto"
    validation_fraction: float = 0.1
    warm_start: bool = False
    categorical_features: Any = "from_dtype"
    missing_values: str = "indicator"
    net_params: dict | None = None
    device: str = "cpu"
    random_state: Any = None
    verbose: bool = False

    def _method(self, plan):
        return InputNoise(self.input_noise)


def test_a_new_method_has_everything_public(regression_data):
    X, y = regression_data
    model = InputNoiseRegressor(random_state=0).fit(X, y)
    assert model.score(X, y) > 0.5
    assert model.input_noise_std_ == 0.1
    lower, upper = model.predict_interval(X, 0.9).T
    assert np.mean((lower < y) & (y < upper)) > 0.7
    parts = model.partial_fit(X, y).predict_uncertainty(X)
    np.testing.assert_allclose(parts.total**2, parts.epistemic**2 + parts.aleatoric**2)


def test_noise_on_the_inputs_smooths_the_fit(regression_data):
    X, y = regression_data
    rough, smooth = (
        InputNoiseRegressor(input_noise=noise, random_state=0).fit(X, y) for noise in (0.0, 2.0)
    )
    assert np.std(smooth.predict(X)) < np.std(rough.predict(X))
