"""Mixture of categorical distributions, as predicted by a classifier."""

import numpy as np
from scipy.special import entr, log_softmax, softmax

from sk_deltauq.distributions._arrays import (
    check_components,
    component_std,
    compute_by_rows,
    log_mean_exp,
    make_generator,
    make_row_index,
)


class CategoricalMixture:
    """Equal-weight mixtures of categorical distributions, one for each sample.

    Parameters
    ----------
    logits : array-like of shape (n_components, n_samples, n_classes)
        Unnormalised log probabilities of each component. The array is copied, unless it is
        read-only and float64.

    Attributes
    ----------
    logits : ndarray of shape (n_components, n_samples, n_classes)
        The components, read-only.

    Raises
    ------
    ValueError
        If `logits` does not have three axes, has no component or class, or contains a value that
        is not a finite real number.

    Notes
    -----
    The predicted probabilities are the mean of the components' probabilities. Entropies are in
    nats. The total uncertainty, `entropy`, is the sum of the aleatoric part, `expected_entropy`,
    and the epistemic part, `mutual_information`. `epistemic` measures the spread of the logits.

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
        self.logits = check_components("logits", logits, ndims=(3,))
        if self.n_classes == 0:
            raise ValueError("logits must have at least one class on the last axis, got none.")

    def __repr__(self):
        shape = self.logits.shape[1:]
        return f"CategoricalMixture(n_components={self.n_components}, shape={shape})"

    def __getitem__(self, rows):
        """Select rows by an integer, a slice, an index array or a mask."""
        return CategoricalMixture(self.logits[:, make_row_index(rows, self.n_samples)])

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
        """Class probabilities of each component, of shape (n_components, n_samples, n_classes)."""
        return softmax(self.logits, axis=-1)

    @property
    def proba(self):
        """Class probabilities of the mixture, of shape (n_samples, n_classes)."""
        return self._by_rows(lambda logits: softmax(logits, axis=-1).mean(axis=0))

    @property
    def log_proba(self):
        """Logarithm of `proba`, finite even if `proba` underflows to zero."""
        return self._by_rows(lambda logits: log_mean_exp(log_softmax(logits, axis=-1)))

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
        """Mutual information of class and component in nats, (n_samples,)."""
        return np.maximum(self.entropy - self.expected_entropy, 0)

    @property
    def epistemic(self):
        """Standard deviation of the logits over components, averaged over classes, (n_samples,).

        The divisor is ``n_components - 1``, as in eq. (6) of the Delta-UQ paper. A single
        component gives 0.
        """
        ddof = min(1, self.n_components - 1)
        return self._by_rows(lambda logits: component_std(logits, ddof).mean(axis=-1))

    def log_prob(self, y):
        """Log probability of the observed classes.

        Parameters
        ----------
        y : array-like of int of shape (n_samples,)
            Positions of the classes on the last axis of `logits` (not the labels).

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithms of the probabilities.

        Raises
        ------
        ValueError
            If `y` does not hold one integer for each sample, from 0 to `n_classes - 1`.
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
        """Draw samples of the class.

        Parameters
        ----------
        n_samples : int, default=1
            Number of draws for each row.
        random_state : int, numpy Generator, RandomState or None, default=None
            Seed or generator. None gives new draws in each call.

        Returns
        -------
        ndarray of int of shape (n_samples_X, n_samples)
            Positions of the classes on the last axis of `logits`.

        Raises
        ------
        TypeError
            If `n_samples` is not an integer, or `random_state` is neither a seed nor a generator.
        ValueError
            If `n_samples` or the seed is negative.
        """
        uniform = make_generator(random_state).random((self.n_samples, n_samples))
        edges = self.proba.cumsum(axis=-1)
        edges /= edges[:, -1:]  # exactly 1, so a class of probability 0 is never drawn
        return compute_by_rows(
            lambda rows: (edges[rows, None, :-1] <= uniform[rows, :, None]).sum(axis=-1),
            self.n_samples,
            n_samples * self.n_classes,
        )

    def _by_rows(self, compute):
        return compute_by_rows(
            lambda rows: compute(self.logits[:, rows]),
            self.n_samples,
            self.n_components * self.n_classes,
        )
