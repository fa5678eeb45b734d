"""Files of every format version that a release has written can still be loaded.

`python -m tests.test_stored_formats` writes the files of the current version, `FORMAT_VERSION`, as
long as no release has written it. Later releases must read the committed files as they are.
"""

import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines, load
from sk_deltauq._outlier_scores import REGRESSOR_KINDS
from sk_deltauq._storage.files import FORMAT_VERSION
from tests._helpers import predict_all

FOLDER = Path(__file__).parent / "data" / "stored_models"
N = 30


def make_rows(name=""):
    """Return the same table on any machine; for some models it has text and missing values."""
    steps = np.arange(N) / N
    table = pd.DataFrame({"a": steps, "b": np.cos(9 * steps), "c": (7 * np.arange(N)) % 5})
    if name.endswith("_table"):
        table.loc[::4, "b"] = np.nan
        table["c"] = np.array(["oak", None, "ash", "elm"], dtype=object)[np.arange(N) % 4]
    return table


def fit_models():
    """Fit a few small models that together have most kinds of fitted attributes."""
    small = {"hidden_layer_sizes": (4,), "max_iter": 3, "random_state": 0, "n_members": 2}
    X = make_rows()
    y = np.exp(X["a"] + 0.3 * X["b"]).to_numpy()
    labels = np.where(X["b"] > 0.3, "up", np.where(X["a"] > 0.5, "late", "early"))
    models = {
        "delta_uq_regressor": (
            DeltaUQRegressor(
                **small, n_anchors=2, target_transform="quantile", embedding="alternating"
            ),
            np.column_stack([y, X["b"]]),
        ),
        "delta_uq_classifier": (
            DeltaUQClassifier(**small, n_anchors=2, calibration="spread", early_stopping=True),
            labels,
        ),
        "delta_uq_classifier_neighbours": (
            DeltaUQClassifier(**small, anchors="neighbours", n_anchors=2, calibration="spread"),
            labels,
        ),
        "deep_ensemble_regressor": (
            baselines.DeepEnsembleRegressor(
                **small, adversarial_epsilon=0.01, target_transform="log", noise="homoscedastic"
            ),
            y,
        ),
        "mc_dropout_classifier": (
            baselines.MCDropoutClassifier(**small, n_masks=3, class_weight={0: 1.0, 1: 2.0}),
            (X["b"] > 0).astype(int),
        ),
        "variational_bnn_regressor": (
            baselines.VariationalBNNRegressor(**small, n_draws=3, target_transform="yeo-johnson"),
            y,
        ),
        "anchor_ensemble_regressor": (
            baselines.AnchorEnsembleRegressor(**small, embedding="periodic", alpha=0.1),
            y,
        ),
        "delta_uq_regressor_table": (DeltaUQRegressor(**small, n_anchors=2), y),
        # The files of the other regressors are older than these scores, and must stay readable.
        "delta_uq_regressor_outliers": (DeltaUQRegressor(**small, n_anchors=2), y),
        "pbp_regressor": (
            baselines.PBPRegressor((4,), max_iter=2, random_state=0, target_transform="log1p"),
            y,
        ),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: model.fit(make_rows(name), y) for name, (model, y) in models.items()}


def list_files():
    return sorted(FOLDER.glob("*.safetensors"))


def test_there_are_files_of_every_version():
    versions = {path.name.partition("_")[0] for path in list_files()}
    assert versions == {f"v{version + 1}" for version in range(FORMAT_VERSION)}


# scikit-learn warns about its encoders if another version of it has written the file.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.InconsistentVersionWarning")
@pytest.mark.parametrize("path", list_files(), ids=lambda path: path.stem)
def test_files_of_earlier_releases_predict_the_same(path):
    model, X = load(path), make_rows(path.stem)
    expected = json.loads(path.with_suffix(".json").read_text("utf-8"))
    found = predict_all(model, X)
    assert found.keys() == expected.keys()
    params = model.get_params()
    for name, value in found.items():
        if value.dtype.kind == "f":  # other machines round differently
            np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)
        else:
            np.testing.assert_array_equal(value, expected[name], err_msg=name)
    target = model.predict(X)
    model.set_params(
        early_stopping=False, **({"calibration": None} if "calibration" in params else {})
    )
    assert model.partial_fit(X, target).n_iter_ > 1


def test_files_without_a_parameter_continue_with_its_default_only():
    model = load(FOLDER / "v1_delta_uq_classifier.safetensors")
    assert model.get_params()["anchors"] == "random"
    assert "anchors" not in model._trained_.fixed
    model.set_params(anchors="neighbours", warm_start=True)
    with pytest.raises(ValueError, match="another anchors"):
        model.fit(make_rows(), model.predict(make_rows()))


@pytest.mark.parametrize("kind", REGRESSOR_KINDS)
def test_files_hold_the_values_for_outlier_scores(kind):
    model = load(FOLDER / "v1_delta_uq_regressor_outliers.safetensors")
    X = make_rows()
    usual, far = model.outlier_score(X, kind), model.outlier_score(10 * X + 5, kind)
    assert np.isfinite(usual).all()
    assert kind == "reverse_anchoring" or np.median(far) > np.median(usual)


def test_the_files_are_small():
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 300_000 * FORMAT_VERSION


def write_files():
    """Write the files of the current version."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, model in fit_models().items():
        path = FOLDER / f"v{FORMAT_VERSION}_{name}.safetensors"
        model.save(path)
        expected = {
            key: value.tolist() for key, value in predict_all(model, make_rows(name)).items()
        }
        path.with_suffix(".json").write_text(json.dumps(expected), "utf-8")


if __name__ == "__main__":
    write_files()
