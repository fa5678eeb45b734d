"""The posterior against `predict_uncertainty`, closed forms and finite differences."""

import numpy as np
import pytest
import torch
from botorch.acquisition import qKnowledgeGradient
from botorch.exceptions.errors import UnsupportedError
from linear_operator.utils.warnings import NumericalWarning
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq.exceptions import UncertaintyWarning
from sk_deltauq.optimize import BoTorchModel, surrogate
from tests.optimize._helpers import SMALL, draw

ESTIMATORS = [
    surrogate(random_state=0).set_params(max_iter=10),
    DeltaUQRegressor(**SMALL),
    DeltaUQRegressor(**SMALL, noise=None, widening=0.0, early_stopping=False),
    baselines.DeepEnsembleRegressor(**SMALL, n_members=3),
    baselines.DeepEnsembleRegressor(**SMALL, n_members=1, noise=None, early_stopping=False),
    baselines.MCDropoutRegressor(**SMALL, n_masks=10, dropout=0.1),
    baselines.AnchorEnsembleRegressor(**SMALL, n_members=3),
    baselines.VariationalBNNRegressor(**SMALL, n_draws=10),
    baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=3, random_state=0),
]


# One network without noise has no variance, and GPyTorch warns that it takes its least one.
@pytest.mark.filterwarnings("ignore:Negative variance values detected")
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_mean_and_variance_equal_the_prediction_of_the_estimator(estimator, points):
    estimator.fit(*draw(40))
    wide = torch.cat([points, torch.tensor([[3.0, -20.0]], dtype=torch.float64)])  # and far away
    mean, parts = estimator.predict(wide.numpy()), estimator.predict_uncertainty(wide.numpy())
    # `predict` computes in float32, and GPyTorch has a least variance of 1e-10.
    near = {"rtol": 1e-3, "atol": max(1e-3 * parts.total.max(), 2e-5)}
    for kind in ("normal", "components"):
        model = BoTorchModel(estimator, posterior=kind)
        found = model.posterior(wide.requires_grad_())
        assert found.mean.dtype == torch.float64
        np.testing.assert_allclose(found.mean.detach()[:, 0], mean, rtol=1e-3, atol=5e-3)
        if kind == "normal":
            std = found.variance.detach().sqrt()[:, 0]
            np.testing.assert_allclose(std, parts.epistemic, **near)
        gradient = torch.autograd.grad(found.variance.sum() + found.mean.sum(), wide)[0]
        assert gradient.isfinite().all()
    noisy = BoTorchModel(estimator).posterior(wide, observation_noise=True)
    np.testing.assert_allclose(noisy.variance.detach().sqrt()[:, 0], parts.total, **near)


def test_variance_of_components_is_the_epistemic_variance(fitted, points):
    parts = fitted.predict_uncertainty(points.numpy())
    found = BoTorchModel(fitted, posterior="components").posterior(points)
    assert found.values.shape == (fitted.n_components_, 6, 1)
    np.testing.assert_allclose(found.variance.sqrt()[:, 0], parts.epistemic, rtol=1e-3)


def test_covariance_equals_the_covariance_of_the_functions(points):
    estimator = DeltaUQRegressor(**SMALL, widening=0.0).fit(*draw(40))
    functions = estimator.to_torch().double()(points).functions.numpy()  # (component, point)
    expected = np.cov(functions.T, ddof=0)
    found = BoTorchModel(estimator).posterior(points).distribution.covariance_matrix.numpy()
    np.testing.assert_allclose(found, expected, atol=1e-6 * expected.max())


def test_inflation_keeps_the_correlations(points):
    settings = {"noise": None, "early_stopping": False, "widening": 5.0}
    estimator = DeltaUQRegressor(**SMALL, **settings).fit(*draw(40))
    far = points + torch.tensor([0.6, 0.0])
    functions = estimator.to_torch().double()(far).functions.numpy()
    found = BoTorchModel(estimator).posterior(far).distribution.covariance_matrix.numpy()
    std = np.sqrt(np.diag(found))
    assert (std > 1.1 * functions.std(axis=0)).any()  # there is inflation to speak of
    np.testing.assert_allclose(found / np.outer(std, std), np.corrcoef(functions.T), atol=1e-4)


