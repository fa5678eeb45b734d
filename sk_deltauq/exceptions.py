"""Warnings of the package."""

__all__ = ["UncertaintyWarning"]


class UncertaintyWarning(UserWarning):
    """The predicted uncertainty may be wrong: few rows, no hold-out, near copies, outliers.

    The message names the reason and what to do. Turn it into an error with
    ``warnings.simplefilter("error", UncertaintyWarning)``.

    Examples
    --------
    >>> import warnings
    >>> from sk_deltauq import DeltaUQRegressor
    >>> from sk_deltauq.exceptions import UncertaintyWarning
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0]], [0.0, 1.0, 0.0, 1.0, 0.0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always", UncertaintyWarning)
    ...     model = DeltaUQRegressor(max_iter=5, random_state=0).fit(X, y)
    >>> for warning in caught:
    ...     if issubclass(warning.category, UncertaintyWarning):
    ...         print(warning.message)
    DeltaUQRegressor can hold out only 4 rows, so its uncertainty is a rough guess. ...
    """
