"""Predictive distributions: equal-weight mixtures over the components of a model.

A component is an anchor, an ensemble member, a dropout mask or a draw of the weights. Arrays are
ordered ``(component, sample, output)`` or ``(component, sample, class)``. Everything is computed
in chunks of rows, so that the memory needed beyond the arguments and the answer is some 20 MB.
"""

import math

import numpy as np
from scipy.special import entr, erf, log_softmax, logsumexp, ndtr, ndtri, softmax

__all__ = ["CategoricalMixture", "NormalMixture"]

_CHUNK_FLOATS = 2**17  # 1 MB an array: stays in cache, a dozen of them live at a time


class NormalMixture:
    """Equal-weight mixture of normal distributions, one mixture for each sample and output.

    Parameters
    ----------
    means : array-like of shape (n_components, n_samples) or (n_components, n_samples, n_outputs)
        Mean of each component. A writeable array is copied, a read-only float64 one is shared.
    stds : array-like of the shape of `means`
        Standard deviation of each component; 0 is a point mass (a prediction without noise).
    aleatoric : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        The part of the standard deviation that is noise. None: the root mean square of `stds`.

    Attributes
    ----------
    means, stds : read-only ndarray of the shape given
        The components.
    n_components, n_samples : int
        Lengths of the first two axes.

    Raises
    ------
    ValueError
        If shapes disagree, a value is not finite, or a standard deviation is negative.

    Notes
    -----
    By the law of total variance, ``std**2 = epistemic**2 + aleatoric**2``: the variance of the
    component means plus the mean of the component variances.

    Examples
    --------
    >>> from sk_deltauq.distributions import NormalMixture
    >>> dist = NormalMixture(means=[[0.0, 1.0], [0.0, 3.0]], stds=[[1.0, 1.0], [1.0, 1.0]])
    >>> dist.mean
    array([0., 2.])
    >>> dist.epistemic
    array([0., 1.])
    >>> dist.interval(0.9).round(3)
    array([[-1.645,  1.645],
           [-0.284,  4.284]])
    """

    def __init__(self, means, stds, *, aleatoric=None):
        self.means = _components("means", means, ndims=(2, 3))
        self.stds = _components("stds", stds, ndims=(2, 3))
        if self.stds.shape != self.means.shape:
            raise ValueError(
                f"stds must have the shape of means, {self.means.shape}, got {self.stds.shape}."
            )
        if aleatoric is not None:
            aleatoric = _frozen("aleatoric", aleatoric, ndims=(1, 2))
            if aleatoric.shape != self.means.shape[1:]:
                raise ValueError(
                    f"aleatoric must have the shape of one component, {self.means.shape[1:]}, "
                    f"got {aleatoric.shape}."
                )
        self._aleatoric = aleatoric
        for name, array in (("stds", self.stds), ("aleatoric", aleatoric)):
            if array is not None and array.size and array.min() < 0:
                raise ValueError(f"{name} must not be negative, got a minimum of {array.min()}.")

    def __repr__(self):
        shape = self.means.shape[1:]
        return f"NormalMixture(n_components={self.n_components}, shape={shape})"

    def __getitem__(self, rows):
        """Mixture of the chosen rows: an integer, a slice, an index array or a mask."""
        rows = _row_index(rows, self.n_samples)
        aleatoric = None if self._aleatoric is None else self._aleatoric[rows]
        return NormalMixture(self.means[:, rows], self.stds[:, rows], aleatoric=aleatoric)

    @property
    def n_components(self):
        """Number of components."""
        return self.means.shape[0]

    @property
    def n_samples(self):
        """Number of samples (rows)."""
        return self.means.shape[1]

    @property
    def mean(self):
        """Mean of the mixture, of shape (n_samples,) or (n_samples, n_outputs)."""
        # Relative to the first component: exact when the components agree.
        return self._by_rows(lambda means, _: means[0] + (means - means[0]).mean(axis=0))

    @property
    def std(self):
        """Standard deviation of the mixture (total uncertainty), of the shape of `mean`."""
        return self._by_rows(_total_std)

    @property
    def epistemic(self):
        """Part of `std` that is disagreement of the components, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda means, _: _spread(means))
        std = self.std
        return np.sqrt(np.maximum((std - self._aleatoric) * (std + self._aleatoric), 0))

    @property
    def aleatoric(self):
        """Part of `std` that is noise, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda _, stds: _root_mean_square(stds))
        return self._aleatoric.copy()

    def log_pdf(self, y):
        """Log of the density.

        Parameters
        ----------
        y : float or array-like of the shape of `mean`
            Where to evaluate. Only a scalar is broadcast.

        Returns
        -------
        ndarray of the shape of `mean`
            Natural log of the density, finite far out in the tails.

        Raises
        ------
        ValueError
            If `y` has another shape or contains NaN, or if a component is a point mass.
        """
        if not self.stds.all():
            raise ValueError(
                "The density does not exist: some components have stds = 0 (no noise). Use cdf, "
                "ppf, interval, crps or the parts of the std, which do, or fit a noise model."
            )
        return self._by_rows(_log_pdf, self._check_y(y))

    def pdf(self, y):
        """Density; parameters and errors as for `log_pdf`."""
        return np.exp(self.log_pdf(y))

    def cdf(self, y):
        """Probability of a value of at most `y`; parameters as for `log_pdf`."""
        return self._by_rows(_cdf, self._check_y(y))

    def ppf(self, q):
        """Quantiles: the smallest value whose `cdf` reaches the level.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,)
            Levels in [0, 1], in any order.

        Returns
        -------
        ndarray of the shape of `mean`, with a last axis of n_quantiles if `q` is 1-D
            Quantiles, which never cross. Levels 0 and 1 give -inf and inf, or the extreme
            component mean where all components are point masses.

        Raises
        ------
        ValueError
            If a level is outside [0, 1] or NaN.

        Notes
        -----
        Newton's method inside a bracket, accurate to about 1e-11 of `std`. The bracket runs from
        the smallest to the largest quantile of the components, which enclose that of the mixture.
        """
        levels = _as_real("q", q)
        # The comparison is false for NaN.
        if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"q must be a level in [0, 1] or a 1-D array of them, got {q!r}.")
        flat = np.atleast_1d(levels)
        quantiles = self._by_rows(lambda means, stds: _ppf(means, stds, flat), width=flat.size)
        return quantiles if levels.ndim else quantiles[..., 0]

    def interval(self, coverage=0.9):
        """Equal-tailed interval.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability that the interval holds, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper end on the last axis.
        """
        if not 0 < coverage < 1:
            raise ValueError(f"coverage must lie strictly between 0 and 1, got {coverage!r}.")
        return self.ppf([(1 - coverage) / 2, (1 + coverage) / 2])

    def crps(self, y):
        """Continuous ranked probability score, in closed form; smaller is better.

        Parameters
        ----------
        y : float or array-like of the shape of `mean`
            Observed values.

        Returns
        -------
        ndarray of the shape of `mean`
            Scores in the units of `y`. For a single point mass this is the absolute error.

        References
        ----------
        Grimit, Gneiting, Berrocal and Johnson (2006). The continuous ranked probability score for
        circular variables and its application to mesoscale forecast ensemble verification.
        Quarterly Journal of the Royal Meteorological Society 132, 2925-2942, eq. (5).
        """
        return self._by_rows(_crps, self._check_y(y))

    def sample(self, n_samples=1, random_state=None):
        """Draw values.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, numpy Generator, RandomState or None, default=None
            Seed or source of the draws. None: new draws at each call.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
            Draws. The outputs of one draw come from the same component.
        """
        rng = _random_source(random_state)
        size = (self.n_samples, n_samples)
        component = (rng.random(size) * self.n_components).astype(np.intp)
        row = np.arange(self.n_samples)[:, None]
        noise = rng.standard_normal((*size, *self.means.shape[2:]))  # (sample, draw, output)
        draws = self.means[component, row] + self.stds[component, row] * noise
        return np.moveaxis(draws, 1, -1)

    def _check_y(self, y):
        array = _as_real("y", y)
        shape = self.means.shape[1:]
        if array.ndim and array.shape != shape:
            raise ValueError(
                f"y must have the shape of the distribution, {shape}, got {array.shape}. "
                "Reshape y: broadcasting would compare each value with every row."
            )
        if np.isnan(array).any():
            raise ValueError("y must not contain NaN. Drop or impute these rows.")
        return np.broadcast_to(array, shape)

    def _by_rows(self, compute, *arrays, width=1):
        """``compute(means, stds, *arrays)`` in chunks of rows; `width` scales its temporaries."""

        def compute_rows(rows):
            return compute(self.means[:, rows], self.stds[:, rows], *(a[rows] for a in arrays))

        floats_per_row = self.n_components * math.prod(self.means.shape[2:]) * width
        return _concatenate_rows(compute_rows, self.n_samples, floats_per_row)


