"""`target_transform`: every result in the units of y, all estimators, errors, and "auto"."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import r2_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from sk_deltauq import TransformedMixture
from sk_deltauq._estimators.monotone_maps import YeoJohnsonMap
from sk_deltauq._estimators.target_transform import fit_target_transform
from sk_deltauq.metrics import crps_scorer, density_nll_scorer, nll_scorer
from tests._estimators.test_regressor import MAKERS
from tests._helpers import (
    ONE_PER_METHOD,
    assert_finite,
    assert_same_predictions,
    mark_long,
    predict_all,
    regressor,
)

NAMES = ["log", "log1p", "yeo-johnson", "quantile"]
LOG = FunctionTransformer(np.log, np.exp)


def draw(n=60, seed=0, noise=0.5):
    """A log-normal target of one feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, 1))
    return X, 10 * np.exp(np.sin(2 * X[:, 0]) + noise * rng.normal(size=n))


X, y = draw()
LEARN = {"max_iter": 30, "early_stopping": "auto", "hidden_layer_sizes": (32,)}
TRANSFORMERS = [LOG, PowerTransformer(), PowerTransformer(method="box-cox"), StandardScaler()]


@pytest.mark.parametrize("choice", [*NAMES, *TRANSFORMERS], ids=str)
def test_everything_agrees_with_the_distribution_in_the_units_of_y(choice):
    model = regressor(target_transform=choice).fit(X, y)
    dist, found = model.predict_dist(X), predict_all(model, X)
    assert isinstance(dist, TransformedMixture)
    assert_finite(found)
    assert np.isfinite(dist.log_pdf(y)).all()
    for method, value in [
        ("predict", dist.mean),
        ("std", dist.std),
        ("predict_uncertainty.total", dist.std),
        ("predict_uncertainty.epistemic", dist.epistemic),
        ("predict_uncertainty.aleatoric", dist.aleatoric),
        ("predict_interval", dist.interval(0.9)),
        ("predict_quantiles", dist.ppf([0.1, 0.5, 0.9])),
        ("sample_y", dist.sample(2, random_state=np.random.default_rng(0))),
    ]:
        np.testing.assert_array_equal(found[method], value, err_msg=method)
    levels = dist.cdf(dist.ppf(0.3))
    np.testing.assert_allclose(levels, 0.3, atol=1e-6)
    draws = model.sample_y(X[:5], 4000, random_state=0)
    np.testing.assert_allclose(draws.mean(axis=1), found["predict"][:5], rtol=0.2)


def test_log_equals_a_model_of_the_logarithm():
    """Quantiles are the exponentials, and the density has the Jacobian 1 / y."""
    model = regressor(target_transform="log").fit(X, y)
    other = regressor().fit(X, np.log(y))
    np.testing.assert_allclose(
        model.predict_interval(X), np.exp(other.predict_interval(X)), rtol=1e-9
    )
    expected = other.predict_dist(X).log_pdf(np.log(y)) - np.log(y)
    np.testing.assert_allclose(model.predict_dist(X).log_pdf(y), expected, rtol=1e-9)
    mixture = other.predict_dist(X)
    mean = np.exp(mixture.means + mixture.stds**2 / 2).mean(axis=0)
    near = mixture.stds.max(axis=0) < 0.8  # wider mixtures reach the continued map
    np.testing.assert_allclose(model.predict(X)[near], mean[near], rtol=0.02)


@pytest.mark.parametrize("name", mark_long(MAKERS, ONE_PER_METHOD))
@pytest.mark.filterwarnings("ignore")
def test_all_estimators(name):
    model = MAKERS[name]().set_params(target_transform="log").fit(X, y)
    assert_finite(predict_all(model, X))
    assert (model.predict_interval(X, 0.999) > 0).all()
    again = pickle.loads(pickle.dumps(model))
    assert_same_predictions(predict_all(again, X), predict_all(model, X))
    assert_same_predictions(predict_all(clone(model).fit(X, y), X), predict_all(model, X))
    model.partial_fit(X[:20], y[:20])
    assert_finite(predict_all(model, X))
    assert MAKERS[name]().fit(X, y).target_transform_ is None


@pytest.mark.parametrize("choice", [*NAMES, LOG], ids=str)
def test_several_outputs_have_a_map_each(choice):
    Y = np.column_stack([y, 1e3 * y[::-1]])
    model = regressor(target_transform=choice).fit(X, Y)
    assert model.predict(X).shape == (60, 2)
    assert model.predict_interval(X).shape == (60, 2, 2)
    assert model.predict_dist(X).log_pdf(Y).shape == (60, 2)
    np.testing.assert_allclose(
        model.target_transform_.inverse_transform(model.target_transform_.transform(Y)), Y
    )


