"""Ask for points to evaluate, and learn from their values."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from sk_deltauq._host import draw_seed, one_thread
from sk_deltauq.optimize._dependencies import require_botorch
from sk_deltauq.optimize._fitting import Surrogates
from sk_deltauq.optimize._space import LARGEST, Space
from sk_deltauq.optimize._state import SOBOL, State
from sk_deltauq.optimize._state_file import StateFile

# The keys of `ACQUISITIONS` in `_acquisition.py`, which imports BoTorch.
NAMES = ("log_ei", "log_nei", "ucb", "gibbon", "thompson")


class Optimizer:
    """Sequential optimisation of an expensive function, by asking and telling.

    `ask` proposes points, and `tell` takes their values. The first points are a Sobol design.
    Then each `ask` fits the surrogate to all values, and proposes the maximum of an acquisition
    function. Points that were asked for and not told yet are pending: further proposals allow for
    them, so several points can be evaluated at once.

    Parameters
    ----------
    bounds : array-like of shape (n_parameters, 2)
        Lower and upper bound of each parameter, finite.
    surrogate : regressor, default=None
        Unfitted regressor of this package. Each fit uses a copy with a random state of its own.
        None means `surrogate()` with `target_transform="yeo-johnson"`, and
        `surrogate(calibrated=True)` for a point that is asked for while others are pending: its
        standard deviation keeps the points of a batch apart. With `noisy`, None means
        `surrogate(noisy=True)`.
    acquisition : str or callable, default="auto"
        What to maximise over the bounds:

        - "log_ei": logarithm of the expected improvement; with pending points its Monte Carlo
          version (`qLogExpectedImprovement`).
        - "log_nei": the same over noisy values (`qLogNoisyExpectedImprovement`).
        - "ucb": upper confidence bound at two standard deviations.
        - "gibbon": information about the maximum (`qLowerBoundMaxValueEntropy`).
        - "thompson": one component of the surrogate, drawn anew for each point.

        "auto" is "log_nei" with `noisy`, else "log_ei". A callable gets an object with `model`,
        `told`, `values`, `pending` and `seed`, and returns a BoTorch acquisition function. It
        searches the unit cube, with standardised values of which the largest is best. If the
        surrogate has a `target_transform`, the values are transformed.
    n_initial : int, default=None
        Number of points to ask for or tell before the surrogate is used, at least 2. Data of your
        own count. None means twice the number of parameters, between 5 and 20.
    integers : iterable of int, default=()
        Positions of the parameters that are integers; proposals are rounded.
    maximize : bool, default=False
        Whether to look for the largest value. By default, the smallest.
    noisy : bool, default=False
        Whether one point may have several different values. The default surrogate then estimates
        the noise. `ask` never repeats a point: evaluate it again yourself.
    random_state : int, RandomState instance or None, default=None
        Seed. An int makes proposals reproducible. With a stored state, the seed comes from the
        file, and an int must be the same.
    path : str or path-like, default=None
        File for the state, written at each `ask` and `tell`. If it exists, the optimisation
        continues from there with the same proposals, also after the process was killed. Only one
        `Optimizer` may use a file at a time.

    Attributes
    ----------
    X_ : ndarray of shape (n_points, n_parameters)
        Evaluated points, in the order of `tell`.
    y_ : ndarray of shape (n_points,)
        Their values; NaN for failed evaluations.
    pending_ : ndarray of shape (n_pending, n_parameters)
        Points that were asked for and not told yet.
    x_best_ : ndarray of shape (n_parameters,)
        Point with the best value so far.
    y_best_ : float
        Best value so far.
    estimator_ : regressor
        A copy of the surrogate, fitted to all values so far, in the units of `X_` and `y_`. The
        standard deviation of the default one is too small to read: fit
        `surrogate(calibrated=True)`.

    Raises
    ------
    ImportError
        If BoTorch is not installed.
    TypeError
        If the surrogate is no regressor of this package.
    ValueError
        If a parameter is invalid, also of the surrogate, or if the file in `path` is damaged or
        has other settings.

    See Also
    --------
    minimize : Runs the whole loop.
    BoTorchModel : For constraints, categories or several objectives with BoTorch itself.

    Notes
    -----
    A proposal depends on the seed and the points and values so far, and on nothing else, so a
    stored optimisation continues as if it had not stopped. A proposal is never within 1e-6 of an
    evaluated or pending point, in units of the bounds. Failed evaluations have the worst value so
    far in the fit, so the search avoids them. The bounds scale the parameters, so their units do
    not matter.

    Examples
    --------
    >>> from sk_deltauq.optimize import Optimizer
    >>> optimizer = Optimizer([(0, 1), (0, 1)], n_initial=8, random_state=0)
    >>> for _ in range(10):
    ...     [x] = optimizer.ask()
    ...     optimizer.tell(x, (x[0] - 0.3) ** 2 + (x[1] - 0.6) ** 2)
    >>> optimizer.X_.shape
    (10, 2)
    >>> bool(optimizer.y_best_ < 0.05)
    True
    """

    def __init__(
        self,
        bounds: Any,
        *,
        surrogate: Any = None,
        acquisition: str | Callable = "auto",
        n_initial: int | None = None,
        integers: Iterable[int] = (),
        maximize: bool = False,
        noisy: bool = False,
        random_state: Any = None,
        path: str | PathLike | None = None,
    ):
        require_botorch("Optimizer")
        for name, value in (("maximize", maximize), ("noisy", noisy)):
            if not isinstance(value, (bool, np.bool_)):
                raise ValueError(f"{name} must be True or False, got {value!r}.")
        self._space = Space.make(bounds, integers)
        self._surrogates = Surrogates.make(surrogate, noisy=noisy)
        self._acquisition = _check_acquisition(acquisition, noisy)
        n_parameters = self._space.n_parameters
        self._n_initial = min(max(5, 2 * n_parameters), 20) if n_initial is None else n_initial
        if not isinstance(self._n_initial, (int, np.integer)) or self._n_initial < 2:
            raise ValueError(f"n_initial must be an integer from 2 on, got {n_initial!r}.")
        self._sign, self._noisy = 1.0 if maximize else -1.0, bool(noisy)
        self._file = None if path is None else StateFile(_check_path(path), self._describe())
        self._state = self._start(random_state)

    @property
    def X_(self) -> np.ndarray:
        """Evaluated points."""
        return self._state.X.copy()

    @property
    def y_(self) -> np.ndarray:
        """Values of the evaluated points."""
        return self._state.y.copy()

    @property
    def pending_(self) -> np.ndarray:
        """Points that were asked for and not told yet."""
        return self._state.pending.copy()

    @property
    def x_best_(self) -> np.ndarray:
        """Point with the best value so far."""
        return self._state.X[self._find_best()].copy()

    @property
    def y_best_(self) -> float:
        """Best value so far."""
        return float(self._state.y[self._find_best()])

    @property
    def estimator_(self) -> Any:
        """The surrogate, fitted to all values so far."""
        if not _is_enough(self._state.y):
            raise NotFittedError(
                "The surrogate needs two different values. Ask for points and tell their values, "
                "or tell values that you have."
            )
        return copy.deepcopy(self._fit_surrogate(self._state, in_batch=False))

    def ask(self, n: int = 1) -> np.ndarray:
        """Propose points to evaluate. They are pending until `tell` gets their values.

        Parameters
        ----------
        n : int, default=1
            Number of points.

        Returns
        -------
        X : ndarray of shape (n, n_parameters)
            New points, in the units of the bounds.

        Raises
        ------
        ValueError
            If `n` is invalid, or if fewer than `n` points of a space of integers are free.
        OSError
            If the file cannot be written; no more points are pending then.
        RuntimeError
            If another `Optimizer` wrote to the file; no more points are pending then.
        """
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise ValueError(f"n must be an integer from 1 on, got {n!r}.")
        state = self._state
        self._space.check_free(state.taken, n)
        for _ in range(n):
            state = self._propose(state)
        self._write(state)
        self._state = state
        return state.pending[-n:].copy()

    def tell(self, x: Any, y: Any) -> None:
        """Add values of points, which may be any points inside the bounds.

        Parameters
        ----------
        x : array-like of shape (n_parameters,) or (n_points, n_parameters)
            One point or several.
        y : float or array-like of shape (n_points,)
            Their values. NaN marks a failed evaluation. A later `tell` replaces it by a value.
            Without `noisy`, NaN also takes a value back.

        Raises
        ------
        ValueError
            If the points or values are invalid: wrong shapes, NaN in `x`, points outside of the
            bounds, infinite or huge values, no numbers, or another value for a point that has
            one. Nothing of the call is stored then.
        OSError
            If the file cannot be written. The values are kept in memory, and the next `ask` or
            `tell` writes them.
        RuntimeError
            If another `Optimizer` wrote to the file. The values are kept in memory.
        """
        X, state = self._space.check_points(x), self._state
        values = _check_values(y, len(X))
        for point, value in zip(X, values, strict=True):
            state = state.add_value(point, float(value), self._space, noisy=self._noisy)
        self._state = state
        self._write(state)

    def _start(self, random_state: Any) -> State:
        """Return the stored state, or an empty one, which is then stored."""
        stored = None if self._file is None else self._file.read(self._space)
        if stored is not None:
            # Another object, such as a generator, gives another seed each time.
            is_int = isinstance(random_state, (int, np.integer))
            if is_int and _draw_seed(random_state) != stored.seed:
                raise ValueError(
                    "The file in path is of an optimisation with another random_state than "
                    f"{random_state}. Give the same one or None, or another path."
                )
            return stored
        empty = np.empty((0, self._space.n_parameters))
        state = State(empty, np.empty(0), empty, _draw_seed(random_state))
        self._write(state)
        return state

    def _describe(self) -> dict[str, Any]:
        """Return the settings that a stored state belongs to, as JSON has them."""
        acquisition: Any = self._acquisition
        if not isinstance(acquisition, str):
            acquisition = getattr(acquisition, "__name__", type(acquisition).__name__)
        return {
            "bounds": self._space.bounds.tolist(),
            "integers": np.flatnonzero(self._space.is_integer).tolist(),
            "maximize": self._sign > 0,
            "noisy": self._noisy,
            "n_initial": int(self._n_initial),
            "acquisition": acquisition,
            "surrogate": self._surrogates.describe(),
        }

    def _write(self, state: State) -> None:
        if self._file is not None:
            self._file.write(state)

    def _find_best(self) -> int:
        values = self._sign * self._state.y
        if not np.isfinite(values).any():
            raise NotFittedError("No point has a value yet: use tell first.")
        return int(np.nanargmax(values))

    def _propose(self, state: State) -> State:
        """Add one proposal to the pending points of a state."""
        n_points = np.isfinite(state.y).sum() + len(state.pending)
        if n_points < self._n_initial or not _is_enough(state.y):
            seed = state.seed, SOBOL
            x, number = self._space.draw_free(state.taken, state.n_drawn, seed)
            return state.add_pending(x, n_drawn=number + 1)
        return state.add_pending(self._search(state))

    def _fit_surrogate(self, state: State, *, in_batch: bool) -> Any:
        return self._surrogates.fit(state, self._space, self._sign, in_batch=in_batch)

    def _search(self, state: State) -> np.ndarray:
        """Return the point with the largest acquisition value."""
        from sk_deltauq.optimize._acquisition import propose_point

        with one_thread():
            fitted = self._fit_surrogate(state, in_batch=len(state.pending) > 0)
            return propose_point(fitted, state, self._space, self._sign, self._acquisition)


def _is_enough(y: np.ndarray) -> bool:
    """Return whether a surrogate can learn from these values: two of them differ."""
    values = y[np.isfinite(y)]
    return len(values) > 1 and bool(values.std() > 0)


def _check_values(y: Any, n: int) -> np.ndarray:
    """Return n values; NaN is a failed evaluation."""
    hint = "Use NaN for a failed evaluation."
    for value in np.array(y, dtype=object).reshape(-1):
        if value is None or isinstance(value, (str, bytes)):
            raise ValueError(
                f"y must hold numbers, got {value!r}. Does your function return its value? {hint}"
            )
    try:
        values = np.array(y, dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"y must hold numbers: {error}") from error
    if values.size == n and (n == 1 or values.shape == (n, 1)):
        values = values.reshape(-1)
    if values.shape != (n,):
        raise ValueError(f"y must have one value for each of {n} points, got shape {np.shape(y)}.")
    too_large = np.abs(values) > LARGEST
    if too_large.any():
        i = int(too_large.argmax())
        raise ValueError(
            f"y must be at most {LARGEST:g} in size, got {values[i]} for point {i}. {hint} "
            "Nothing of this call was stored."
        )
    return values


def _check_acquisition(acquisition: Any, noisy: bool) -> str | Callable:
    if isinstance(acquisition, str) and acquisition == "auto":
        return "log_nei" if noisy else "log_ei"
    is_name = isinstance(acquisition, str) and acquisition in NAMES
    if not is_name and not callable(acquisition):
        listed = ", ".join(map(repr, ("auto", *NAMES)))
        raise ValueError(
            f"acquisition must be one of {listed}, or a callable, got {acquisition!r}."
        )
    return acquisition


def _check_path(path: str | PathLike) -> Path:
    """Return the path of the state; raise an error if its folder does not exist."""
    if not isinstance(path, str | PathLike):
        raise TypeError(f"path must be a str or path-like object, got {type(path).__name__}.")
    path = Path(path)
    if not path.parent.is_dir():
        raise ValueError(f"path must be in a folder that exists, got {str(path)!r}.")
    return path


def _draw_seed(random_state: Any) -> int:
    try:
        return draw_seed(random_state)
    except ValueError as error:
        raise ValueError(
            "random_state must be an int from 0 to 2**32 - 1, a RandomState or None, got "
            f"{random_state!r}."
        ) from error
