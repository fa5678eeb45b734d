"""The mixture of normal distributions that a regressor predicts."""

import math
from numbers import Real

import numpy as np

from sk_deltauq.distributions import _normal as maths
from sk_deltauq.distributions._arrays import (
    as_real,
    checked_components,
    concatenate_rows,
    frozen_array,
    random_source,
    row_index,
    spread,
)


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
        self.means = checked_components("means", means, ndims=(2, 3))
        self.stds = checked_components("stds", stds, ndims=(2, 3))
        if self.stds.shape != self.means.shape:
            raise ValueError(
                f"stds must have the shape of means, {self.means.shape}, got {self.stds.shape}."
            )
        if aleatoric is not None:
            aleatoric = frozen_array("aleatoric", aleatoric, ndims=(1, 2))
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
        rows = row_index(rows, self.n_samples)
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
        return self._by_rows(maths.total_std)

    @property
    def epistemic(self):
        """Part of `std` that is disagreement of the components, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda means, _: spread(means))
        std = self.std
        return np.sqrt(np.maximum((std - self._aleatoric) * (std + self._aleatoric), 0))

    @property
    def aleatoric(self):
        """Part of `std` that is noise, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda _, stds: maths.root_mean_square(stds))
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
        return self._by_rows(maths.log_pdf, self._check_y(y))

    def pdf(self, y):
        """Density; parameters and errors as for `log_pdf`."""
        return np.exp(self.log_pdf(y))

    def cdf(self, y):
        """Probability of a value of at most `y`; parameters as for `log_pdf`."""
        return self._by_rows(maths.cdf, self._check_y(y))

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
        levels = as_real("q", q)
        # The comparison is false for NaN.
        if levels.ndim > 1 or not np.all((levels >= 0) & (levels <= 1)):
            raise ValueError(f"q must be a level in [0, 1] or a 1-D array of them, got {q!r}.")
        flat = np.atleast_1d(levels)
        quantiles = self._by_rows(
            lambda means, stds: maths.ppf(means, stds, flat), width=flat.size
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
        return self._by_rows(maths.crps, self._check_y(y))

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
        rng = random_source(random_state)
        size = (self.n_samples, n_samples)
        component = (rng.random(size) * self.n_components).astype(np.intp)
        row = np.arange(self.n_samples)[:, None]
        noise = rng.standard_normal((*size, *self.means.shape[2:]))  # (sample, draw, output)
        draws = self.means[component, row] + self.stds[component, row] * noise
        return np.moveaxis(draws, 1, -1)

    def _check_y(self, y):
        array = as_real("y", y)
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
        return concatenate_rows(compute_rows, self.n_samples, floats_per_row)
