"""The mixture of categorical distributions that a classifier predicts."""

import math

import numpy as np
from scipy.special import entr, log_softmax, logsumexp, softmax

from sk_deltauq.distributions._arrays import (
    checked_components,
    concatenate_rows,
    random_source,
    row_index,
    spread,
)


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
        self.logits = checked_components("logits", logits, ndims=(3,))
        if self.n_classes == 0:
            raise ValueError("logits must have at least one class on the last axis, got none.")

    def __repr__(self):
        shape = self.logits.shape[1:]
        return f"CategoricalMixture(n_components={self.n_components}, shape={shape})"

    def __getitem__(self, rows):
        """Mixture of the chosen rows: an integer, a slice, an index array or a mask."""
        return CategoricalMixture(self.logits[:, row_index(rows, self.n_samples)])

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
        return self._by_rows(lambda logits: spread(logits, ddof).mean(axis=-1))

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
        uniform = random_source(random_state).random((self.n_samples, n_samples))
        edges = self.proba.cumsum(axis=-1)
        edges /= edges[:, -1:]  # exactly 1, so that a class of probability 0 is never drawn
        return concatenate_rows(
            lambda rows: (edges[rows, None, :-1] <= uniform[rows, :, None]).sum(axis=-1),
            self.n_samples,
            n_samples * self.n_classes,
        )

    def _by_rows(self, compute):
        return concatenate_rows(
            lambda rows: compute(self.logits[:, rows]),
            self.n_samples,
            self.n_components * self.n_classes,
        )