class CategoricalMixture:
    """Equal-weight mixture of categorical distributions, one mixture for each sample.

    Parameters
    ----------
    logits : array-like of shape (n_components, n_samples, n_classes)
        Unnormalised log probabilities of each component. A writeable array is copied, a read-only
        float64 one is shared.

    Attributes
    ----------
    logits : read-only ndarray of shape (n_components, n_samples, n_classes)
        The components.
    n_components, n_samples, n_classes : int
        Lengths of the axes.

    Raises
    ------
    ValueError
        If `logits` does not have three axes or a value is not finite.

    Notes
    -----
    The probabilities are the mean of the components' softmax, that is the predictive distribution
    with the component marginalised out. Entropies are in nats, and ``entropy = expected_entropy +
    mutual_information``: total = aleatoric + epistemic.

    Examples
    --------
    >>> from sk_deltauq.distributions import CategoricalMixture
    >>> dist = CategoricalMixture([[[9.0, -9.0], [9.0, -9.0]], [[9.0, -9.0], [-9.0, 9.0]]])
    >>> dist.proba.round(3)
    array([[1. , 0. ],
           [0.5, 0.5]])
    >>> dist.mutual_information.round(3)
    array([0.   , 0.693])
    """

    def __init__(self, logits):
        self.logits = _components("logits", logits, ndims=(3,))
        if self.n_classes == 0:
            raise ValueError("logits must have at least one class on the last axis, got none.")

    def __repr__(self):
        shape = self.logits.shape[1:]
        return f"CategoricalMixture(n_components={self.n_components}, shape={shape})"

    def __getitem__(self, rows):
        """Mixture of the chosen rows: an integer, a slice, an index array or a mask."""
        return CategoricalMixture(self.logits[:, _row_index(rows, self.n_samples)])

    @property
    def n_components(self):
        """Number of components."""
        return self.logits.shape[0]

    @property
    def n_samples(self):
        """Number of samples (rows)."""
        return self.logits.shape[1]

    @property
    def n_classes(self):
        """Number of classes."""
        return self.logits.shape[2]

    @property
    def component_proba(self):
        """Class probabilities of each component, (n_components, n_samples, n_classes)."""
        return softmax(self.logits, axis=-1)

    @property
    def proba(self):
        """Class probabilities of the mixture, (n_samples, n_classes)."""
        return self._by_rows(lambda logits: softmax(logits, axis=-1).mean(axis=0))

    @property
    def log_proba(self):
        """Log of `proba`, finite where `proba` underflows."""
        return self._by_rows(
            lambda logits: logsumexp(log_softmax(logits, axis=-1), axis=0) - math.log(len(logits))
        )

    @property
    def entropy(self):
        """Entropy of `proba` in nats (total uncertainty), (n_samples,)."""
        return entr(self.proba).sum(axis=-1)

    @property
    def expected_entropy(self):
        """Mean entropy of the components in nats (aleatoric uncertainty), (n_samples,)."""
        return self._by_rows(
            lambda logits: entr(softmax(logits, axis=-1)).sum(axis=-1).mean(axis=0)
        )

    @property
    def mutual_information(self):
        """What knowing the component would tell about the class, in nats, (n_samples,)."""
        return np.maximum(self.entropy - self.expected_entropy, 0)

    @property
    def epistemic(self):
        """Standard deviation of the logits over components, mean over classes, (n_samples,).

        With ``ddof=1``, and 0 for a single component: eq. (6) of the Delta-UQ paper.
        """
        ddof = min(1, self.n_components - 1)
        return self._by_rows(lambda logits: _spread(logits, ddof).mean(axis=-1))

    def log_prob(self, y):
        """Log probability of the observed classes.

        Parameters
        ----------
        y : array-like of int of shape (n_samples,)
            Positions of the classes on the last axis of `logits`, not their labels.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logs.
        """
        y = np.asarray(y)
        if y.shape != (self.n_samples,) or y.dtype.kind not in "iu":
            raise ValueError(
                f"y must be class positions: integers of shape ({self.n_samples},), got "
                f"{y.dtype} of shape {y.shape}. Encode labels with np.searchsorted(classes_, y)."
            )
        if y.size and (y.min() < 0 or y.max() >= self.n_classes):
            raise ValueError(
                f"y must lie in [0, {self.n_classes - 1}], got values in [{y.min()}, {y.max()}]."
            )
        return self.log_proba[np.arange(self.n_samples), y]

    def sample(self, n_samples=1, random_state=None):
        """Draw classes.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, numpy Generator, RandomState or None, default=None
            Seed or source of the draws. None: new draws at each call.

        Returns
        -------
        ndarray of int of shape (n_samples_X, n_samples)
            Positions of the classes on the last axis of `logits`.
        """
        uniform = _random_source(random_state).random((self.n_samples, n_samples))
        edges = self.proba.cumsum(axis=-1)
        edges /= edges[:, -1:]  # exactly 1, so that a class of probability 0 is never drawn
        return _concatenate_rows(
            lambda rows: (edges[rows, None, :-1] <= uniform[rows, :, None]).sum(axis=-1),
            self.n_samples,
            n_samples * self.n_classes,
        )

    def _by_rows(self, compute):
        return _concatenate_rows(
            lambda rows: compute(self.logits[:, rows]),
            self.n_samples,
            self.n_components * self.n_classes,
        )


