"""scikit-learn's checks on every public estimator, with default and with special settings."""

import inspect

import pytest
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import estimator_checks
from sklearn.utils.validation import has_fit_parameter

import sk_deltauq
from sk_deltauq import baselines

DEPENDS_ON_ROW_ORDER = (
    "The check shuffles the weighted rows, and rows in another order get other random numbers. "
    "Without the shuffle, copies equal weights to the last bit (tests/test_duplicates.py)."
)
NO_PARTIAL_FIT = "partial_fit rejects early_stopping=True, because one call trains for one epoch."

PUBLIC_ESTIMATORS = [
    getattr(module, name)
    for module in (sk_deltauq, baselines)
    for name in module.__all__
    if inspect.isclass(getattr(module, name)) and issubclass(getattr(module, name), BaseEstimator)
]
TINY = {
    "hidden_layer_sizes": (32,),
    "max_iter": 10,
    "learning_rate_init": 0.05,
    "n_anchors": 5,
    "n_masks": 5,
    "n_draws": 5,
}
# An estimator gets only the settings that are among its parameters.
MEMBERS = {"n_members": 3, "noise": None, "embedding": "periodic", "adversarial_epsilon": 0.01}
HOLD_OUT = {
    "early_stopping": True,
    "calibration": "spread",
    "noise": "homoscedastic",
    "validation_fraction": 0.5,
    "dropout": "auto",
    "anchors": "neighbours",
}
VARIANTS = [{}, MEMBERS, HOLD_OUT]
# Baselines share the code that is checked, and a classifier has nearly all code of its regressor.
# So regressors are checked with their defaults, and classifiers with all special settings at once.
BASELINE_REGRESSORS, BASELINE_CLASSIFIERS = [{}], [MEMBERS | HOLD_OUT]
# The default tests run the checks without a fit on all instances, and the other checks on these
# pairs: a class, and the value of its parameter `early_stopping`.
QUICK = {("DeltaUQRegressor", "auto"), ("DeltaUQClassifier", True), ("PBPRegressor", "auto")}
CHECKS_WITHOUT_FIT = {
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_estimators_unfitted",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
}


def variants(cls):
    if cls.__name__ not in baselines.__all__:
        return VARIANTS
    return BASELINE_CLASSIFIERS if issubclass(cls, ClassifierMixin) else BASELINE_REGRESSORS


def instances():
    for cls in PUBLIC_ESTIMATORS:
        parameters = inspect.signature(cls).parameters
        for variant in variants(cls):
            settings = {**TINY, **variant}
            yield cls(**{name: settings[name] for name in settings if name in parameters})


def expected_failures(estimator):
    """Return checks that fail, with reasons; the MLP of scikit-learn fails each of them."""
    failures = {"check_sample_weight_equivalence_on_dense_data": DEPENDS_ON_ROW_ORDER}
    if estimator.get_params()["early_stopping"] is True and hasattr(estimator, "partial_fit"):
        failures |= dict.fromkeys(
            (
                "check_estimators_partial_fit_n_features",
                "check_fit_score_takes_y",
                "check_n_features_in_after_fitting",
            ),
            NO_PARTIAL_FIT,
        )
    return failures


CHECKS = estimator_checks.parametrize_with_checks(
    list(instances()), expected_failed_checks=expected_failures
)


def is_quick(estimator, check):
    early_stopping, n_members = map(estimator.get_params().get, ("early_stopping", "n_members"))
    quick = (type(estimator).__name__, early_stopping) in QUICK and n_members != 3
    return quick or check.func.__name__ in CHECKS_WITHOUT_FIT


def mark_checks():
    """Pairs of an estimator and a check; pairs that are not quick get the mark `long`."""
    for pair in CHECKS.args[1]:
        estimator, check = values = getattr(pair, "values", pair)
        marks = [*getattr(pair, "marks", ())]
        if not is_quick(estimator, check):
            marks.append(pytest.mark.long)
        yield pytest.param(*values, marks=marks)


compare = estimator_checks.assert_allclose_dense_sparse


def compare_as_float32(x, y, rtol=None, atol=None, err_msg=""):
    """Compare with a tolerance of float32: some processors round the last rows differently."""
    compare(x, y, rtol=1e-5, atol=1e-6, err_msg=err_msg)


@pytest.mark.parametrize(CHECKS.args[0], list(mark_checks()), **CHECKS.kwargs)
def test_scikit_learn_check(estimator, check, monkeypatch):
    if check.func.__name__ == "check_methods_sample_order_invariance":
        name = "assert_allclose_dense_sparse"
        monkeypatch.setattr(estimator_checks, name, compare_as_float32)
    check(estimator)


@pytest.mark.parametrize("estimator", list(instances()))
@pytest.mark.filterwarnings("ignore")
def test_mlp_of_scikit_learn_fails_the_expected_failures_too(estimator):
    cls = MLPClassifier if is_classifier(estimator) else MLPRegressor
    early_stopping = estimator.get_params()["early_stopping"] is True
    # With all 15 rows of the check in one mini-batch, it would pass the check of the weights.
    own = cls(hidden_layer_sizes=(8,), max_iter=12, batch_size=8, early_stopping=early_stopping)
    for name, reason in expected_failures(estimator).items():
        if reason is DEPENDS_ON_ROW_ORDER and not has_fit_parameter(own, "sample_weight"):
            continue  # the multilayer perceptron accepts weights since scikit-learn 1.7
        with pytest.raises((AssertionError, ValueError)):
            getattr(estimator_checks, name)(cls.__name__, own)


def test_the_public_estimators_are_found():
    assert {sk_deltauq.DeltaUQClassifier, sk_deltauq.DeltaUQRegressor} <= set(PUBLIC_ESTIMATORS)
    assert {getattr(baselines, name) for name in baselines.__all__} <= set(PUBLIC_ESTIMATORS)
