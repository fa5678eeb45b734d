"""Array helpers of both mixtures: checks, selection of rows, computation in chunks."""

import math
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import logsumexp

_SAFE_EXPONENT = 400  # squares of numbers up to 2**400 are finite, and sums of them

_CHUNK_FLOATS = 2**17  # 1 MB per array: a dozen such arrays, alive at a time, fit in cache


def check_components(name, values, ndims):
    """Check an array with the components first, and make it read-only."""
    array = freeze_array(name, values, ndims)
    if len(array) == 0:
        raise ValueError(f"{name} must have at least one component on its first axis, got none.")
    return array


def freeze_array(name, values, ndims):
    """Convert to a finite, read-only float64 array. An array of this kind is not copied."""
    array = as_real(name, values)
    if array.ndim not in ndims:
        allowed = " or ".join(map(str, ndims))
        raise ValueError(f"{name} must have {allowed} axes, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity. Did the fit diverge?")
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def as_real(name, values):
    """Convert to float64, without a copy if possible."""
    try:
        array = np.asarray(values)
    except ValueError as error:  # rows of different lengths
        raise ValueError(f"{name} must be an array of real numbers: {error}") from error
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}.")
    try:
        return array.astype(np.float64, copy=False)
    except (OverflowError, TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers: {error}.") from error


def check_distribution(name, dist, method):
    """Raise an error unless a distribution has a method."""
    if not callable(getattr(dist, method, None)):
        raise TypeError(
            f"{name} must be a distribution with the method {method}, such as predict_dist(X), "
            f"got {type(dist).__name__}."
        )


def check_coverage(coverage: Any, name="coverage"):
    """Raise an error unless the coverage is one number strictly between 0 and 1."""
    if not (isinstance(coverage, Real) and 0 < float(coverage) < 1):
        raise ValueError(f"{name} must be one number strictly between 0 and 1, got {coverage!r}.")


def check_values(y, shape):
    """Convert values to evaluate to float64; only a scalar is broadcast to `shape`."""
    array = as_real("y", y)
    if array.ndim and array.shape != shape:
        raise ValueError(
            f"y must have the shape of the distribution, {shape}, got {array.shape}. "
            "Reshape y, since broadcasting would compare each value with every row."
        )
    if np.isnan(array).any():
        raise ValueError("y must not contain NaN. Drop or impute these rows.")
    return np.broadcast_to(array, shape)


def component_std(values, ddof=0):
    """Standard deviation over the components."""
    # Subtracting the first component makes the result exactly 0 if all components are equal.
    values = values - values[0]
    unit = find_unit(values)
    return unit * (values / unit).std(axis=0, ddof=ddof)


def find_unit(values):
    """Return a power of two for each column, so that squares of values / unit do not overflow."""
    _, exponent = np.frexp(np.abs(values).max(axis=0))
    return np.ldexp(1.0, np.where(np.abs(exponent) > _SAFE_EXPONENT, exponent, 0))


def log_mean_exp(values):
    """Logarithm of the mean of ``exp(values)`` over the components."""
    with np.errstate(under="ignore"):
        return np.asarray(logsumexp(values, axis=0)) - math.log(len(values))


def make_row_index(rows, n_samples):
    """Convert an index so that the row axis is kept. Slices stay slices, to avoid copies."""
    if isinstance(rows, slice):
        return rows
    rows = np.atleast_1d(np.arange(n_samples)[rows])
    if rows.ndim > 1:
        raise IndexError(
            "A mixture is indexed by rows only: use an integer, slice, 1-D array or mask."
        )
    return rows


def make_generator(random_state):
    """Create a generator; None takes a seed from the operating system, not from NumPy's state."""
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise type(error)(
            f"random_state must be a non-negative int, a generator or None, got {random_state!r}."
        ) from error


def compute_by_rows(compute, n_samples, floats_per_row):
    """Concatenate ``compute(rows)`` over slices of rows that are small enough for the cache."""
    step = max(1, _CHUNK_FLOATS // max(1, floats_per_row))
    starts = range(0, max(1, n_samples), step)  # without rows, one empty slice gives the shape
    return np.concatenate([compute(slice(start, start + step)) for start in starts])
