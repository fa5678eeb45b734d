"""MC dropout against its paper, computed in a second way."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import GridSearchCV

from sk_deltauq._methods.dropout import DropoutMLP
from sk_deltauq._validation import scale_to_tensor
from sk_deltauq.baselines import MCDropoutClassifier, MCDropoutRegressor

TINY = {
    "hidden_layer_sizes": (16, 12),
    "n_masks": 6,
    "dropout": 0.25,
    "embedding": None,
    "max_iter": 5,
    "early_stopping": False,
    "random_state": 0,
}


def regressor(**params):
    return MCDropoutRegressor(**{**TINY, **params})


def classifier(**params):
    return MCDropoutClassifier(**{**TINY, **params})


def raw_outputs(model, X):
    """`(component, sample, output)`: a loop over members and masks, with plain layers."""
    core, outputs = model.net_.module_.core, []
    for member, masks in enumerate(model.masks_):
        for mask in masks:
            h, first_unit = scale_to_tensor(X, model.x_scaler_), 0
            for layer in [core.first, *core.rest]:
                if layer is not core.first:
                    kept = torch.from_numpy(mask[first_unit : first_unit + h.shape[1]])
                    first_unit += h.shape[1]
                    h = torch.where(kept, torch.relu(h) / (1 - model.dropout), 0.0)
                h = torch.nn.functional.linear(h, layer.weight[member], layer.bias[member, :, 0])
            outputs.append(h.detach().double())
    return torch.stack(outputs)


# Predictions


@pytest.mark.parametrize("n_members", [1, 2])
def test_prediction_is_a_loop_over_masks(regression_data, n_members):
    X, y = regression_data
    model = regressor(n_members=n_members).fit(X, y)
    raw = raw_outputs(model, X)
    assert len(raw) == model.n_components_ == 6 * n_members
    scale, offset = model.y_scaler_.scale_[0], model.y_scaler_.mean_[0]
    means = raw[..., 0].numpy() * scale + offset
    variances = (torch.nn.functional.softplus(raw[..., 1]) + 1e-7).numpy() * scale**2
    mean, std = model.predict(X, return_std=True)
    np.testing.assert_allclose(mean, means.mean(axis=0), rtol=1e-5)  # eq. 6
    # Its second moment: the noise variance plus the mean square of the passes.
    second_moment = (variances + means**2).mean(axis=0)
    np.testing.assert_allclose(std**2 + mean**2, second_moment, rtol=1e-5)
    parts = model.predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, means.std(axis=0), rtol=1e-3)
    dist = model.predict_dist(X)
    order = np.argsort(means, axis=0)
    found = np.take_along_axis(dist.means, np.argsort(dist.means, axis=0), axis=0)
    np.testing.assert_allclose(found, np.take_along_axis(means, order, axis=0), rtol=1e-5)


def test_probabilities_are_the_mean_over_masks(classification_data):
    X, y = classification_data
    model = classifier(n_members=2, calibration=None).fit(X, y)
    expected = raw_outputs(model, X).softmax(dim=2).mean(dim=0).numpy()
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-5)


def test_components_come_member_by_member_and_mask_by_mask(classification_data):
    X, y = classification_data
    model = classifier(n_members=2).fit(X, y)
    with torch.inference_mode():
        (found,) = model._predictor().module(scale_to_tensor(X, model.x_scaler_))
    torch.testing.assert_close(found.double(), raw_outputs(model, X), rtol=1e-4, atol=1e-5)


def test_without_dropout_there_is_no_epistemic_uncertainty(regression_data):
    X, y = regression_data
    parts = regressor(dropout=0.0).fit(X, y).predict_uncertainty(X)
    np.testing.assert_allclose(parts.epistemic, 0, atol=1e-5 * np.std(y))
    wide = regressor(dropout=0.5).fit(X, y).predict_uncertainty(X)
    narrow = regressor(dropout=0.02, n_masks=50).fit(X, y).predict_uncertainty(X)
    assert narrow.epistemic.mean() < 0.5 * wide.epistemic.mean()


def test_more_masks_begin_with_the_same_masks(regression_data):
    X, y = regression_data
    few, many = (regressor(n_masks=n, n_members=2).fit(X, y) for n in (4, 9))
    assert few.masks_.shape == (2, 4, 28)
    np.testing.assert_array_equal(many.masks_[:, :4], few.masks_)
    assert few.net_.module_.core.rest[0].weight.equal(many.net_.module_.core.rest[0].weight)


# Masks


def test_masks_stay_while_training_continues(regression_data):
    X, y = regression_data
    model = regressor(warm_start=True).fit(X, y)
    masks = model.masks_
    assert 0.6 < masks.mean() < 0.9
    np.testing.assert_array_equal(model.fit(X, y).masks_, masks)
    np.testing.assert_array_equal(model.partial_fit(X, y).masks_, masks)
    with pytest.raises(ValueError, match="another dropout"):
        model.set_params(dropout=0.3).fit(X, y)
    other = regressor(random_state=1).fit(X, y).masks_
    assert (other != masks).any()


# Training


def test_each_training_sample_has_its_own_mask(regression_data):
    X, y = regression_data
    seen = []
    forward = DropoutMLP.forward

    def spy(self, x, masks):
        seen.append(masks.clone())
        return forward(self, x, masks)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(DropoutMLP, "forward", spy)
        regressor(n_members=2, batch_size=15, max_iter=4).fit(X, y)
    assert [masks.shape for masks in seen] == [(2, 28, 15)] * 16
    masks = torch.cat(seen, dim=2).transpose(1, 2).flatten(0, 1)  # (member and sample, unit)
    assert len(masks.unique(dim=0)) > 0.95 * len(masks)
    assert abs((masks == 0).double().mean().item() - 0.25) < 0.02


# The rate


@pytest.mark.parametrize("params", [{}, {"n_members": 2, "noise": "homoscedastic"}])
def test_auto_is_the_best_of_fits_with_one_rate(regression_data, params):
    X, y = regression_data
    params = {"early_stopping": True, "max_iter": 30, "n_iter_no_change": 5, **params}
    chosen = regressor(dropout="auto", **params).fit(X, y)
    fits = {rate: regressor(dropout=rate, **params).fit(X, y) for rate in (0.005, 0.01, 0.05, 0.1)}
    scores = {rate: np.mean(model.best_validation_score_) for rate, model in fits.items()}
    assert chosen.dropout_ == max(scores, key=scores.get)
    alone = fits[chosen.dropout_]
    assert alone.dropout_ == alone.dropout
    assert chosen.n_components_ == alone.n_components_
    np.testing.assert_array_equal(chosen.masks_, alone.masks_)
    for name in ("best_validation_score_", "noise_std_"):
        if hasattr(alone, name):
            np.testing.assert_allclose(getattr(chosen, name), getattr(alone, name), rtol=1e-3)
    assert chosen.validation_scores_.shape[1:] == alone.validation_scores_.shape[1:]
    for found, expected in zip(
        chosen.predict(X, return_std=True), alone.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-3)


def test_a_rate_that_destroys_the_fit_is_not_chosen(classification_data):
    rates = (0.98, 0.02)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sk_deltauq.baselines._mc_dropout.RATES", rates)
        params = {"early_stopping": True, "max_iter": 60, "learning_rate_init": 0.02}
        model = classifier(dropout="auto", n_members=2, **params).fit(*classification_data)
    assert model.dropout_ == 0.02
    assert model.masks_.mean() > 0.9
    assert model.score(*classification_data) > 0.8


@pytest.mark.parametrize("make", [regressor, classifier])
def test_training_continues_with_the_chosen_rate(make, regression_data, classification_data):
    X, y = regression_data if make is regressor else classification_data
    model = make(dropout="auto", early_stopping="auto", n_members=2, warm_start=True).fit(X, y)
    rate, masks = model.dropout_, model.masks_
    steps = [s["exp_avg"].shape for s in model.net_.optimizer_.state.values()]
    assert {shape[0] for shape in steps} == {5}, "networks, on 60 rows"
    for method in ("partial_fit", "fit", "partial_fit"):
        getattr(model, method)(X, y)
        assert model.dropout_ == rate
        np.testing.assert_array_equal(model.masks_, masks)


@pytest.mark.skipif(
    torch.cuda.is_available(),
    reason="where there is a GPU, torch's Adafactor fails once it has been copied or unpickled",
)
def test_factored_moments_of_an_optimizer_stay_with_their_networks(regression_data):
    X, y = regression_data
    net_params = {"optimizer": torch.optim.Adafactor}
    model = regressor(dropout="auto", early_stopping="auto", n_members=2, net_params=net_params)
    before = model.fit(X, y).predict(X)
    assert not np.array_equal(model.partial_fit(X, y).predict(X), before)


def test_a_grid_search_can_try_auto(regression_data):
    grid = {"dropout": ["auto", 0.9]}
    model = regressor(early_stopping="auto", max_iter=40, learning_rate_init=0.02)
    search = GridSearchCV(model, grid, cv=2).fit(*regression_data)
    assert search.best_params_ == {"dropout": "auto"}
    assert search.best_estimator_.dropout_ in (0.005, 0.01, 0.05, 0.1)


def test_auto_needs_held_out_rows(regression_data):
    X, y = regression_data
    match = r"dropout='auto' needs held-out rows .* early_stopping={!r} and n_samples={}"
    for early_stopping, n in ((False, 60), ("auto", 1)):
        model = regressor(dropout="auto", early_stopping=early_stopping)
        with pytest.raises(ValueError, match=match.format(early_stopping, n)):
            model.fit(X[:n], y[:n])
        assert not hasattr(model, "dropout_")
    with pytest.raises(ValueError, match="in a first call of partial_fit"):
        regressor(dropout="auto", early_stopping="auto").partial_fit(X, y)


# Hidden layers


@pytest.mark.parametrize("make", [regressor, classifier])
def test_networks_without_hidden_layers_are_rejected(make, regression_data, classification_data):
    data = regression_data if make is regressor else classification_data
    model = make(hidden_layer_sizes=())
    with pytest.raises(ValueError, match="hidden_layer_sizes must name at least one hidden layer"):
        model.fit(*data)
    assert not hasattr(model, "net_")


def test_an_integer_is_one_hidden_layer(regression_data):
    X, y = regression_data
    assert regressor(hidden_layer_sizes=9).fit(X, y).masks_.shape == (1, 6, 9)
