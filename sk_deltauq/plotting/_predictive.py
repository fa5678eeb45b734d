"""Predictive interval along one feature."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from sk_deltauq.distributions._arrays import check_coverage
from sk_deltauq.metrics._checks import check_intervals, check_row_weights
from sk_deltauq.plotting._matplotlib import (
    EPISTEMIC,
    INTERVAL,
    MEAN,
    OBSERVED,
    get_axes,
    merge_area_style,
    merge_line_style,
)
from sk_deltauq.plotting._predictions import (
    find_innermost,
    predict_bounds,
    predict_parts,
    select_target,
)
from sk_deltauq.plotting._tables import Table, choose_rows, make_grid, repeat_cells


class PredictiveIntervalDisplay:
    """Predicted mean and predictive interval along one feature.

    The outer area is the interval for a new observation. The inner area is the epistemic part: the
    mean plus and minus a multiple of the epistemic standard deviation, which more training rows
    would reduce.

    Parameters
    ----------
    feature_values : ndarray of shape (n_values,)
        Values of the feature: increasing numbers, or names of categories.
    mean : ndarray of shape (n_values,)
        Predicted mean.
    lower, upper : ndarray of shape (n_values,)
        Bounds of the predictive interval.
    epistemic : ndarray of shape (n_values,), default=None
        Epistemic standard deviation. None draws no inner area.
    coverage : float, default=0.9
        Nominal probability of the interval, which also sets the width of the inner area.
    x_observed : ndarray of shape (n_samples,), default=None
        Feature of observations.
    y_observed : ndarray of shape (n_samples,), default=None
        Targets of these observations, drawn as points. None draws no points.
    feature_name : str, default=None
        Name of the feature, for the axis.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture. All attributes with an underscore exist after `plot`.
    figure_ : matplotlib Figure
        Figure of the axes.
    line_ : matplotlib Line2D
        Mean.
    interval_ : matplotlib artist
        Predictive interval: an area, or lines for categories.
    epistemic_ : matplotlib artist or None
        Epistemic part of the interval.
    points_ : matplotlib Line2D or None
        Observations.

    See Also
    --------
    sklearn.inspection.PartialDependenceDisplay : The mean alone, for any estimator.
    SortedIntervalsDisplay : Intervals of all rows beside their targets.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: The disease score rises with the body mass index, inside a wide interval.

       >>> from sklearn.datasets import load_diabetes
       >>> from sk_deltauq import DeltaUQRegressor
       >>> from sk_deltauq.plotting import PredictiveIntervalDisplay
       >>> X, y = load_diabetes(return_X_y=True, scaled=False)
       >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X, y)
       >>> display = PredictiveIntervalDisplay.from_estimator(model, X, feature=2, y=y)
       >>> display.mean.shape
       (100,)
    """

    def __init__(
        self,
        feature_values,
        mean,
        lower,
        upper,
        *,
        epistemic=None,
        coverage=0.9,
        x_observed=None,
        y_observed=None,
        feature_name=None,
    ):
        self.feature_values = feature_values
        self.mean = mean
        self.lower = lower
        self.upper = upper
        self.epistemic = epistemic
        self.coverage = coverage
        self.x_observed = x_observed
        self.y_observed = y_observed
        self.feature_name = feature_name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        feature,
        *,
        y=None,
        coverage=0.9,
        kind="median",
        grid=100,
        target=None,
        sample_weight=None,
        subsample=100,
        random_state=None,
        **style,
    ):
        """Predict along one feature, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            A regressor with ``predict(X, coverage=...)``. With ``predict(X, return_std=True)``
            only, its distribution is taken to be normal. It may be in a pipeline or a search.
        X : array-like of shape (n_samples, n_features)
            Rows that give the range of the feature and the values of the others: an array, or a
            data frame of pandas, polars or pyarrow.
        feature : int or str
            Position or name of the feature.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), default=None
            Targets of `X`, drawn as points. Their other features differ from
            the ones of the prediction, so more of them than nominal may be outside the interval.
        coverage : float, default=0.9
            Nominal probability of the interval, strictly between 0 and 1.
        kind : {"median", "average"}, default="median"
            "median" fixes every other feature: numbers at their (lower) median, others at their
            most frequent value. "average" predicts with the other features of each row of `X`, and
            averages the mean, both bounds and the epistemic standard deviation over the rows, as
            partial dependence does.
        grid : int or array-like of shape (n_values,), default=100
            Number of equidistant values between the minimum and the maximum of the feature, or the
            values. A feature that holds no numbers has one value per category.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in medians and averages.
        subsample : int, default=100
            Maximum number of random rows to average over. Ignored with ``kind="median"``.
        random_state : int, RandomState instance or None, default=None
            Seed of the random rows.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : PredictiveIntervalDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is not a regressor that predicts its uncertainty.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `feature`, `kind`, `grid` or `subsample` is invalid, or `coverage` is not strictly
            between 0 and 1. If the feature has no value or more than 50 categories, and `grid` is
            a number. If `X`, `y` or `sample_weight` is invalid. If `target` is not the position of
            an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        if kind not in ("median", "average"):
            raise ValueError(f"kind must be 'median' or 'average', got {kind!r}.")
        table = Table(X)
        position, name = table.find_column(feature)
        observed = None if y is None else select_target(y, target, "y")
        if observed is not None and len(observed) != len(table.rows):
            raise ValueError(
                f"y must have one value for each of the {len(table.rows)} rows of X, got "
                f"{len(observed)}."
            )
        weights = check_row_weights(sample_weight, len(table.rows))
        values, cells = make_grid(table, position, grid)
        if kind == "median":
            rows, row_weights = table.fix_at_median(len(values), weights), np.ones(1)
        else:
            chosen = choose_rows(np.flatnonzero(weights), subsample, random_state)
            rows, row_weights = table.take(np.tile(chosen, len(values))), weights[chosen]
        rows = rows.replace(position, repeat_cells(cells, len(row_weights))).rows
        found = [
            select_target(values, target, "the prediction")
            for values in _predict_curves(estimator, rows, coverage, cls.__name__)
        ]
        # (value, row), averaged over the rows
        mean, lower, upper, *epistemic = (
            np.average(part.reshape(len(values), -1), axis=1, weights=row_weights)
            for part in found
        )
        display = cls(
            values,
            mean,
            lower,
            upper,
            epistemic=epistemic[0] if epistemic else None,
            coverage=coverage,
            x_observed=None if y is None else table.get_column(position),
            y_observed=observed,
            feature_name=name,
        )
        return display.plot(**style)

    @classmethod
    def from_predictions(
        cls,
        feature_values,
        y_pred,
        lower,
        upper,
        *,
        epistemic=None,
        y_true=None,
        coverage=0.9,
        target=None,
        feature_name=None,
        **style,
    ):
        """Draw predictions, in any order of the rows.

        Parameters
        ----------
        feature_values : array-like of shape (n_samples,)
            Feature of each row: numbers, or names of categories.
        y_pred : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Predicted means.
        lower, upper : array-like of the shape of `y_pred`
            Bounds of the predictive intervals.
        epistemic : array-like of the shape of `y_pred`, default=None
            Epistemic standard deviations. None draws no inner area.
        y_true : array-like of the shape of `y_pred`, default=None
            Observed targets, drawn as points.
        coverage : float, default=0.9
            Nominal probability of the intervals.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        feature_name : str, default=None
            Name of the feature, for the axis.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : PredictiveIntervalDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If arrays are empty, shapes differ, a prediction is not finite, or a lower bound
            exceeds the upper one. If `target` is not the position of an output, or is missing with
            several outputs.
        ImportError
            If matplotlib is not installed.
        """
        check_coverage(coverage)
        values = np.asarray(feature_values)
        given = {"y_pred": y_pred, "epistemic": epistemic, "y_true": y_true}
        arrays = {
            key: select_target(value, target, key)
            for key, value in given.items()
            if value is not None
        }
        arrays["lower"], arrays["upper"] = check_intervals(
            lower=select_target(lower, target, "lower"),
            upper=select_target(upper, target, "upper"),
        )
        for key, value in arrays.items():
            if value.shape != values.shape:
                raise ValueError(
                    f"{key} must have one value for each of the {len(values)} feature_values, "
                    f"got shape {value.shape}."
                )
        order = np.argsort(values, kind="stable")
        arrays = {key: value[order] for key, value in arrays.items()}
        display = cls(
            values[order],
            arrays["y_pred"],
            arrays["lower"],
            arrays["upper"],
            epistemic=arrays.get("epistemic"),
            coverage=coverage,
            x_observed=None if y_true is None else values[order],
            y_observed=arrays.get("y_true"),
            feature_name=feature_name,
        )
        return display.plot(**style)

    def plot(
        self,
        ax=None,
        *,
        line_kwargs=None,
        interval_kwargs=None,
        epistemic_kwargs=None,
        points_kwargs=None,
    ):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        line_kwargs : dict, default=None
            Style of the mean, for `Axes.plot`.
        interval_kwargs : dict, default=None
            Style of the interval, for `Axes.fill_between` (`Axes.vlines` for categories).
        epistemic_kwargs : dict, default=None
            Style of the epistemic part, for the same functions.
        points_kwargs : dict, default=None
            Style of the observations, for `Axes.plot`.

        Returns
        -------
        display : PredictiveIntervalDisplay
            This display.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.figure_, self.ax_ = get_axes(ax, type(self).__name__)
        values = np.asarray(self.feature_values)
        categories = None if values.dtype.kind in "iufb" else [str(value) for value in values]
        x = values if categories is None else np.arange(len(values))
        style = {"color": INTERVAL, "label": f"{100 * self.coverage:.4g} % interval"}
        self.interval_ = self._fill(x, self.lower, self.upper, 14, style, interval_kwargs)
        self.epistemic_ = None
        if self.epistemic is not None:
            half = ndtri((1 + self.coverage) / 2) * self.epistemic
            style = {"color": EPISTEMIC, "label": "epistemic part"}
            self.epistemic_ = self._fill(
                x, self.mean - half, self.mean + half, 6, style, epistemic_kwargs
            )
        style = {"color": MEAN, "label": "mean"}
        if categories is not None:
            style |= {"linestyle": "none", "marker": "o", "markersize": 5}
        [self.line_] = self.ax_.plot(x, self.mean, **merge_line_style(style, line_kwargs))
        self.points_ = None
        if self.y_observed is not None:
            style = {"linestyle": "none", "marker": ".", "markersize": 3, "color": OBSERVED}
            style |= {"alpha": 0.6, "label": "observed", "zorder": 1.9}
            x_observed, y_observed = self._place_observations(categories)
            [self.points_] = self.ax_.plot(
                x_observed, y_observed, **merge_line_style(style, points_kwargs)
            )
        if categories is not None:
            self.ax_.set_xticks(x, categories)
            self.ax_.margins(x=0.5 / len(x))
        self.ax_.set(xlabel=self.feature_name or "feature", ylabel="target")
        self.ax_.legend(loc="best", fontsize="small")
        return self

    def _fill(self, x, lower, upper, width, style, given):
        """Draw an area along numbers, or a thick line for each category."""
        if np.asarray(self.feature_values).dtype.kind in "iufb":
            return self.ax_.fill_between(x, lower, upper, **merge_area_style(style, given))
        return self.ax_.vlines(x, lower, upper, **{"linewidth": width, **style, **(given or {})})

    def _place_observations(self, categories):
        """Return the positions of the observations whose feature is on the axis."""
        if categories is None:
            return self.x_observed, self.y_observed
        observed = [str(value) for value in np.asarray(self.x_observed)]
        places = {category: i for i, category in enumerate(categories)}
        shown = [row for row, name in enumerate(observed) if name in places]
        return [places[observed[row]] for row in shown], np.asarray(self.y_observed)[shown]


def _predict_curves(estimator, rows, coverage, caller):
    """Predict mean, bounds and, where the estimator separates it, the epistemic part."""
    found = list(predict_bounds(estimator, rows, coverage, caller))
    if hasattr(find_innermost(estimator, rows[:1])[0], "predict_uncertainty"):
        found.append(predict_parts(estimator, rows, caller)["epistemic"])
    return found
