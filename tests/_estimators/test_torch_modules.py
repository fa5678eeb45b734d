"""A fitted estimator as a torch module: as `predict`, with gradients, and independent."""

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from torch import nn

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq._validation import FAR

FEW = {"max_iter": 10, "random_state": 0, "hidden_layer_sizes": (24,)}
REGRESSORS = {
    "Delta-UQ": DeltaUQRegressor(**FEW, n_members=2),
    "Delta-UQ without noise": DeltaUQRegressor(**FEW, noise=None),
    "Delta-UQ with a module": DeltaUQRegressor(**FEW, module=nn.Linear),
    "anchor ensemble": baselines.AnchorEnsembleRegressor(**FEW),
    "deep ensemble": baselines.DeepEnsembleRegressor(**FEW),
    "MC dropout": baselines.MCDropoutRegressor(**FEW),
    "variational": baselines.VariationalBNNRegressor(**FEW, n_draws=5),
    "PBP": baselines.PBPRegressor(**FEW),
}
CLASSIFIERS = {
    "Delta-UQ": DeltaUQClassifier(**FEW),
    "tempered": DeltaUQClassifier(**FEW, calibration="spread"),
    "without hold-out": DeltaUQClassifier(**FEW, early_stopping=False),
    "deep ensemble": baselines.DeepEnsembleClassifier(**FEW),
}


@pytest.fixture(scope="module", params=REGRESSORS)
def model(request, regression_data):
    return REGRESSORS[request.param].fit(*regression_data)


@pytest.fixture(scope="module", params=CLASSIFIERS)
def classifier(request, classification_data):
    return CLASSIFIERS[request.param].fit(*classification_data)


@pytest.fixture
def new():
    """Rows inside and outside the training rows."""
    return np.random.default_rng(3).uniform(-1, 3, size=(12, 3))


def assert_close(found, expected, model):
    """Equal to 1e-5 of the scale of y."""
    scale = float(model.y_scaler_.scale_[0])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * scale)


@pytest.mark.parametrize("batch", [(12,), (3, 4), (2, 1, 6)], ids=str)
def test_a_regressor_predicts_as_its_module(model, new, batch):
    found = model.to_torch()(torch.from_numpy(new.reshape(*batch, 3)))
    assert all(part.dtype == torch.float64 for part in found)
    mean, std = model.predict(new, return_std=True)
    uncertainty = model.predict_uncertainty(new)
    expected = {"mean": mean, "std": std, **uncertainty}
    for name in ("mean", "std", "epistemic", "aleatoric"):
        assert_close(getattr(found, name), expected[name].reshape(batch), model)
    means, stds = found.component_means.flatten(1), found.component_stds.flatten(1)
    assert found.component_means.shape[1:] == batch
    assert_close(means.mean(0), mean, model)
    assert_close((stds.square().mean(0) + means.var(0, correction=0)).sqrt(), std, model)
    if found.aleatoric.any():  # without noise, the distribution is one normal distribution
        dist = model.predict_dist(new)
        assert_close(means, dist.means, model)
        assert_close(stds, dist.stds, model)


def test_one_row_without_batch_axes(model, new):
    found = model.to_torch()(torch.from_numpy(new[0]))
    assert found.mean.shape == found.std.shape == ()
    assert found.component_means.shape == found.component_stds.shape[:1]
    assert_close(found.mean, model.predict(new[:1])[0], model)


def test_several_outputs_have_the_last_axis(regression_data, new):
    X, y = regression_data
    model = DeltaUQRegressor(**FEW, n_anchors=4).fit(X, np.column_stack([y, X[:, 0]]))
    found = model.to_torch()(torch.from_numpy(new.reshape(3, 4, 3)))
    assert found.mean.shape == found.aleatoric.shape == (3, 4, 2)
    assert found.functions.shape == (model.n_components_, 3, 4, 2)
    mean, std = model.predict(new, return_std=True)
    np.testing.assert_allclose(found.mean.reshape(12, 2), mean, rtol=1e-6)
    np.testing.assert_allclose(found.std.reshape(12, 2), std, rtol=1e-6)