def _components(name, values, ndims):
    array = _frozen(name, values, ndims)
    if len(array) == 0:
        raise ValueError(f"{name} must have at least one component on its first axis, got none.")
    return array


def _frozen(name, values, ndims):
    """Finite, read-only float64 array; a copy unless `values` is that already."""
    array = _as_real(name, values)
    if array.ndim not in ndims:
        allowed = " or ".join(map(str, ndims))
        raise ValueError(f"{name} must have {allowed} axes, got shape {array.shape}.")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got NaN or infinity. Did the fit diverge?")
    if array.flags.writeable:
        array = array.copy()
        array.flags.writeable = False
    return array


def _as_real(name, values):
    array = np.asarray(values)
    if array.dtype.kind not in "biufO":
        raise ValueError(f"{name} must be real numbers, got dtype {array.dtype}.")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be real numbers: {error}.") from error


def _row_index(rows, n_samples):
    """Index that keeps the row axis; slices stay slices, so that they select without a copy."""
    if isinstance(rows, slice):
        return rows
    rows = np.atleast_1d(np.arange(n_samples)[rows])
    if rows.ndim > 1:
        raise IndexError("A mixture is indexed by rows alone: integer, slice, 1-D array or mask.")
    return rows


def _random_source(random_state):
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    return np.random.default_rng(random_state)


