import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sk_deltauq.plotting import UncertaintyPartsDisplay
from tests._helpers import classifier, regressor
from tests.plotting._helpers import TwoOutputs


def test_parts_of_a_regressor_in_a_pipeline_and_in_a_search(line):
    X, y = line
    pipeline = make_pipeline(StandardScaler(), regressor())
    search = GridSearchCV(pipeline, {}, cv=2)
    for model in (pipeline.fit(X, y), search.fit(X, y)):
        parts = pipeline[-1].predict_uncertainty(pipeline[:-1].transform(X))
        display = UncertaintyPartsDisplay.from_estimator(model, X)
        np.testing.assert_allclose(display.epistemic, parts.epistemic)
        np.testing.assert_allclose(display.aleatoric, parts.aleatoric)
        [points] = display.points_
        np.testing.assert_array_equal(points.get_xdata(), display.aleatoric)
        np.testing.assert_array_equal(points.get_ydata(), display.epistemic)


def test_classifier_uses_entropies(classification_data):
    X, y = classification_data
    model = classifier().fit(X, y)
    display = UncertaintyPartsDisplay.from_estimator(model, X)
    parts = model.predict_uncertainty(X)
    proba = model.predict_proba(X)
    total = -(proba * np.log(proba)).sum(axis=1)
    np.testing.assert_allclose(display.epistemic + display.aleatoric, total, rtol=1e-5, atol=1e-9)
    np.testing.assert_array_equal(display.epistemic, parts.epistemic)
    np.testing.assert_array_equal(display.aleatoric, parts.aleatoric)
    assert not np.allclose(display.epistemic, display.aleatoric)
    assert display.ax_.get_ylabel() == "epistemic entropy in nats"


def test_groups_have_their_own_points():
    groups = ["new", "known", "new"]
    display = UncertaintyPartsDisplay.from_predictions([1, 2, 3], [4, 5, 6], groups=groups)
    assert [points.get_label() for points in display.points_] == ["new", "known"]
    np.testing.assert_array_equal(display.points_[0].get_ydata(), [1, 3])
    assert len({points.get_color() for points in display.points_}) == 2
    assert len({points.get_marker() for points in display.points_}) == 2


def test_one_of_several_outputs(line):
    X, _ = line
    display = UncertaintyPartsDisplay.from_estimator(TwoOutputs().fit(X), X, target=1)
    np.testing.assert_allclose(display.epistemic, 1.2)
    np.testing.assert_allclose(display.aleatoric, 1.6)


def test_zero_uncertainty_can_be_drawn():
    display = UncertaintyPartsDisplay.from_predictions([0.0], [0.0])
    display.figure_.canvas.draw()
    for low, high in (display.ax_.get_xlim(), display.ax_.get_ylim()):
        assert low <= 0 < high
    [points] = display.points_
    np.testing.assert_array_equal(points.get_xydata(), [[0, 0]])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"epistemic": [-1.0], "aleatoric": [1.0]}, "epistemic must not be negative"),
        ({"epistemic": [1.0, 2.0], "aleatoric": [1.0]}, "aleatoric must have the shape"),
        ({"epistemic": [1.0], "aleatoric": [1.0], "groups": ["a", "b"]}, "groups must have shape"),
        (
            {"epistemic": [1.0, 1.0], "aleatoric": [1.0, 1.0], "groups": ["a", None]},
            "groups must not contain missing values",
        ),
    ],
)
def test_display_rejects_invalid_parts(params, message):
    with pytest.raises(ValueError, match=message):
        UncertaintyPartsDisplay.from_predictions(**params)


def test_display_rejects_estimator_without_parts(line, ridge):
    with pytest.raises(TypeError, match="needs an estimator with predict_uncertainty"):
        UncertaintyPartsDisplay.from_estimator(ridge, line[0])
