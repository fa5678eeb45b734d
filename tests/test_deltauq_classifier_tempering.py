"""Tempering of `DeltaUQClassifier`: shrink the logits of rows with high uncertainty."""

import numpy as np
import pytest
from scipy.special import softmax

from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._training.folds import assign_folds
from tests._deltauq_data import TEMPER, compute_logits_by_loop
from tests._helpers import (
    assert_close_predictions,
    assert_finite,
    assert_same_predictions,
    classifier,
    predict_all,
)


def mix_with_class_frequencies(model, proba):
    """Mix probabilities and class frequencies with the weight found on held-out rows."""
    mixing = model._calibration_.mixing
    return (1 - mixing.weight) * proba + mixing.weight * mixing.frequencies


@pytest.fixture(scope="module")
def tempered(classification_data):
    return classifier(**TEMPER, max_iter=20).fit(*classification_data)


def test_tempering_shrinks_the_logits_by_the_uncertainty(tempered, classification_data):
    X, _ = classification_data
    logits = compute_logits_by_loop(tempered, X)
    low, high = tempered.calibration_["logit_std_range"]
    std = logits.std(axis=0, ddof=1).mean(axis=1)
    shrink = 1 - np.clip((std - low) / (high - low), 0, 0.999)
    assert 0 <= shrink.min() < shrink.max() <= 1
    expected = softmax(logits * shrink[None, :, None], axis=2).mean(axis=0)
    np.testing.assert_allclose(
        tempered.predict_proba(X), mix_with_class_frequencies(tempered, expected), rtol=1e-4
    )
    # `logit_std` describes the logits before tempering.
    np.testing.assert_allclose(tempered.predict_uncertainty(X).logit_std, std, rtol=1e-4)


def test_tempering_range_is_computed_from_held_out_training_rows(tempered, classification_data):
    X, y = classification_data
    labels = np.searchsorted(tempered.classes_, y)
    _, held_out = assign_folds(numpy_rng(tempered.seed_, Stream.FOLDS, 0), 60, 10, 10, labels)
    assert held_out.shape == (10, 5)
    std = compute_logits_by_loop(tempered, X[held_out.ravel()]).std(axis=0, ddof=1).mean(axis=1)
    np.testing.assert_allclose(
        tempered.calibration_["logit_std_range"], [std.min(), std.max()], rtol=1e-5
    )


def test_tempering_lowers_the_confidence_of_uncertain_rows(classification_data, tempered):
    X, y = classification_data
    plain = classifier(calibration=None, early_stopping=True, max_iter=20).fit(X, y)
    far = np.vstack([X, 50 * X])
    lost = plain.predict_proba(far).max(axis=1) - tempered.predict_proba(far).max(axis=1)
    certain = (
        plain.predict_uncertainty(far).logit_std <= tempered.calibration_["logit_std_range"][0]
    )
    assert 0 < certain.sum() < 60
    np.testing.assert_allclose(lost[certain], 0, atol=1e-12)
    assert lost[~certain].min() > -1e-9
    assert lost[60:].mean() > 0.1
    assert_finite(predict_all(tempered, 1e30 * X))


@pytest.mark.parametrize("rows", [[0], [3, 1], slice(0, 60, 7)])
def test_tempered_prediction_does_not_depend_on_other_rows(tempered, classification_data, rows):
    X, _ = classification_data
    together, alone = predict_all(tempered, X), predict_all(tempered, X[rows])
    assert_close_predictions({k: v[rows] for k, v in together.items()}, alone)


def test_spread_and_temperature_need_held_out_rows(classification_data):
    X, y = classification_data
    for calibration in ("spread", "temperature"):
        model = classifier(calibration=calibration)
        message = f"calibration='{calibration}' takes its numbers from held-out rows"
        with pytest.raises(ValueError, match=message):
            model.fit(X, y)
        with pytest.raises(ValueError, match=f"{message}, and there are none in partial_fit"):
            model.partial_fit(X, y)
        assert not hasattr(model, "net_")


def test_changing_calibration_after_fit_has_no_effect(classification_data):
    X, y = classification_data
    model = classifier(early_stopping=True, calibration=None).fit(X, y)
    before = predict_all(model, X)
    # Like other parameters, `calibration` takes effect in `fit`.
    assert_same_predictions(predict_all(model.set_params(calibration="spread"), X), before)


@pytest.mark.parametrize(("temper", "calibration"), [(True, "spread"), (False, None)])
def test_deprecated_temper_names_the_new_parameter(classification_data, temper, calibration):
    X, y = classification_data
    with pytest.warns(FutureWarning, match=f"use calibration={calibration!r}"):
        old = classifier(early_stopping=True, temper=temper).fit(X, y)
    new = classifier(early_stopping=True, calibration=calibration).fit(X, y)
    assert_same_predictions(predict_all(old, X), predict_all(new, X))
