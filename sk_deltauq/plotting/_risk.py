"""Does the uncertainty find the rows with large errors? Error against the fraction kept."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier

from sk_deltauq.metrics._checks import check_row_weights, check_same_shape
from sk_deltauq.plotting._matplotlib import REFERENCE, get_axes, merge_line_style
from sk_deltauq.plotting._predictions import (
    predict_moments,
    predict_parts,
    predict_probabilities,
    select_target,
)

_LOSSES = {
    "absolute": "mean absolute error",
    "squared": "mean squared error",
    "zero_one": "error rate",
}


class RiskCoverageDisplay:
    """Risk-coverage curve: the mean error of the rows that are kept, the most certain ones first.

    A user may predict only the rows with the smallest uncertainty, and give the others to a human.
    The curve shows the error of the kept rows (the risk) for each fraction that is kept (the
    coverage) [1]_. It should rise from left to right. An uncertainty that knows nothing gives a
    horizontal line, on average. The lowest curve that any order of the rows can have sorts them by
    their errors.

    Parameters
    ----------
    coverage : ndarray of shape (n_points,)
        Fraction of the rows (of the weights) that is kept, increasing to 1.
    risk : ndarray of shape (n_points,)
        Mean loss of the kept rows.
    best_coverage : ndarray of shape (n_best_points,), default=None
        Fraction kept if rows are in the order of their losses.
    best_risk : ndarray of shape (n_best_points,), default=None
        Mean loss of these rows. None draws no such curve.
    loss : str, default="absolute"
        Name of the loss.
    name : str, default=None
        Name of the model in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture. All attributes with an underscore exist after `plot`.
    figure_ : matplotlib Figure
        Figure of the axes.
    line_ : matplotlib Line2D
        Curve of the model.

    See Also
    --------
    StdErrorDisplay : The size of the errors instead of their order.

    References
    ----------
    .. [1] Geifman and El-Yaniv, "Selective Classification for Deep Neural Networks", NeurIPS 2017.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: The error rate rises with the fraction of rows that is kept.

       >>> from sklearn.datasets import load_digits
       >>> from sklearn.model_selection import train_test_split
       >>> from sk_deltauq import DeltaUQClassifier
       >>> from sk_deltauq.plotting import RiskCoverageDisplay
       >>> X, y = load_digits(return_X_y=True)
       >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
       >>> model = DeltaUQClassifier(max_iter=10, random_state=0).fit(X_train, y_train)
       >>> display = RiskCoverageDisplay.from_estimator(model, X_test, y_test)
       >>> bool(display.risk[0] < display.risk[-1])  # the certain rows have fewer errors
       True
    """

    def __init__(
        self, coverage, risk, *, best_coverage=None, best_risk=None, loss="absolute", name=None
    ):
        self.coverage = coverage
        self.risk = risk
        self.best_coverage = best_coverage
        self.best_risk = best_risk
        self.loss = loss
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        uncertainty=None,
        loss=None,
        target=None,
        sample_weight=None,
        name=None,
        **style,
    ):
        """Predict targets and uncertainties, and draw.

        Parameters
        ----------
        estimator : fitted regressor or classifier
            A regressor with ``predict(X, return_std=True)``, or a classifier with
            ``predict_proba``, in a pipeline or a search, or alone.
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not seen.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets or class labels.
        uncertainty : str, default=None
            Uncertainty that sorts the rows, a key of ``predict_uncertainty(X)`` such as
            "epistemic". None uses the total standard deviation of a regressor, and one minus the
            largest probability of a classifier.
        loss : {"absolute", "squared", "zero_one"}, default=None
            Error of a row. None uses "absolute" for a regressor and "zero_one" for a classifier.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        name : str, default=None
            Name of the model in the legend. None uses the class name.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : RiskCoverageDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is neither a regressor with ``predict(X, return_std=True)`` nor a
            classifier with ``predict_proba``, or if `uncertainty` needs ``predict_uncertainty``.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `uncertainty` or `loss` is unknown, or if labels are no numbers and `loss` needs
            numbers. If `X`, `y` or `sample_weight` is invalid, for example with another number of
            rows. If `target` is not the position of an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        of_classes = is_classifier(estimator)
        if of_classes:
            y_proba, labels = predict_probabilities(estimator, X, cls.__name__)
            y_pred, found = labels[y_proba.argmax(axis=1)], 1 - y_proba.max(axis=1)
        else:
            y_pred, found = predict_moments(estimator, X, cls.__name__)
        if uncertainty is not None:
            parts = predict_parts(estimator, X, cls.__name__)
            if uncertainty not in parts:
                raise ValueError(
                    f"uncertainty must be None or one of {sorted(parts)}, got {uncertainty!r}."
                )
            found = parts[uncertainty]
        return cls.from_predictions(
            y,
            y_pred,
            found,
            loss=loss or ("zero_one" if of_classes else "absolute"),
            target=target,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_pred,
        uncertainty,
        *,
        loss="absolute",
        target=None,
        sample_weight=None,
        name=None,
        **style,
    ):
        """Sort the errors of predictions by their uncertainties, and draw.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets or class labels.
        y_pred : array-like of the shape of `y_true`
            Predicted targets or class labels.
        uncertainty : array-like of the shape of `y_true`
            Any uncertainty of the rows. Only its order matters. Equal rows are kept together.
        loss : {"absolute", "squared", "zero_one"}, default="absolute"
            Error of a row. "zero_one" is 1 where the labels differ.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. Rows of weight zero are left out.
        name : str, default=None
            Name of the model in the legend.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : RiskCoverageDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If `loss` is unknown. If shapes differ, arrays are empty, or a number is not finite. If
            `sample_weight` has another shape, a value that is negative or not finite, or only
            zeros. If `target` is not the position of an output, or is missing with several
            outputs.
        ImportError
            If matplotlib is not installed.
        """
        losses = _compute_losses(y_true, y_pred, loss, target)
        losses, uncertainty = check_same_shape(
            y_true=losses, uncertainty=select_target(uncertainty, target, "uncertainty")
        )
        weights = check_row_weights(sample_weight, len(losses))
        coverage, risk = _trace_curve(losses, uncertainty, weights)
        best_coverage, best_risk = _trace_curve(losses, losses, weights)
        display = cls(
            coverage,
            risk,
            best_coverage=best_coverage,
            best_risk=best_risk,
            loss=loss,
            name=name,
        )
        return display.plot(**style)

    def plot(self, ax=None, *, references=True, line_kwargs=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        references : bool, default=True
            Whether to draw the curves for rows in a random order and in the order of their losses.
            To compare several uncertainties on one `ax`, draw them once.
        line_kwargs : dict, default=None
            Style of the curve, for `Axes.plot`.

        Returns
        -------
        display : RiskCoverageDisplay
            This display.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.figure_, self.ax_ = get_axes(ax, type(self).__name__)
        style = {"label": self.name or "model"}
        if references:
            self.ax_.axhline(
                self.risk[-1], linestyle="--", color=REFERENCE, linewidth=1, label="random order"
            )
            if self.best_risk is not None:
                self.ax_.plot(
                    self.best_coverage,
                    self.best_risk,
                    ":",
                    color=REFERENCE,
                    label="order of the errors (best possible)",
                )
        [self.line_] = self.ax_.plot(
            self.coverage, self.risk, **merge_line_style(style, line_kwargs)
        )
        self.ax_.set(
            xlabel="fraction of rows kept, most certain first",
            ylabel=f"{_LOSSES.get(self.loss, self.loss)} of the kept rows",
            xlim=(0, 1.02),
        )
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend(loc="best", fontsize="small")
        return self


def _compute_losses(y_true, y_pred, loss: str, target) -> np.ndarray:
    if loss not in _LOSSES:
        raise ValueError(f"loss must be one of {sorted(_LOSSES)}, got {loss!r}.")
    if loss == "zero_one":
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        if y_true.shape != y_pred.shape or y_true.ndim != 1:
            raise ValueError(
                "y_true and y_pred must be 1-D arrays of labels of the same length, got shapes "
                f"{y_true.shape} and {y_pred.shape}."
            )
        return (y_true != y_pred).astype(float)
    y_true, y_pred = check_same_shape(
        y_true=select_target(y_true, target, "y_true"),
        y_pred=select_target(y_pred, target, "y_pred"),
    )
    errors = np.abs(y_true - y_pred)
    return errors if loss == "absolute" else errors**2


def _trace_curve(losses, uncertainty, weights):
    """Return the fraction kept, and the mean loss, after each distinct uncertainty."""
    kept = weights > 0
    losses, uncertainty, weights = losses[kept], uncertainty[kept], weights[kept]
    order = np.argsort(uncertainty, kind="stable")
    ranked = uncertainty[order]
    mass = np.cumsum(weights[order])
    total = np.cumsum((weights * losses)[order])
    last = np.append(ranked[1:] != ranked[:-1], True)  # rows with ties are kept together
    return mass[last] / mass[-1], total[last] / mass[last]
