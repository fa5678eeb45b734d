"""Mixture of normal distributions, as predicted by a regressor."""

import math

import numpy as np

from sk_deltauq.distributions import _normal as maths
from sk_deltauq.distributions._arrays import (
    as_real,
    check_components,
    check_coverage,
    check_values,
    component_std,
    compute_by_rows,
    freeze_array,
    make_generator,
    make_row_index,
)


class NormalMixture:
    """Equal-weight mixtures of normal distributions, one for each sample and output.

    Parameters
    ----------
    means : array-like of shape (n_components, n_samples) or (n_components, n_samples, n_outputs)
        Mean of each component. Arrays are copied, unless they are read-only and float64.
    stds : array-like of the shape of `means`
        Standard deviation of each component; 0 is a point mass (a prediction without noise).
    aleatoric : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
        Noise part of the standard deviation. None uses the root mean square of `stds`.

    Attributes
    ----------
    means, stds : ndarray of shape (n_components, n_samples[, n_outputs])
        The components, read-only.

    Raises
    ------
    ValueError
        If an array has no component or another number of axes, shapes differ, a value is not a
        finite real number, or a standard deviation is negative.

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
        self.means = check_components("means", means, ndims=(2, 3))
        self.stds = check_components("stds", stds, ndims=(2, 3))
        if self.stds.shape != self.means.shape:
            raise ValueError(
                f"stds must have the shape of means, {self.means.shape}, got {self.stds.shape}."
            )
        if aleatoric is not None:
            aleatoric = freeze_array("aleatoric", aleatoric, ndims=(1, 2))
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
        """Select rows by an integer, a slice, an index array or a mask."""
        rows = make_row_index(rows, self.n_samples)
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
        # Subtracting the first component makes the result exact if all components are equal.
        return self._by_rows(lambda means, _: means[0] + (means - means[0]).mean(axis=0))

    @property
    def std(self):
        """Standard deviation of the mixture (total uncertainty), of the shape of `mean`."""
        return self._by_rows(maths.total_std)

    @property
    def mean_deviation(self):
        """Mean absolute deviation from the mean, ``E|Y - E[Y]|``, of the shape of `mean`."""
        return self._by_rows(maths.mean_distance, self.mean)

    @property
    def epistemic(self):
        """Epistemic part of `std`, ``sqrt(std**2 - aleatoric**2)``, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda means, _: component_std(means))
        std = self.std
        return np.sqrt(np.maximum((std - self._aleatoric) * (std + self._aleatoric), 0))

    @property
    def aleatoric(self):
        """Aleatoric part of `std`: the noise, of the shape of `mean`."""
        if self._aleatoric is None:
            return self._by_rows(lambda _, stds: maths.root_mean_square(stds))
        return self._aleatoric.copy()

    def log_pdf(self, y):
        """Log of the density.

        Parameters
        ----------
        y : float or array-like of the shape of `mean`
            Values to evaluate. Only a scalar is broadcast.

        Returns
        -------
        ndarray of the shape of `mean`
            Natural logarithm of the density, finite even in the far tails.

        Raises
        ------
        ValueError
            If `y` has another shape, contains NaN, or does not hold real numbers, or if a
            component is a point mass.
        """
        if not self.stds.all():
            raise ValueError(
                "The density does not exist: some components have stds = 0 (no noise). Use std, "
                "cdf, ppf, interval or crps, or fit a model with a noise term."
            )
        return self._by_rows(maths.log_pdf, self._check_y(y))

    def pdf(self, y):
        """Density; parameters are described in `log_pdf`.

        Raises
        ------
        ValueError
            If `y` has another shape, contains NaN, or does not hold real numbers, or if a
            component is a point mass.
        """
        return np.exp(self.log_pdf(y))

    def cdf(self, y):
        """Probability of a value of at most `y`; parameters are described in `log_pdf`.

        Raises
        ------
        ValueError
            If `y` has another shape, contains NaN, or does not hold real numbers.
        """
        return self._by_rows(maths.cdf, self._check_y(y))

    def ppf(self, q):
        """Quantiles: for each level, the smallest value whose `cdf` reaches it.

        Parameters
        ----------
        q : float or array-like of shape (n_quantiles,)
            Levels in [0, 1], in any order.

        Returns
        -------
        ndarray of the shape of `mean`, with a last axis of n_quantiles if `q` is 1-D
            Quantiles, which never cross. Levels 0 and 1 give -inf and inf, or the smallest and
            largest component mean if all components are point masses.

        Raises
        ------
        ValueError
            If a level is outside [0, 1] or not a number, or if `q` has more than one axis.

        Notes
        -----
        Newton's method, accurate to about 1e-11 of `std`. The search is limited to the range of
        the components' quantiles, which contains the quantile of the mixture.
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
        """Equal-tailed predictive interval.

        Parameters
        ----------
        coverage : float, default=0.9
            Probability of a value inside the interval, between 0 and 1.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper bound on the last axis.

        Raises
        ------
        ValueError
            If `coverage` is not one number strictly between 0 and 1.
        """
        check_coverage(coverage)
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
            Scores in the units of `y`: the absolute error for a single point mass.

        Raises
        ------
        ValueError
            If `y` has another shape, contains NaN, or does not hold real numbers.

        References
        ----------
        Grimit, Gneiting, Berrocal and Johnson (2006). The continuous ranked probability score for
        circular variables and its application to mesoscale forecast ensemble verification.
        Quarterly Journal of the Royal Meteorological Society 132, 2925-2942.
        """
        return self._by_rows(maths.crps, self._check_y(y))

    def sample(self, n_samples=1, random_state=None):
        """Draw samples.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, numpy Generator, RandomState or None, default=None
            Seed or generator. None gives new draws in each call.

        Returns
        -------
        ndarray of shape (n_samples_X, n_samples) or (n_samples_X, n_outputs, n_samples)
            Draws. All outputs of one draw come from the same component.

        Raises
        ------
        TypeError
            If `n_samples` is not an integer, or `random_state` is neither a seed nor a generator.
        ValueError
            If `n_samples` or the seed is negative.
        """
        rng = make_generator(random_state)
        size = (self.n_samples, n_samples)
        component = (rng.random(size) * self.n_components).astype(np.intp)
        row = np.arange(self.n_samples)[:, None]
        noise = rng.standard_normal((*size, *self.means.shape[2:]))  # (sample, draw, output)
        draws = self.means[component, row] + self.stds[component, row] * noise
        return np.moveaxis(draws, 1, -1)

    def _check_y(self, y):
        return check_values(y, self.means.shape[1:])

    def _by_rows(self, compute, *arrays, width=1):
        """Call ``compute(means, stds, *arrays)`` by rows; `width` is the memory per component."""

        def compute_rows(rows):
            return compute(self.means[:, rows], self.stds[:, rows], *(a[rows] for a in arrays))

        floats_per_row = self.n_components * math.prod(self.means.shape[2:]) * width
        return compute_by_rows(compute_rows, self.n_samples, floats_per_row)