def test_functions_spread_as_the_epistemic_part_without_inflation(regression_data, new):
    model = DeltaUQRegressor(**FEW, widening=0).fit(*regression_data)
    found = model.to_torch()(torch.from_numpy(new))
    assert len(found.functions) == model.n_components_
    assert_close(found.functions.mean(0), found.mean, model)
    assert_close(found.functions.std(0, correction=0), found.epistemic, model)
    inflated = DeltaUQRegressor(**FEW).fit(*regression_data)
    same = inflated.to_torch()(torch.from_numpy(new))
    assert (same.epistemic > 1.1 * same.functions.std(0, correction=0)).any()


def test_results_have_the_dtype_of_the_rows(model, new):
    module = model.to_torch()
    found = module(torch.from_numpy(new).float())
    assert all(part.dtype == torch.float32 for part in found)
    assert_close(found.mean, model.predict(new.astype(np.float32)), model)
    whole = module(torch.zeros(2, 3, dtype=torch.int64))
    assert whole.mean.dtype == torch.float64
    assert_close(whole.mean, model.predict(np.zeros((2, 3))), model)


def test_rows_far_from_zero_keep_their_digits(regression_data):
    """float32 has seven digits, too few for these rows; the module scales in float64."""
    X, y = regression_data
    model = DeltaUQRegressor(**FEW).fit(X + 1e7, y)
    found = model.to_torch()(torch.tensor(X + 1e7))
    assert_close(found.mean, model.predict(X + 1e7), model)


@pytest.mark.parametrize("name", ["mean", "std"])
def test_the_gradient_is_the_finite_difference_of_predict(model, new, name):
    x = torch.tensor(new[:3], requires_grad=True)
    getattr(model.to_torch()(x), name).sum().backward()
    assert x.grad is not None

    def predict(X):
        mean, std = model.predict(X, return_std=True)
        return mean if name == "mean" else std

    step, size = 1e-3, np.abs(x.grad.numpy()).max()
    for feature in range(3):
        shift = step * np.eye(3)[feature]
        difference = (predict(new[:3] + shift) - predict(new[:3] - shift)) / (2 * step)
        np.testing.assert_allclose(x.grad[:, feature], difference, rtol=0.02, atol=0.02 * size)


def test_double_gives_exact_gradients(model, new):
    module, before = model.to_torch(), model.predict(new)
    module.double()
    x = torch.tensor(new[:2], requires_grad=True)
    # The tolerance is for the spread of y, about 100.
    assert torch.autograd.gradcheck(lambda x: module(x).mean, x, atol=1e-4)
    assert torch.autograd.gradcheck(lambda x: module(x).std, x, atol=1e-4)
    assert_close(module(torch.from_numpy(new)).mean, before, model)
    assert_close(model.predict(new), before, model)


def test_float_scales_in_float32(model, new):
    module = model.to_torch().float()
    assert all(t.dtype == torch.float32 for t in module.state_dict().values())
    mean, std = model.predict(new, return_std=True)
    found = module(torch.from_numpy(new))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-4)
    np.testing.assert_allclose(found.std, std, rtol=1e-3)


def test_a_classifier_predicts_as_its_module(classifier, classification_data):
    X, _ = classification_data
    found = classifier.to_torch()(torch.from_numpy(X.reshape(4, 15, 2).copy()))
    exact = {"rtol": 1e-5, "atol": 1e-7}
    np.testing.assert_allclose(found.proba.flatten(0, 1), classifier.predict_proba(X), **exact)
    log_proba = classifier.predict_log_proba(X)
    np.testing.assert_allclose(found.log_proba.flatten(0, 1), log_proba, **exact)
    parts = classifier.predict_uncertainty(X)
    for name, value in parts.items():
        assert getattr(found, name).shape == (4, 15)
        np.testing.assert_allclose(getattr(found, name).flatten(), value, **exact)
    logits = found.logits.flatten(1, 2).softmax(2)
    np.testing.assert_allclose(logits.mean(0), classifier.predict_dist(X).proba, **exact)


def test_gradients_of_a_classifier(classifier, classification_data):
    module = classifier.to_torch().double()
    x = torch.tensor(classification_data[0][:2].copy(), requires_grad=True)
    for name in ("proba", "total", "mutual_information", "epistemic"):
        assert torch.autograd.gradcheck(lambda x, name=name: getattr(module(x), name), x)


def test_a_module_is_an_independent_copy(model, regression_data, new):
    module, x = model.to_torch(), torch.from_numpy(new)
    before, expected = module(x), model.predict(new)
    with torch.no_grad():
        for tensor in model.to_torch().state_dict().values():
            tensor.zero_()
    np.testing.assert_array_equal(model.predict(new), expected)
    X, y = regression_data
    type(model)(**model.get_params()).fit(X, y)
    model.fit(X, y)
    for one, two in zip(module(x), before, strict=True):
        assert torch.equal(one, two)


