"""Small classification sets for the tests."""

import numpy as np

from benchmarks_uci.classification.sets import SETS, LabelledSet, number_rows


def toy_set(n_rows=90, n_features=4, n_classes=3, name="wine", seed=0, shape=None):
    """Three blobs under the name of a real set, so that its strengths apply."""
    rng = np.random.default_rng(seed)
    y = np.arange(n_rows) % n_classes
    X = 3 * rng.standard_normal((n_classes, n_features))[y] + rng.standard_normal(
        (n_rows, n_features)
    )
    if shape is not None:
        X = (X - X.min()) / np.ptp(X)
        X[0, :2] = 0, 1  # the range of any training rows
    order = np.lexsort(np.column_stack([X, y]).T[::-1])
    return LabelledSet(name, X, y, "made for a test", "0" * 64, order, shape)


def toy_spec(**fields):
    """The description of a set of 4 rows, 2 features and 2 classes."""
    from dataclasses import replace

    small = {"n_rows": 4, "n_features": 2, "n_classes": 2, "sklearn": None, "package": None}
    spec = replace(SETS["vowel"], name="toy", excluded=("part",), target="label", **small)
    X, labels = [[1, 2.5], [3, 4], [0, 9], [3, 7]], ["a", "b", "a", "b"]
    spec = replace(spec, content_hash=number_rows(spec, X, labels, "").content_hash)
    return replace(spec, **fields)
