"""Predictive distributions: equal-weight mixtures over the components of a model.

A component is an anchor, an ensemble member, a dropout mask or a draw of the weights. Arrays are
ordered ``(component, sample, output)`` or ``(component, sample, class)``. Sums over components are
computed in chunks of rows, so that they need some 20 MB beyond the arguments and the answer.
"""

import math
from numbers import Real

import numpy as np
from scipy.special import entr, log_softmax, logsumexp, softmax

from sk_deltauq import _normal_mixture as normal

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
        return self._by_rows(normal.total_std)

    @property
    def epistemic(self):
        """Part of `std` that is disagreement of the components, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda means, _: normal.spread(means))
        std = self.std
        return np.sqrt(np.maximum((std - self._aleatoric) * (std + self._aleatoric), 0))

    @property
    def aleatoric(self):
        """Part of `std` that is noise, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda _, stds: normal.root_mean_square(stds))
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
                "The density does not exist: some components have stds = 0 (no noise). The parts "
                "of the std, cdf, quantiles, intervals and crps do; for a density fit the noise."
            )
        return self._by_rows(normal.log_pdf, self._check_y(y))

    def pdf(self, y):
        """Density; parameters and errors as for `log_pdf`."""
        return np.exp(self.log_pdf(y))

    def cdf(self, y):
        """Probability of a value of at most `y`; parameters as for `log_pdf`."""
        return self._by_rows(normal.cdf, self._check_y(y))

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
        quantiles = self._by_rows(
            lambda means, stds: normal.ppf(means, stds, flat), width=flat.size
        )
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
        if not (isinstance(coverage, Real) and 0 < coverage < 1):
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
        Quarterly Journal of the Royal Meteorological Society 132, 2925-2942.
        """
        return self._by_rows(normal.crps, self._check_y(y))

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
        return self._by_rows(lambda logits: normal.spread(logits, ddof).mean(axis=-1))

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
    """Where draws come from; None is the operating system, not NumPy's global state."""
    if isinstance(random_state, np.random.RandomState | np.random.Generator):
        return random_state
    return np.random.default_rng(random_state)


def _concatenate_rows(compute, n_samples, floats_per_row):
    """Concatenate ``compute(rows)`` over slices of rows that keep its temporaries small."""
    step = max(1, _CHUNK_FLOATS // max(1, floats_per_row))
    starts = range(0, max(1, n_samples), step)  # one empty slice if there are no rows
    return np.concatenate([compute(slice(start, start + step)) for start in starts])
