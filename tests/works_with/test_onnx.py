"""ONNX: both exporters of torch on all methods. ONNX Runtime predicts the same as torch."""

import io

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines

pytest.importorskip("onnx")
pytest.importorskip("onnxscript")
onnxruntime = pytest.importorskip("onnxruntime")

FEW = {"max_iter": 5, "random_state": 0}
REGRESSORS = [
    DeltaUQRegressor(**FEW),
    baselines.AnchorEnsembleRegressor(**FEW),
    baselines.DeepEnsembleRegressor(**FEW),
    baselines.MCDropoutRegressor(**FEW, n_masks=5),
    baselines.VariationalBNNRegressor(**FEW, n_draws=5),
]
CLASSIFIERS = [DeltaUQClassifier(**FEW), DeltaUQClassifier(**FEW, calibration="spread")]

# The packages warn about their own internals. A trace warns about each size that becomes a
# constant: the numbers of features, components and outputs.
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::FutureWarning", "ignore::torch.jit.TracerWarning"
)


def get_name(estimator):
    return type(estimator).__name__


def export(module, rows, *, dynamo):
    """Return a session that predicts any number of rows."""
    # The names of the outputs must not be names of operators, such as "mean".
    names = {"input_names": ["X"], "output_names": [f"y_{n}" for n in module(rows)._fields]}
    file = io.BytesIO()
    if dynamo:
        shapes = ({0: torch.export.Dim("rows")},)
        program = torch.onnx.export(
            module, (rows,), dynamo=True, dynamic_shapes=shapes, verbose=False, **names
        )
        assert program is not None
        program.save(file)
    else:
        axes = {"X": {0: "rows"}}
        torch.onnx.export(module, (rows,), file, dynamo=False, dynamic_axes=axes, **names)
    return onnxruntime.InferenceSession(file.getvalue())


def assert_same(session, module, X):
    for n_rows in (1, 7, len(X)):
        found = session.run(None, {"X": X[:n_rows]})
        for part, expected in zip(found, module(torch.tensor(X[:n_rows])), strict=True):
            assert part.shape == expected.shape
            assert part.dtype == X.dtype
            scale = max(expected.abs().max().item(), 1e-3)
            np.testing.assert_allclose(part, expected, rtol=1e-5, atol=1e-5 * scale)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("dynamo", [True, False], ids=["dynamo", "torchscript"])
@pytest.mark.parametrize("estimator", REGRESSORS, ids=get_name)
def test_regressors(regression_data, estimator, dynamo, dtype):
    X, y = regression_data
    module, X = estimator.fit(X, y).to_torch(), X.astype(dtype)
    assert_same(export(module, torch.tensor(X[:5]), dynamo=dynamo), module, X)


def test_without_noise_the_newer_exporter_keeps_the_rows_dynamic(regression_data):
    X, y = regression_data
    module = DeltaUQRegressor(**FEW, noise=None).fit(X, y).to_torch()
    assert_same(export(module, torch.tensor(X[:5]), dynamo=True), module, X)


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=get_name)
def test_classifiers(classification_data, estimator):
    X, y = classification_data
    module, X = estimator.fit(X, y).to_torch(), X.astype(np.float32)
    assert_same(export(module, torch.tensor(X[:5]), dynamo=True), module, X)


def test_pbp_needs_float32(regression_data):
    """ONNX Runtime has no error function in float64."""
    X, y = regression_data
    model = baselines.PBPRegressor(**FEW).fit(X, y)
    module, X = model.to_torch().float(), X.astype(np.float32)
    session = export(module, torch.tensor(X[:5]), dynamo=True)
    mean, std = session.run(["y_mean", "y_std"], {"X": X})
    np.testing.assert_allclose(mean, model.predict(X), rtol=1e-4)
    np.testing.assert_allclose(std, model.predict(X, return_std=True)[1], rtol=1e-3)
