"""Real regression data, and where each set comes from.

The sets here are carried in scikit-learn's wheel, so that they need no network. Linnerud, its
other regression set, has 20 rows: four to test on would say nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine


@dataclass(frozen=True)
class Dataset:
    """One regression problem; the arrays are read-only.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    source : str
        What is predicted from what, and who carries the data.
    """

    X: np.ndarray
    y: np.ndarray
    source: str

    def __post_init__(self):
        for array in (self.X, self.y):
            array.setflags(write=False)


def _diabetes() -> Dataset:
    X, y = load_diabetes(return_X_y=True, scaled=False)
    return Dataset(
        X,
        y,
        "progression of diabetes after one year from ten measurements of a patient "
        "(sklearn.datasets.load_diabetes)",
    )


def _alcohol() -> Dataset:
    table = load_wine().data
    return Dataset(
        np.ascontiguousarray(table[:, 1:]),
        table[:, 0].copy(),
        "alcohol content of a wine from its twelve other chemical measurements "
        "(sklearn.datasets.load_wine)",
    )


def _nuclei() -> Dataset:
    table = load_breast_cancer().data
    return Dataset(
        np.ascontiguousarray(table[:, :10]),
        table[:, 20].copy(),
        "radius of the largest cell nuclei of a biopsy from the means of ten measurements of all "
        "its nuclei (sklearn.datasets.load_breast_cancer)",
    )


DATASETS = {"diabetes": _diabetes, "alcohol": _alcohol, "nuclei": _nuclei}


def load(name: str) -> Dataset:
    """The set of this name, a key of `DATASETS`."""
    return DATASETS[name]()
