"""Sequential optimisation as one call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult
from tqdm.auto import tqdm

from sk_deltauq._warnings import warn_caller
from sk_deltauq.optimize._optimizer import Optimizer
from sk_deltauq.optimize._space import LARGEST, NoFreePointsError


def minimize(
    f: Callable[[np.ndarray], float],
    bounds: Any,
    n_calls: int = 50,
    *,
    callback: Callable[[OptimizeResult], Any] | None = None,
    verbose: bool | int = False,
    **settings: Any,
) -> OptimizeResult:
    """Minimise an expensive function by sequential optimisation.

    Parameters
    ----------
    f : callable
        The function, called as `f(x)` with an array of shape (n_parameters,). It returns a float.
        NaN marks a failed evaluation, which the search avoids. Infinite values, and values of
        more than 1e100 in size, count as failed, with a warning.
    bounds : array-like of shape (n_parameters, 2)
        Lower and upper bound of each parameter.
    n_calls : int, default=50
        Number of evaluations in total, evaluations in a stored optimisation included. There are
        fewer if a space of integers has fewer points.
    callback : callable, default=None
        Called after each evaluation with the result so far. The optimisation stops if it returns
        True or raises `StopIteration`.
    verbose : bool or int, default=False
        Whether to show a progress bar.
    **settings : object
        Further parameters of `Optimizer`, such as `surrogate`, `acquisition`, `n_initial`,
        `integers`, `noisy`, `random_state` or `path`.

    Returns
    -------
    result : scipy.optimize.OptimizeResult
        - `x` and `fun`: the best point and its value.
        - `x_iters` and `func_vals`: all points and values; NaN for failed evaluations.
        - `nfev`: number of evaluations.
        - `success`: whether any evaluation succeeded. Without one, `x` is None, and `fun` is NaN.
        - `message`: why the optimisation ended.
        - `optimizer`: the `Optimizer`, to continue with `ask` and `tell`.

    Raises
    ------
    ValueError
        If a parameter is invalid, if `maximize` is among the settings, or if `f` returns no
        number.
    TypeError
        If `f` or `callback` is not callable.

    See Also
    --------
    Optimizer : The same with `ask` and `tell`, also to maximise.

    Notes
    -----
    Errors of `f` are raised. With `path`, evaluated points are stored: the same call continues
    with the point whose evaluation did not end.

    Examples
    --------
    >>> from sk_deltauq.optimize import minimize
    >>> result = minimize(lambda x: (x[0] - 0.3) ** 2, [(-1, 1)], n_calls=8, random_state=0)
    >>> result.nfev, result.x.shape
    (8, (1,))
    >>> bool(result.fun < 0.02)
    True
    """
    for name, value in [("f", f), ("callback", callback)]:
        if not callable(value) and (value is not None or name == "f"):
            raise TypeError(f"{name} must be callable, got {type(value).__name__}.")
    if "maximize" in settings:
        raise ValueError("minimize has no parameter maximize: minimise -f(x), or use Optimizer.")
    if not isinstance(n_calls, (int, np.integer)) or isinstance(n_calls, bool) or n_calls < 1:
        raise ValueError(f"n_calls must be an integer from 1 on, got {n_calls!r}.")
    optimizer = Optimizer(bounds, **settings)
    reason = ""
    bar = tqdm(total=n_calls, initial=len(optimizer.y_), unit="call", disable=not verbose)
    with bar:
        while len(optimizer.y_) < n_calls:
            # A pending point is one that an earlier run did not finish.
            try:
                x = optimizer.pending_[0] if len(optimizer.pending_) else optimizer.ask()[0]
            except NoFreePointsError:
                reason = "These are all points of the space."
                break
            optimizer.tell(x, _evaluate(f, x))
            result = _collect(optimizer)
            bar.update()
            bar.set_postfix(best=f"{result.fun:.4g}")
            if callback is not None and _wants_to_stop(callback, result):
                reason = "The callback stopped the optimisation."
                break
    return _collect(optimizer, reason)


def _evaluate(f: Callable[[np.ndarray], float], x: np.ndarray) -> Any:
    """Return the value of a point; NaN for a number that no surrogate can be fitted to."""
    value = f(x.copy())
    try:
        is_too_large = abs(float(np.asarray(value, dtype=object).item())) > LARGEST
    except (TypeError, ValueError):
        return value  # no number: `tell` explains
    except OverflowError:
        is_too_large = True
    if is_too_large:
        warn_caller(
            f"f returned {value} for {x.tolist()}. This counts as a failed evaluation. Return NaN "
            "for a failure.",
            UserWarning,
        )
        return np.nan
    return value


def _wants_to_stop(callback: Callable[[OptimizeResult], Any], result: OptimizeResult) -> bool:
    """Call the callback, and return whether it stops the optimisation."""
    try:
        stop = callback(result)
    except StopIteration:
        return True
    return isinstance(stop, (bool, np.bool_)) and bool(stop)


def _collect(optimizer: Optimizer, reason: str = "") -> OptimizeResult:
    """Return the result so far."""
    values, n = optimizer.y_, len(optimizer.y_)
    success = bool(np.isfinite(values).any())
    made = "1 evaluation was made." if n == 1 else f"{n} evaluations were made."
    parts = [made, reason, "" if success else "All of them failed."]
    return OptimizeResult(
        x=optimizer.x_best_ if success else None,
        fun=optimizer.y_best_ if success else np.nan,
        x_iters=optimizer.X_,
        func_vals=values,
        nfev=n,
        success=success,
        message=" ".join(part for part in parts if part),
        optimizer=optimizer,
    )