def _concatenate_rows(compute, n_samples, floats_per_row):
    """Concatenate ``compute(rows)`` over slices of rows that keep its temporaries small."""
    step = max(1, _CHUNK_FLOATS // max(1, floats_per_row))
    starts = range(0, max(1, n_samples), step)  # one empty slice if there are no rows
    return np.concatenate([compute(slice(start, start + step)) for start in starts])


def _spread(means, ddof=0):
    # Relative to the first component: exactly 0 when the components agree.
    return (means - means[0]).std(axis=0, ddof=ddof)


def _root_mean_square(stds):
    return np.sqrt(np.square(stds).mean(axis=0))


def _total_std(means, stds):
    return np.hypot(_spread(means), _root_mean_square(stds))


def _standardise(y, means, stds):
    """``(y - means) / stds``; for a point mass -inf below it, inf from it on."""
    distance = y - means
    z = np.where(distance < 0, -np.inf, np.inf)
    with np.errstate(over="ignore"):
        return np.divide(distance, stds, out=z, where=stds > 0)


def _log_pdf(means, stds, y):
    with np.errstate(over="ignore"):
        log_density = -0.5 * ((y - means) / stds) ** 2 - np.log(math.sqrt(2 * math.pi) * stds)
    return logsumexp(log_density, axis=0) - math.log(len(means))


def _cdf(means, stds, y):
    return ndtr(_standardise(y, means, stds)).mean(axis=0)


def _crps(means, stds, y):
    """E|Y - y| - E|Y - Y'| / 2 for independent draws Y, Y' of the mixture."""
    n_components = len(means)
    to_observation = _mean_abs(means - y, stds).mean(axis=0)
    # The pairs (k, k) count once, the pairs (k, l > k) twice. One k at a time bounds the memory.
    between_draws = _mean_abs(np.zeros_like(means), math.sqrt(2) * stds).sum(axis=0)
    for k in range(n_components - 1):
        gaps, scales = means[k + 1 :] - means[k], np.hypot(stds[k + 1 :], stds[k])
        between_draws += 2 * _mean_abs(gaps, scales).sum(axis=0)
    return np.maximum(to_observation - between_draws / (2 * n_components**2), 0)


def _mean_abs(mean, std):
    """E|Z| for Z ~ N(mean, std**2); ``|mean|`` in the limit ``std = 0``."""
    mean = np.abs(mean)
    z = _standardise(mean, 0, std)
    with np.errstate(over="ignore"):
        return mean * erf(z / math.sqrt(2)) + math.sqrt(2 / math.pi) * std * np.exp(-0.5 * z**2)


def _ppf(means, stds, levels):
    """Quantiles of (component, sample[, output]) mixtures; the levels become the last axis."""
    n_components = len(means)
    shape = (*means.shape[1:], levels.size)
    # One problem a column: (component, sample * output * level)
    means, stds = (
        np.repeat(array.reshape(n_components, -1), levels.size, axis=1) for array in (means, stds)
    )
    q = np.broadcast_to(levels, shape).ravel()
    component_ppf = np.multiply(stds, _normal_ppf(q), out=np.zeros_like(stds), where=stds > 0)
    component_ppf += means
    low, high = component_ppf.min(axis=0), component_ppf.max(axis=0)

    x = np.where(q == 0, low, high)
    masses = ~stds.any(axis=0)
    rank = np.clip(np.ceil(n_components * q[masses]) - 1, 0, n_components - 1).astype(np.intp)
    x[masses] = np.take_along_axis(np.sort(means[:, masses], axis=0), rank[None], axis=0)[0]
    search = (low < high) & ~masses & (q > 0) & (q < 1)
    x[search] = _find_root(means[:, search], stds[:, search], q[search], low[search], high[search])

    # Each level is solved alone, so neighbours could cross by a rounding error.
    x = x.reshape(shape)
    order = np.argsort(levels)
    x[..., order] = np.maximum.accumulate(x[..., order], axis=-1)
    return x


def _find_root(means, stds, q, low, high):
    """Solve ``cdf(x) = q`` between `low` and `high`, one root for each column.

    Newton's method, with bisection whenever its step would leave the bracket or does not halve.
    """
    scale = _total_std(means, stds)
    # Over a step this short every component's density is constant to 1e-5, so that the root lies
    # at its end to about 1e-11 of the narrowest std.
    short_step = 1e-6 * stds.min(axis=0)
    x = np.clip(means.mean(axis=0) + scale * _normal_ppf(q), low, high)
    last_step = high - low
    roots = np.empty_like(x)
    columns = np.arange(x.size)
    while columns.size:
        excess, density = _excess(means, stds, x, q)
        low, high = np.where(excess < 0, x, low), np.where(excess < 0, high, x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            step = -excess / density  # NaN or infinite where the cdf is flat: bisect
        newton, middle = x + step, low + (high - low) / 2
        accept = (low < newton) & (newton < high) & (np.abs(step) < last_step / 2)
        x = np.where(accept, newton, middle)
        last_step = np.where(accept, np.abs(step), high - low)

        converged = np.abs(step) <= short_step
        exhausted = (high - low <= 1e-14 * scale) | (middle == low) | (middle == high)
        done = converged | exhausted
        roots[columns[done]] = np.where(converged, np.clip(newton, low, high), high)[done]
        columns, x, last_step, low, high, q, scale, short_step = (
            array[~done] for array in (columns, x, last_step, low, high, q, scale, short_step)
        )
        means, stds = means[:, ~done], stds[:, ~done]
    return roots


def _excess(means, stds, x, q):
    """``n_components * (cdf(x) - q)`` and its derivative, exact relative to both tails.

    Components whose mean lies at or below `x` count 1 minus an upper tail, the others a lower
    tail. Summing the whole numbers apart from the tails keeps levels such as 1 - 1e-10 and wide
    gaps between components from drowning in rounding.
    """
    z = _standardise(x, means, stds)
    below = z >= 0
    tails = ndtr(-np.abs(z))
    n_below, n_above = below.sum(axis=0), (~below).sum(axis=0)
    n_components = len(means)
    whole = np.where(q <= 0.5, n_below - n_components * q, n_components * (1 - q) - n_above)
    with np.errstate(over="ignore"):
        density = np.exp(-0.5 * z**2)
    np.divide(density, math.sqrt(2 * math.pi) * stds, out=density, where=stds > 0)
    return whole + np.where(below, -tails, tails).sum(axis=0), density.sum(axis=0)


def _normal_ppf(q):
    # From the nearer tail: 1 - q is exact there.
    return np.where(q <= 0.5, ndtri(q), -ndtri(1 - q))
