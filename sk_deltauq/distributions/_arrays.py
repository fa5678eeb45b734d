"""What both mixtures do with arrays: check them, select rows, and compute chunk by chunk."""

import numpy as np

_CHUNK_FLOATS = 2**17  # 1 MB an array: stays in cache, a dozen of them live at a time


def checked_components(name, values, ndims):
    """A frozen array with at least one component."""
    array = frozen_array(name, values, ndims)
    if len(array) == 0:
        raise ValueError(f"{name} must have at least one component on its first axis, got none.")
    return array


def frozen_array(name, values, ndims):
    """Finite, read-only float64 array; a copy unless `values` is that already."""
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
    """Array of float64; a copy only where it has to be."""
    array = np.asarray(values)
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}.")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers: {error}.") from error


def spread(values, ddof=0):
    """Standard deviation over the components."""
    # Relative to the first component: exactly 0 when the components agree.
    return (values - values[0]).std(axis=0, ddof=ddof)


def row_index(rows, n_samples):
    """Index that keeps the row axis; slices stay slices, so that they select without a copy."""
    if isinstance(rows, slice):
        return rows
    rows = np.atleast_1d(np.arange(n_samples)[rows])
    if rows.ndim > 1:
        raise IndexError("A mixture is indexed by rows alone: integer, slice, 1-D array or mask.")
    return rows


def random_source(random_state):
    """Where draws come from; None is the operating system, not NumPy's global state."""
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    return np.random.default_rng(random_state)


def concatenate_rows(compute, n_samples, floats_per_row):
    """Concatenate ``compute(rows)`` over slices of rows that keep its temporaries small."""
    step = max(1, _CHUNK_FLOATS // max(1, floats_per_row))
    starts = range(0, max(1, n_samples), step)  # one empty slice if there are no rows
    return np.concatenate([compute(slice(start, start + step)) for start in starts])