def test_the_state_dict_determines_the_predictions(model, regression_data, new):
    """Put the numbers of one model into another one of the same shape."""
    X, y = regression_data
    other = type(model)(**{**model.get_params(), "random_state": 1, "max_iter": 3})
    module, target = model.to_torch(), other.fit(X, 2 * y + X[:, 0]).to_torch()
    target.has_tails = module.has_tails
    target.load_state_dict(module.state_dict())
    x = torch.from_numpy(new)
    for one, two in zip(module(x), target(x), strict=True):
        assert torch.equal(one, two)


def assert_it_computes_on_its_device(module, n_features):
    """The device "meta" has no values, so every tensor must be on it."""
    for part in module.to("meta")(torch.zeros((4, n_features), device="meta")):
        assert part.device.type == "meta"


def test_the_module_of_a_regressor_computes_on_its_device(model):
    assert_it_computes_on_its_device(model.to_torch(), 3)


def test_the_module_of_a_classifier_computes_on_its_device(classifier):
    assert_it_computes_on_its_device(classifier.to_torch(), 2)


def test_only_the_rows_need_gradients(model, new):
    module = model.to_torch()
    assert not module.training
    assert not any(p.requires_grad for p in module.parameters())
    assert not module(torch.from_numpy(new)).mean.requires_grad


def test_torch_func_can_differentiate(new, regression_data):
    module = DeltaUQRegressor(**FEW).fit(*regression_data).to_torch().double()
    x = torch.from_numpy(new)
    jacobian = torch.func.vmap(torch.func.jacrev(lambda row: module(row).mean))(x)
    x.requires_grad_()
    (expected,) = torch.autograd.grad(module(x).mean.sum(), x)
    torch.testing.assert_close(jacobian, expected)


@pytest.mark.parametrize("shape", [(4, 2), (3, 1), (2, 6), ()], ids=str)
def test_another_number_of_features_is_an_error(regression_data, shape):
    module = DeltaUQRegressor(**FEW).fit(*regression_data).to_torch()
    with pytest.raises(ValueError, match="X must have 3 features on its last axis"):
        module(torch.zeros(shape))


def test_rows_of_a_table_are_encoded_first(regression_data):
    X, y = regression_data
    X = np.where(X > 0.95, np.nan, X)
    model = DeltaUQRegressor(**FEW, missing_values="indicator").fit(X, y)
    found = model.to_torch()(torch.from_numpy(model.encoder_.transform(X)))
    assert_close(found.mean, model.predict(X), model)


def test_far_values_are_clipped_and_constant_columns_are_zero(regression_data):
    X, y = regression_data
    X = np.column_stack([X[:, 0], np.full(60, 3.0)])
    module = DeltaUQRegressor(**FEW, embedding=None).fit(X, y).to_torch()
    seen = []
    hook = module.components.module
    hook.register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    module(torch.tensor([[1e300, 8.0], [-1e300, 3.0]]).double())
    assert seen[0].tolist() == [[FAR, 0], [-FAR, 0]]
    assert seen[0].dtype == torch.float32


def test_a_transformed_target_has_a_latent_module(regression_data, new):
    X, y = regression_data
    model = DeltaUQRegressor(**FEW, target_transform="log").fit(X, y)
    with pytest.raises(ValueError, match=r"target_transform='log' .*to_torch\(latent=True\)"):
        model.to_torch()
    found, latent = model.to_torch(latent=True)(torch.from_numpy(new)), model.predict_dist(new)
    np.testing.assert_allclose(found.mean, latent.latent.mean, rtol=1e-6)
    np.testing.assert_allclose(found.std, latent.latent.std, rtol=1e-6)


def test_latent_without_a_transformation_changes_nothing(regression_data, new):
    model = DeltaUQRegressor(**FEW).fit(*regression_data)
    x = torch.from_numpy(new)
    assert torch.equal(model.to_torch(latent=True)(x).mean, model.to_torch()(x).mean)


@pytest.mark.parametrize("estimator", [DeltaUQRegressor(), DeltaUQClassifier()])
def test_an_unfitted_estimator_has_no_module(estimator):
    with pytest.raises(NotFittedError):
        estimator.to_torch()