def test_latent_model_predicts_the_transformed_target(points):
    X, y = draw(40)
    y = np.exp(y / 50)
    transformed = DeltaUQRegressor(**SMALL, target_transform="log").fit(X, y)
    plain = DeltaUQRegressor(**SMALL).fit(X, np.log(y))
    found, expected = BoTorchModel(transformed, latent=True), BoTorchModel(plain, latent=True)
    found, expected = (model.posterior(points) for model in (found, expected))
    torch.testing.assert_close(found.mean, expected.mean, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(found.variance, expected.variance, rtol=1e-2, atol=1e-6)


def test_posterior_of_a_batch_equals_posteriors_of_its_parts(model, points):
    batch = points.reshape(3, 1, 2, 2)
    found = model.posterior(batch)
    assert found.mean.shape == found.variance.shape == (3, 1, 2, 1)
    assert found.rsample(torch.Size([5])).shape == (5, 3, 1, 2, 1)
    for i in range(3):
        alone = model.posterior(batch[i, 0]).distribution
        torch.testing.assert_close(found.mean[i, 0, :, 0], alone.mean)
        covariance = found.distribution.covariance_matrix[i, 0]
        torch.testing.assert_close(covariance, alone.covariance_matrix)


def test_later_fit_of_the_estimator_does_not_change_the_model(fitted, points):
    estimator = DeltaUQRegressor(**SMALL).fit(*draw(40))
    model = BoTorchModel(estimator)
    before = model.posterior(points).mean
    estimator.set_params(random_state=1).fit(*draw(30, seed=3))
    assert torch.equal(model.posterior(points).mean, before)


# Several outputs


def test_posterior_has_several_independent_outputs(two_outputs, points):
    model = BoTorchModel(two_outputs)
    assert model.num_outputs == 2
    found = model.posterior(points)
    parts = two_outputs.predict_uncertainty(points.numpy())
    np.testing.assert_allclose(found.variance.sqrt(), parts.epistemic, rtol=1e-3)
    np.testing.assert_allclose(found.mean, two_outputs.predict(points.numpy()), rtol=1e-3)
    assert found.rsample(torch.Size([4])).shape == (4, 6, 2)
    second = model.posterior(points, output_indices=[1])
    torch.testing.assert_close(second.variance[:, 0], found.variance[:, 1])
    # The inflation by distance keeps the correlations of the functions of an output.
    functions = two_outputs.to_torch().double()(points).functions[..., 1].numpy()
    covariance = second.distribution.covariance_matrix.numpy()
    std = np.sqrt(np.diag(covariance))
    np.testing.assert_allclose(
        covariance / np.outer(std, std), np.corrcoef(functions.T), atol=1e-4
    )
    # Different outputs are independent.
    both = found.distribution.covariance_matrix.reshape(6, 2, 6, 2)  # (point, output) twice
    assert (both[:, 0, :, 1] == 0).all()
    torch.testing.assert_close(both[:, 1, :, 1], second.distribution.covariance_matrix)


# Errors and warnings


def test_fantasies_raise_an_error(model, points):
    for call in (model.fantasize, model.condition_on_observations):
        with pytest.raises(UnsupportedError, match="must be fitted again"):
            call(points, None)
    with pytest.raises(UnsupportedError, match="must be fitted again"):
        qKnowledgeGradient(model, num_fantasies=2)(points[:3].unsqueeze(0))


def test_posterior_rejects_given_noise_and_noise_of_components(model, fitted, points):
    with pytest.raises(UnsupportedError, match="predicts its own noise"):
        model.posterior(points, observation_noise=torch.ones(6, 1))
    with pytest.raises(UnsupportedError, match="posterior='normal'"):
        BoTorchModel(fitted, posterior="components").posterior(points, observation_noise=True)


def test_model_rejects_unfitted_and_foreign_estimators(regression_data):
    X, y = regression_data
    with pytest.raises(NotFittedError, match="This DeltaUQRegressor instance is not fitted yet"):
        BoTorchModel(DeltaUQRegressor())
    classifier = DeltaUQClassifier(max_iter=2, early_stopping=False).fit(X, y > 500)
    pipeline = make_pipeline(StandardScaler(), DeltaUQRegressor())
    for foreign in (classifier, pipeline, object()):
        with pytest.raises(TypeError, match=r"fitted regressor of sk_deltauq.*unwrap"):
            BoTorchModel(foreign)
    logarithmic = DeltaUQRegressor(**SMALL, target_transform="log").fit(X, y)
    with pytest.raises(ValueError, match=r"target_transform='log'.*latent=True"):
        BoTorchModel(logarithmic)


def test_model_rejects_invalid_kind_and_shape_of_points(fitted, model):
    with pytest.raises(ValueError, match="'normal' or 'components', got 'mixture'"):
        BoTorchModel(fitted, posterior="mixture")
    with pytest.raises(ValueError, match="2 features"):
        model.posterior(torch.zeros(3, 5))
    with pytest.raises(ValueError, match=r"\(\.\.\., q, n_features\).*got shape \(2,\)"):
        model.posterior(torch.zeros(2))


def test_model_rejects_a_class():
    with pytest.raises(TypeError, match="got the class DeltaUQRegressor"):
        BoTorchModel(DeltaUQRegressor)


def test_subset_output_names_output_indices(model):
    with pytest.raises(UnsupportedError, match=r"output_indices"):
        model.subset_output([0])


def test_targets_of_a_small_scale_cause_a_warning():
    """GPyTorch replaces small variances, so the posterior is wider than the prediction."""
    X, y = draw(40)
    small = surrogate(random_state=0).set_params(max_iter=10).fit(X, 1e-7 * y)
    with pytest.warns(UncertaintyWarning, match=r"Scale y to a standard deviation near 1"):
        model = BoTorchModel(small)
    with pytest.warns(NumericalWarning):
        std = model.posterior(torch.tensor(X)[:, None]).variance.sqrt().flatten()
    assert (std.numpy() > 1.5 * small.predict_uncertainty(X).epistemic).any()


@pytest.mark.parametrize(
    ("X", "indices", "error", "message"),
    [
        (np.zeros((1, 2)), None, TypeError, "X must be a torch.Tensor, got ndarray"),
        (torch.full((1, 2), torch.nan), None, ValueError, "X must not contain NaN"),
        (torch.zeros(0, 2), None, ValueError, "X must have at least one point"),
        (torch.zeros(1, 2), [3], ValueError, r"output_indices must be from 0 to 0, got \[3\]"),
    ],
)
def test_posterior_rejects_invalid_points(model, X, indices, error, message):
    with pytest.raises(error, match=message):
        model.posterior(X, output_indices=indices)
