"""Predictive intervals sorted by width, with the targets outside marked."""

from __future__ import annotations

import numpy as np

from sk_deltauq.distributions._arrays import check_coverage
from sk_deltauq.metrics import coverage as compute_coverage
from sk_deltauq.metrics._checks import check_intervals, check_row_weights, check_same_shape
from sk_deltauq.plotting._matplotlib import (
    INTERVAL,
    MEAN,
    MISSED,
    OBSERVED,
    get_axes,
    merge_area_style,
    merge_line_style,
)
from sk_deltauq.plotting._predictions import predict_bounds, select_target


class SortedIntervalsDisplay:
    """Predictive intervals sorted by width, with the targets outside marked.

    Rows are sorted from the narrowest to the widest interval. The prediction of each row is moved
    to zero. A good model has narrow intervals on the left, wide ones on the right, and misses
    everywhere. Many misses on the left mean that the model is too sure where it is most sure.

    Parameters
    ----------
    residual : ndarray of shape (n_samples,)
        Target minus prediction, in the order of the widths of the intervals.
    lower, upper : ndarray of shape (n_samples,)
        Bounds of the intervals minus prediction, in the same order.
    position : ndarray of shape (n_samples,)
        Fraction of the rows (of the weights) with narrower intervals: the horizontal axis.
    observed_coverage : float
        Fraction of the targets (of the weights) inside their intervals.
    coverage : float, default=None
        Nominal probability of the intervals.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture. All attributes with an underscore exist after `plot`.
    figure_ : matplotlib Figure
        Figure of the axes.
    interval_ : matplotlib artist
        Area of the intervals.
    inside_, outside_ : matplotlib Line2D
        Points of the targets inside and outside their intervals.

    See Also
    --------
    sk_deltauq.metrics.coverage : The fraction of the targets inside.
    QuantileCalibrationDisplay : All quantiles at once.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: A funnel of intervals that widens to the right, with the targets as points.

       >>> from sklearn.datasets import load_diabetes
       >>> from sklearn.model_selection import train_test_split
       >>> from sk_deltauq import DeltaUQRegressor
       >>> from sk_deltauq.plotting import SortedIntervalsDisplay
       >>> X, y = load_diabetes(return_X_y=True)
       >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
       >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X_train, y_train)
       >>> display = SortedIntervalsDisplay.from_estimator(model, X_test, y_test, coverage=0.9)
       >>> bool(display.observed_coverage > 0.8)
       True
    """

    def __init__(self, residual, lower, upper, *, position, observed_coverage, coverage=None):
        self.residual = residual
        self.lower = lower
        self.upper = upper
        self.position = position
        self.observed_coverage = observed_coverage
        self.coverage = coverage

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, coverage=0.9, target=None, sample_weight=None, **style
    ):
        """Predict the intervals of a regressor, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            A regressor with ``predict(X, coverage=...)``. With ``predict(X, return_std=True)``
            only, its distribution is taken to be normal. It may be in a pipeline or a search.
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not seen.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        coverage : float, default=0.9
            Nominal probability of the intervals, strictly between 0 and 1.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : SortedIntervalsDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is not a regressor that predicts its uncertainty.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `coverage` is not strictly between 0 and 1. If `X`, `y` or `sample_weight` is
            invalid, for example with another number of rows. If `target` is not the position of an
            output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        mean, lower, upper = predict_bounds(estimator, X, coverage, cls.__name__)
        return cls.from_predictions(
            y,
            lower,
            upper,
            y_pred=mean,
            coverage=coverage,
            target=target,
            sample_weight=sample_weight,
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        lower,
        upper,
        *,
        y_pred=None,
        coverage=None,
        target=None,
        sample_weight=None,
        **style,
    ):
        """Compare targets with predicted intervals, and draw.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        lower, upper : array-like of the shape of `y_true`
            Bounds of the intervals.
        y_pred : array-like of the shape of `y_true`, default=None
            Predictions, which are moved to zero. None uses the middle of each interval.
        coverage : float, default=None
            Nominal probability of the intervals, for the legend.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : SortedIntervalsDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If the shapes of the arrays differ, or if they are empty. If a value is not finite, or
            a lower bound exceeds the upper one. If `coverage` is not strictly between 0 and 1. If
            `sample_weight` has another shape, a value that is negative or not finite, or only
            zeros. If `target` is not the position of an output, or is missing with several
            outputs.
        ImportError
            If matplotlib is not installed.
        """
        if coverage is not None:
            check_coverage(coverage)
        y_true = select_target(y_true, target, "y_true")
        lower = select_target(lower, target, "lower")
        upper = select_target(upper, target, "upper")
        y_true, lower, upper = check_intervals(y_true=y_true, lower=lower, upper=upper)
        centre = (lower + upper) / 2
        if y_pred is not None:
            _, centre = check_same_shape(
                y_true=y_true, y_pred=select_target(y_pred, target, "y_pred")
            )
        weights = check_row_weights(sample_weight, len(y_true))
        order = np.argsort(upper - lower, kind="stable")
        ranked = weights[order]
        display = cls(
            (y_true - centre)[order],
            (lower - centre)[order],
            (upper - centre)[order],
            position=(np.cumsum(ranked) - ranked / 2) / ranked.sum(),
            observed_coverage=compute_coverage(y_true, lower, upper, sample_weight=sample_weight),
            coverage=coverage,
        )
        return display.plot(**style)

    def plot(self, ax=None, *, interval_kwargs=None, inside_kwargs=None, outside_kwargs=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        interval_kwargs : dict, default=None
            Style of the intervals, for `Axes.fill_between`.
        inside_kwargs, outside_kwargs : dict, default=None
            Style of the targets inside and outside, for `Axes.plot`.

        Returns
        -------
        display : SortedIntervalsDisplay
            This display.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.figure_, self.ax_ = get_axes(ax, type(self).__name__)
        nominal = "interval" if self.coverage is None else f"{100 * self.coverage:.4g} % interval"
        self.interval_ = self.ax_.fill_between(
            self.position,
            self.lower,
            self.upper,
            **merge_area_style({"color": INTERVAL, "label": nominal}, interval_kwargs),
        )
        self.ax_.axhline(0, color=MEAN, linewidth=1, label="prediction")
        inside = (self.lower <= self.residual) & (self.residual <= self.upper)
        style = {
            "marker": ".",
            "markersize": 4,
            "color": OBSERVED,
            "label": f"inside: {100 * self.observed_coverage:.1f} %",
        }
        self.inside_ = self._draw_points(inside, style, inside_kwargs)
        style = {
            "marker": "x",
            "markersize": 6,
            "color": MISSED,
            "label": f"outside: {100 - 100 * self.observed_coverage:.1f} %",
        }
        self.outside_ = self._draw_points(~inside, style, outside_kwargs)
        self.ax_.set(
            xlabel="fraction of rows, sorted by the width of the interval",
            ylabel="target minus prediction",
            xlim=(0, 1),
        )
        self.ax_.legend(loc="upper left", fontsize="small")
        return self

    def _draw_points(self, rows, style, given):
        style = merge_line_style({"linestyle": "none", **style}, given)
        return self.ax_.plot(self.position[rows], self.residual[rows], **style)[0]