def test_scorers_and_grid_search():
    scores = [
        cross_val_score(
            regressor(target_transform="log"), X, y, cv=2, scoring=scorer, error_score="raise"
        )
        for scorer in (nll_scorer, density_nll_scorer, crps_scorer)
    ]
    assert np.isfinite(scores).all()
    grid = {"target_transform": [None, "log", "quantile", PowerTransformer()]}
    search = GridSearchCV(
        regressor(max_iter=30), grid, scoring=density_nll_scorer, cv=2, error_score="raise"
    ).fit(X, y)
    assert search.best_params_["target_transform"] is not None
    nested = regressor(target_transform=PowerTransformer())
    assert nested.set_params(target_transform__method="box-cox").fit(X, y).predict(X).min() > 0


@pytest.mark.parametrize("scaler", [StandardScaler(), RobustScaler()], ids=["standard", "robust"])
@pytest.mark.parametrize(
    "step", [LOG, FunctionTransformer(np.log1p, np.expm1)], ids=["log", "log1p"]
)
def test_a_linear_step_of_a_pipeline_changes_nothing(step, scaler):
    """Outside of its domain the first step gives infinity, which a scaler refuses."""
    model = regressor(target_transform=make_pipeline(step, scaler)).fit(X, y)
    alone = regressor(target_transform=step).fit(X, y)
    for method in ("predict", "predict_interval"):
        found, expected = getattr(model, method)(X), getattr(alone, method)(X)
        np.testing.assert_allclose(found, expected, rtol=1e-3, err_msg=method)


def test_a_transformer_of_the_user_is_copied():
    mine = PowerTransformer()
    model = regressor(target_transform=mine).fit(X, y)
    assert not hasattr(mine, "lambdas_")
    assert model.target_transform is mine


# Errors


@pytest.mark.parametrize(
    ("choice", "low", "message"),
    [
        ("log", 0.0, "needs targets above 0, but the smallest target of output 0 is 0.0.*log1p"),
        ("log", -3.0, "smallest target of output 0 is -3.0. Use 'yeo-johnson'"),
        ("log1p", -1.0, "needs targets above -1, but the smallest target of output 0 is -1.0"),
        (LOG, 0.0, "must be strictly monotone.* maps the target 0.0 to -inf"),
        (FunctionTransformer(np.square, np.sqrt), -30.0, "must be strictly monotone"),
        (FunctionTransformer(np.log1p), 0.0, "does not give the targets back"),
        (FunctionTransformer(np.round, np.round), 0.0, "does not tell"),
    ],
    # The text of a function holds its address, which is another one in each process.
    ids=["log", "log-", "log1p", "LOG", "square", "no inverse", "round"],
)
def test_targets_outside_the_domain_and_maps_that_turn_round(choice, low, message):
    changed = y.copy()
    changed[7] = low
    model = regressor(target_transform=choice)
    before = vars(model).copy()
    with pytest.raises(ValueError, match=message):
        model.fit(X, changed)
    assert vars(model) == before


def test_ties_of_a_quantile_transformer_have_no_density():
    counts = np.floor(y)
    with pytest.raises(ValueError, match="strictly monotone"):
        regressor(target_transform=QuantileTransformer(n_quantiles=60)).fit(X, counts)
    with pytest.raises(ValueError, match="strictly monotone"):
        regressor(target_transform=KBinsDiscretizer(3, encode="ordinal")).fit(X, y)


@pytest.mark.parametrize("name", ["yeo-johnson", "quantile"])
def test_a_rare_event_is_in_the_sample(name):
    """Evenly spaced quantiles of 2,499 zeros and a one have no one."""
    Y = np.zeros((2500, 1))
    Y[7] = 1
    (found,) = fit_target_transform([name], Y, np.ones(2500)).maps
    low, high = found.forward(np.array([0.0, 1.0]))
    assert np.isfinite([low, high]).all()
    assert low < high


@pytest.mark.parametrize("choice", ["sqrt", 3, StandardScaler])
def test_other_values_are_refused(choice):
    with pytest.raises((ValueError, TypeError), match="target_transform"):
        regressor(target_transform=choice).fit(X, y)


# Fits that continue


@pytest.mark.parametrize("choice", [*NAMES, LOG], ids=str)
def test_the_first_fit_fixes_the_transformation(choice):
    model = regressor(target_transform=choice).partial_fit(X[:30], y[:30])
    first = model.target_transform_
    model.partial_fit(X, 3 * y)
    assert model.target_transform_ is first
    model.set_params(warm_start=True).fit(X, y)
    assert model.target_transform_ is first
    assert_finite(predict_all(model, X))
    with pytest.raises(ValueError, match="another target_transform: it is None"):
        model.set_params(target_transform=None).fit(X, y)


def test_later_targets_must_have_a_value_too():
    model = regressor(target_transform="log").partial_fit(X, y)
    with pytest.raises(ValueError, match="needs targets above 0"):
        model.partial_fit(X, -y)
    with pytest.raises(ValueError, match="needs targets above 0"):
        regressor(target_transform="log", early_stopping=True).fit(X, y, X_val=X, y_val=-y)


# How the maps are fitted


