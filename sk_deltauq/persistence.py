"""Models from files that hold no code."""

from __future__ import annotations

from os import PathLike
from typing import Any

from sk_deltauq._estimators.base import BaseUQ
from sk_deltauq._storage.models import load_model

__all__ = ["load"]


def load(path: str | PathLike, **params: Any) -> Any:
    """Load a model from a file that its method `save` wrote.

    No code of the file runs. So a file from a source that you do not trust can give wrong
    predictions, but cannot do anything else.

    Parameters
    ----------
    path : str or path-like
        The file.
    **params : object
        Parameters of the estimator that a file cannot hold: `module`, `net_params` with callbacks
        or other objects, and a function as `anchor_corruption` or `input_corruption`. Pass what
        the model was fitted with. `net_params` is used only if training continues, so it may be
        `None` otherwise.

    Returns
    -------
    model : estimator
        The fitted estimator. Its answers equal the answers of the stored model to the last bit,
        on the same machine with the same versions. `partial_fit` and `warm_start` continue its
        training.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is truncated or damaged, of another program, or of a newer version of
        sk_deltauq, or if `params` are not exactly the parameters that the file needs.

    See Also
    --------
    DeltaUQRegressor.save : Write the file.

    Notes
    -----
    The checksum in the file detects damage. It is no signature: it does not say who wrote the
    file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_diabetes
    >>> from sk_deltauq import DeltaUQRegressor, load
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = DeltaUQRegressor(max_iter=20, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.save(Path(folder) / "model.safetensors")
    ...     again = load(Path(folder) / "model.safetensors")
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    return load_model(path, BaseUQ, params)
