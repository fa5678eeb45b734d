"""Golden predictions: what every estimator answered before the library was restructured.

Write them with `python -m tests.golden.make`, and compare to the last bit with
`python -m tests.golden.make --exact`; `tests/golden/test_golden.py` compares to 1e-5.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import torch
from sklearn.base import is_classifier

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines

FILE = Path(__file__).with_name("predictions.npz")

ESTIMATORS = {
    "DeltaUQRegressor": DeltaUQRegressor,
    "DeltaUQClassifier": DeltaUQClassifier,
    **{name: getattr(baselines, name) for name in baselines.__all__},
}

VARIANTS = {
    "DeltaUQRegressor": {
        "members": {"n_members": 3},
        "homoscedastic": {"noise": "homoscedastic", "n_members": 2},
        "noiseless": {"noise": None, "embedding": "sinusoidal"},
        "plain": {"widening": 0, "calibrate": False, "embedding": "periodic", "averaging": 1},
        "all_rows": {"early_stopping": False, "alpha": 0.1, "learning_rate": "constant"},
    },
    "DeltaUQClassifier": {
        "members": {"n_members": 3, "embedding": "alternating"},
        "temper": {"temper": True, "n_members": 2},
        "balanced": {"class_weight": "balanced", "activation": "tanh"},
    },
    "MCDropoutRegressor": {"auto": {"dropout": "auto", "n_members": 2}},
    "MCDropoutClassifier": {"auto": {"dropout": "auto"}},
    "DeepEnsembleRegressor": {"adversarial": {"adversarial_epsilon": 0.01}},
    "DeepEnsembleClassifier": {"adversarial": {"adversarial_epsilon": 0.01}},
    "VariationalBNNRegressor": {"members": {"n_members": 2, "noise": "homoscedastic"}},
}


def module(in_features, out_features):
    """A user's own network."""
    return torch.nn.Sequential(
        torch.nn.Linear(in_features, 8), torch.nn.ReLU(), torch.nn.Linear(8, out_features)
    )


def rows():
    """Rows, two targets, labels and weights."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(160, 3)) * [1, 10, 0.1] + [0, 5, 0]
    Y = np.column_stack([np.sin(X[:, 0]) + 0.1 * X[:, 1], X[:, 0] ** 2])
    Y += 0.2 * rng.standard_normal(Y.shape)
    labels = np.array(["a", "b", "c"])[np.digitize(Y[:, 0], [0, 1])]
    weights = rng.uniform(0, 2, len(X)) * (rng.uniform(size=len(X)) > 0.1)
    return X, Y, labels, weights


def answers(model, X):
    """What a model says of rows."""
    parts = model.predict_uncertainty(X)
    if is_classifier(model):
        found = {"proba": model.predict_proba(X), "log_proba": model.predict_log_proba(X)}
    else:
        mean, std = model.predict(X, return_std=True)
        found = {"mean": mean, "std": std, "interval": model.predict_interval(X)}
    return found | dict(parts)


def scenarios(name):
    """Pairs (scenario, fitted model)."""
    make, (X, Y, labels, weights) = ESTIMATORS[name], rows()
    y = labels if name.endswith("Classifier") else 100 * Y[:, 0]
    few = {"max_iter": 6, "n_iter_no_change": 3, "random_state": 3}
    yield "fit", make(**few).fit(X, y)
    yield "weights", make(**few).fit(X, y, sample_weight=weights)
    warm = make(**few, warm_start=True).fit(X, y)
    yield "warm_start", warm.set_params(max_iter=4).fit(X[10:], y[10:])
    partial = make(**few)
    for part in (slice(0, 60), slice(60, 130), slice(130, 160)):
        partial.partial_fit(X[part], y[part])
    yield "partial_fit", partial
    yield "fit_then_partial_fit", make(**few).fit(X, y).partial_fit(X[:50], y[:50])
    if not name.startswith("PBP") and name.endswith("Regressor"):
        yield "two_outputs", make(**few).fit(X, Y)
    if "module" in make().get_params():
        yield "module", make(**few, module=module).fit(X, y)
    for variant, params in VARIANTS.get(name, {}).items():
        yield variant, make(**few, **params).fit(X, y)
        yield f"{variant}_weights", make(**few, **params).fit(X, y, sample_weight=weights)


def predictions():
    """All answers, by `estimator/scenario/answer`."""
    X = rows()[0]
    new = np.concatenate([X[:10], 3 * X[:6]])
    found = {}
    warnings.simplefilter("ignore")
    torch.set_num_threads(2)
    for name in ESTIMATORS:
        for scenario, model in scenarios(name):
            for answer, values in answers(model, new).items():
                found[f"{name}/{scenario}/{answer}"] = values
            for attribute in ("loss_curve_", "validation_scores_", "std_factor_", "anchors_"):
                if getattr(model, attribute, None) is not None:
                    found[f"{name}/{scenario}/{attribute}"] = np.asarray(getattr(model, attribute))
    return found


def main():
    found = predictions()
    if "--exact" not in sys.argv:
        np.savez_compressed(FILE, **found)
        print(f"{len(found)} arrays written to {FILE}")
        return
    golden = dict(np.load(FILE))
    missing = golden.keys() ^ found.keys()
    differ = [key for key, v in golden.items() if not np.array_equal(v, found.get(key))]
    print(*sorted(missing), *sorted(differ), sep="\n")
    print(f"{len(golden)} golden arrays, {len(differ)} differ, {len(missing)} missing or new")
    sys.exit(bool(missing or differ))


if __name__ == "__main__":
    main()
