"""The kind "classifier": everything public, computed from logits."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from sk_deltauq._estimators.base import BaseUQ
from sk_deltauq._estimators.classifier_calibration import ClassifierCalibration
from sk_deltauq._estimators.expected_score import warn_without_hold_out
from sk_deltauq._estimators.logits import LogitSummary, map_logits
from sk_deltauq._estimators.outliers import score_outliers
from sk_deltauq._estimators.sets import predict_sets
from sk_deltauq._estimators.torch_modules import ClassifierModule
from sk_deltauq.distributions import CategoricalMixture


class BaseClassifier(ClassifierMixin, BaseUQ):
    """Predictions with uncertainties for class labels."""

    classes_: np.ndarray
    frequency_weight_: float | None
    calibration_: dict[str, Any] | None
    best_validation_score_: Any
    _calibration_: ClassifierCalibration

    def fit(self, X, y, sample_weight=None, *, groups=None, X_val=None, y_val=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training rows: an array of numbers in any units, or a data frame (pandas, polars or
            pyarrow) with numbers and categories. Inputs are encoded and standardised internally.
        y : array-like of shape (n_samples,)
            Class labels of any type.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero. Only their ratios matter. Rows of weight zero are
            ignored.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as a patient or a batch. Rows of a group are held out together,
            so the uncertainty holds for new groups. Keyword only.
        X_val : array-like of shape (n_val_samples, n_features), default=None
            Rows to hold out in place of folds, such as the latest rows of a time series. All
            networks then train on all rows of `X`. Keyword only.
        y_val : array-like of shape (n_val_samples,), default=None
            Class labels of `X_val`.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid (the estimator is then unchanged), or if
            training diverges (the estimator is then not fitted, or unchanged with `warm_start`).

        Warns
        -----
        UncertaintyWarning
            If the uncertainty may be wrong: few rows, no hold-out, near copies among the rows.
        ConvergenceWarning
            If training ended before it converged: at `max_iter`, at `max_time`, or by Ctrl-C.
        """
        return self._fit(X, y, sample_weight, groups, X_val, y_val)

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        """Train for one epoch on the given rows, without early stopping.

        The first call fixes the scaling of X, and the encoding of categories.
        `learning_rate_init` and `batch_size` may change between calls. Delta-UQ draws its anchors
        from all rows so far, an anchor ensemble only from the rows of the first call. With
        `anchors="neighbours"`, the first call learns the metric, so it needs a few hundred rows.
        After `fit`, the calibration stays as it was, and becomes wrong: the first call warns.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to train on.
        y : array-like of shape (n_samples,)
            Class labels.
        classes : array-like of shape (n_classes,), default=None
            All labels that any call will contain. Required in the first call unless its `y`
            contains all of them.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows, at least zero. Only their ratios within one call matter.

        Returns
        -------
        self : object
            The fitted estimator.

        Raises
        ------
        ValueError
            If a parameter or the data are invalid, if `early_stopping` is True, or if training
            diverges. The estimator is then unchanged (or not fitted, in a first call).
        """
        return self._partial_fit(X, y, sample_weight, classes=classes)

    def predict(self, X, return_std=False):
        """Predict the class and, on request, the standard deviation of the label.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        return_std : bool, default=False
            Whether to also return the standard deviation.

        Returns
        -------
        y_pred : ndarray of shape (n_samples,)
            Most probable label.
        y_std : ndarray of shape (n_samples,)
            Standard deviation of the label, from 0 (certain) to below `1 / sqrt(2)`: the square
            root of `sum_k p_k (1 - p_k) / 2`. For two classes it is the standard deviation of a
            label in {0, 1}. Like the `return_std` of a regressor it holds both parts of the
            uncertainty, and ranks rows by how likely an error is. Only with `return_std=True`.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.
        """
        found = self._summarise(X)
        labels = self.classes_[found.proba.argmax(axis=1)]
        return (labels, found.std) if return_std else labels

    def predict_proba(self, X):
        """Predict the probability of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Mean of the components' probabilities, mixed with the class frequencies. Columns are
            in the order of `classes_`; each row sums to one. The weight of the frequencies,
            `frequency_weight_`, comes from held-out rows and falls as rows are added.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.
        """
        return self._summarise(X).proba

    def predict_log_proba(self, X):
        """Logarithm of `predict_proba`, finite even if a probability underflows to zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Natural logarithms. Columns are in the order of `classes_`.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.
        """
        return self._summarise(X).log_proba

    def predict_uncertainty(self, X):
        """Predict the epistemic, aleatoric and total uncertainty.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        parts : Bunch
            Arrays of shape (n_samples,):

            - `total`: entropy of `predict_proba`, in nats.
            - `aleatoric`: mean entropy of the components, in nats, without the temperature by
              distance or spread: classes that overlap in the training rows.
            - `epistemic`: `total - aleatoric`, in nats: the disagreement of the components, and
              the distance from the training rows.
            - `mutual_information`: the disagreement of the components alone, in nats.
            - `logit_std`: standard deviation of the logits over the components (eq. 6 of the
              Delta-UQ paper), averaged over the classes. It follows the size of the logits.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.
        """
        found = self._summarise(X)
        names = "total", "aleatoric", "epistemic", "mutual_information", "logit_std"
        return Bunch(**{name: getattr(found, name) for name in names})

    def outlier_score(self, X, kind="combined"):
        """Score how strange each row is; higher is stranger.

        The score of a row does not depend on the other rows. A threshold, such as the 95 %
        quantile of the scores of rows that were not used to fit, turns it into a decision.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to score.
        kind : str, default="combined"
            - "combined": Fisher's combination of the p-values of the entropy (before the
              calibration) and of the distance, among held-out rows.
            - "distance": mean distance from the 5 nearest of up to 2,000 training rows, in
              standardised features that are squashed to (-3, 3).
            - "entropy": entropy of `predict_proba`, in nats.
            - "mutual_information": disagreement of the components before the calibration, in nats.
            - "logit_std": standard deviation of the logits over the components, averaged over the
              classes. It is the score of the Delta-UQ paper and follows the size of the logits.
            - "energy": minus the log of the sum of the exponentials of the logits, averaged over
              the components (Liu et al., "Energy-based Out-of-distribution Detection", 2020).
            - "reverse_anchoring": the row is the anchor of up to 100 training rows, and the score
              is the mean of `-log p` of their labels (after "Score1" of Thiagarajan et al.,
              "PAGER: Accurate Failure Characterization in Deep Regression Models", 2024). Only for
              Delta-UQ with `anchors="random"`.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            One score per row.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), `X` is invalid, `kind` is unknown,
            the method has no such score, or `kind` is "combined" and no row was held out.
        """
        self._check_fitted()
        return score_outliers(self, X, kind)

    def expected_score(self, X):
        """Predict the accuracy on rows without labels.

        It is the mean probability of the predicted classes. Under a shift of the rows it falls
        with the probabilities, while the accuracy on held-out rows stays as it was.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict. Their labels are not needed.

        Returns
        -------
        accuracy : float
            Expected value of `score(X, y)`.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.

        Warns
        -----
        UncertaintyWarning
            If no rows were held out of training, so that nothing corrected the probabilities.

        Notes
        -----
        This is the average confidence of Guo et al., "On Calibration of Modern Neural Networks",
        2017, after the calibration. It is right on average as far as `predict_proba` is. The
        calibration by distance lowers the probabilities out of distribution. It cannot see that
        the labels of usual rows have changed.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sk_deltauq import DeltaUQClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> model = DeltaUQClassifier(max_iter=50, random_state=0).fit(X, y)
        >>> model.expected_score(X + 3) < model.expected_score(X)
        True
        """
        found = self._summarise(X).proba.max(axis=1).mean()
        warn_without_hold_out(self)
        return float(found)

    def predict_set(self, X, coverage=0.9, method="aps", allow_empty=True):
        """Predict sets of classes that contain the label with a given probability.

        The sets are cross-conformal: every held-out row is compared by the networks that did not
        train on it. For rows like the training rows the coverage is close to `coverage`, and at
        least `2 * coverage - 1` by theory. Rows of another distribution have no guarantee.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        coverage : float, default=0.9
            Probability that the set contains the label, in (0, 1).
        method : {"aps", "raps", "lac"}, default="aps"
            "aps" (Romano, Sesia and Candès, 2020) makes larger sets where classes are less
            certain. "raps" (Angelopoulos et al., 2021) penalises classes of a high rank. "lac"
            (Sadinle, Lei and Wasserman, 2019) has the smallest sets on average, and covers
            uncertain rows less.
        allow_empty : bool, default=True
            Whether a set may be empty: no class conforms. False adds the most probable class. The
            coverage is then at least the accuracy.

        Returns
        -------
        sets : ndarray of bool of shape (n_samples, n_classes)
            Whether a class is in the set of a row. Columns are in the order of `classes_`.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), `X` is invalid, `method` is unknown,
            or `coverage` is not one number strictly between 0 and 1. If no rows were held out of
            training, or fewer than `coverage / (1 - coverage)`: 9 for 0.9.
        """
        self._check_fitted()
        held = self._calibration_.held_labels
        return predict_sets(held, self._map_logits, X, coverage, method, allow_empty)

    def predict_dist(self, X):
        """Predict the full distribution over the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to predict.

        Returns
        -------
        dist : CategoricalMixture
            One mixture for each row. Class numbers are positions in `classes_`.

        Raises
        ------
        ValueError
            If the estimator is not fitted (`NotFittedError`), or if `X` is invalid.
        """
        (logits,) = self._map_logits(
            X, lambda raw, adjusted, summarise, x: (adjusted.transpose(0, 1),)
        )
        logits.flags.writeable = False  # so that the mixture shares it
        return CategoricalMixture(np.moveaxis(logits, 1, 0))

    def _summarise(self, X) -> LogitSummary:
        """Summarise the logits of each row, as arrays."""
        return LogitSummary(*self._map_logits(X, lambda raw, adjusted, summarise, x: summarise()))

    def _map_logits(self, X, function):
        """Apply `function(raw, adjusted, summarise, x)`, see `map_logits`."""
        X, adjustment = self._check_rows(X), self._calibration_.make_adjustment()
        return map_logits(self._predictor(), adjustment, X, function)

    def to_torch(self):
        """Return the classifier as a torch module.

        Rows, units, precision and gradients are described at `DeltaUQRegressor.to_torch`.

        Returns
        -------
        module : torch.nn.Module
            Independent copy that maps a tensor of shape (..., n_features) to a named tuple of
            tensors:

            - `proba`, of shape (..., n_classes): as `predict_proba`.
            - `log_proba`, of shape (..., n_classes): as `predict_log_proba`.
            - `std`, of shape (...): as `predict(X, return_std=True)`.
            - `total`, `aleatoric`, `epistemic`, `mutual_information`, `logit_std`, of shape
              (...): as `predict_uncertainty`.
            - `logits`, of shape (n_components, ..., n_classes): logits of the components, adjusted
              as in `predict_dist`.

        Examples
        --------
        >>> import torch
        >>> from sklearn.datasets import load_iris
        >>> from sk_deltauq import DeltaUQClassifier
        >>> X, y = load_iris(return_X_y=True)
        >>> module = DeltaUQClassifier(max_iter=50, random_state=0).fit(X, y).to_torch()
        >>> found = module(torch.tensor(X[:2]))
        >>> found.proba.shape, found.total.shape
        (torch.Size([2, 3]), torch.Size([2]))
        """
        check_is_fitted(self)
        adjustment = deepcopy(self._calibration_.make_adjustment())
        return ClassifierModule(self._predictor(), adjustment)