def test_yeo_johnson_has_the_power_of_scikit_learn_and_no_unit():
    Y, ones = np.sqrt(y)[:, None] - 3, np.ones(60)
    scale = np.sqrt(np.square(Y).mean())
    (g,) = fit_target_transform(["yeo-johnson"], Y, ones).maps
    reference = PowerTransformer(standardize=False)
    expected = reference.fit_transform(Y / scale)[:, 0]
    assert 0.3 < reference.lambdas_[0] < 1.7  # well inside of the allowed range
    np.testing.assert_allclose(g.forward(Y[:, 0]), expected, rtol=1e-6, atol=1e-8)
    (other,) = fit_target_transform(["yeo-johnson"], 1e9 * Y, ones).maps
    np.testing.assert_allclose(other.forward(1e9 * Y[:, 0]), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(("sign", "bound"), [(1, 0.0), (-1, 2.0)])
def test_beyond_zero_and_two_the_power_of_yeo_johnson_is_the_nearer_bound(sign, bound):
    Y = sign * y[:, None]
    reference = PowerTransformer(standardize=False).fit(Y / np.sqrt(np.square(Y).mean()))
    assert sign * reference.lambdas_[0] < sign * bound
    (g,) = fit_target_transform(["yeo-johnson"], Y, np.ones(60)).maps
    assert g.original.power == bound


@pytest.mark.parametrize("power", [0.0, 0.7, 2.0])
@pytest.mark.parametrize("sign", [1, -1])
def test_no_allowed_power_has_an_asymptote(power, sign):
    g = YeoJohnsonMap(power, 1.0)
    far = sign * np.logspace(0, 140, 15)
    steps = sign * np.diff(g.forward(far))
    assert (steps > 1).all()  # at least as much for each factor of 1e10


@pytest.mark.parametrize("name", ["log-normal", "gamma", "exponential", "minus", "both signs"])
def test_means_and_stds_of_yeo_johnson_are_useful(name):
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, (500, 1))
    centre = np.exp(1 + 1.5 * rows[:, 0])
    values = {
        "log-normal": centre * np.exp(0.5 * rng.normal(size=500)),
        "gamma": rng.gamma(2, centre / 2),
        "exponential": rng.exponential(centre),
        "minus": -rng.gamma(2, centre / 2),
        "both signs": np.sinh(2 * rows[:, 0] + 0.7 * rng.normal(size=500)),
    }[name]
    train, test = slice(0, 150), slice(150, None)
    model = regressor(target_transform="yeo-johnson", **LEARN)
    model.fit(rows[:150], values[:150])
    # The best prediction is the conditional mean, which is nearly a line of `centre`.
    features = np.column_stack([centre, rows, np.ones(500)])
    line = features @ np.linalg.lstsq(features[train], values[train], rcond=None)[0]
    best = r2_score(values[test], line[test])
    assert r2_score(values[test], model.predict(rows[test])) > best - 0.15
    assert model.predict_uncertainty(rows[test]).total.max() < 5 * values[train].std()


@pytest.mark.parametrize("name", ["yeo-johnson", PowerTransformer()], ids=str)
def test_weights_are_copies(name):
    Y, weights = y[:, None], np.arange(60) % 3 + 1
    (weighted,) = fit_target_transform([name], Y, weights.astype(float)).maps
    (copied,) = fit_target_transform([name], np.repeat(Y, weights, axis=0), np.ones(120)).maps
    np.testing.assert_allclose(weighted.forward(y), copied.forward(y), rtol=0.02, atol=0.02)
    (plain,) = fit_target_transform([name], Y, np.ones(60)).maps
    assert np.abs(plain.forward(y) - weighted.forward(y)).max() > 1e-4


def test_quantile_makes_the_targets_normal():
    _, many = draw(2000)
    (g,) = fit_target_transform(["quantile"], many[:, None], np.ones(2000)).maps
    z = np.sort(g.forward(many))
    assert abs(z.mean()) < 0.02
    assert z.std() == pytest.approx(1, abs=0.03)
    assert np.abs(z).max() < 4


@pytest.mark.parametrize("name", [*NAMES, PowerTransformer(), LOG], ids=str)
@pytest.mark.filterwarnings("ignore::sk_deltauq.exceptions.UncertaintyWarning")
def test_constant_and_nearly_constant_targets(name):
    for values in (np.full(60, 3.0), np.where(np.arange(60) < 1, 3.0, 4.0)):
        model = regressor(target_transform=name).fit(X, values)
        assert_finite(predict_all(model, X))


@pytest.mark.parametrize("choice", ["log1p", "yeo-johnson", "quantile"])
def test_zero_inflated_counts_have_honest_intervals(choice):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(400, 3))
    counts = (rng.random(400) < 0.15) * rng.poisson(np.exp(1 + rows[:, 0]))
    model = regressor(target_transform=choice, max_iter=20, early_stopping="auto")
    model.fit(rows[:300], counts[:300])
    lower, upper = model.predict_interval(rows[300:], 0.9).T
    assert np.isfinite(model.predict_dist(rows).log_pdf(counts)).all()
    assert ((lower <= counts[300:]) & (counts[300:] <= upper)).mean() > 0.8
