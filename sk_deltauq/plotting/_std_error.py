"""Are errors as large as predicted? Standard deviation against error."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from sk_deltauq.distributions._arrays import check_coverage
from sk_deltauq.metrics._checks import check_row_weights, check_same_shape
from sk_deltauq.plotting._bins import assign_equal_counts
from sk_deltauq.plotting._matplotlib import (
    INTERVAL,
    OBSERVED,
    get_axes,
    merge_area_style,
    merge_line_style,
)
from sk_deltauq.plotting._predictions import predict_moments, select_target
from sk_deltauq.plotting._quantiles import draw_diagonal


class StdErrorDisplay:
    """Predicted standard deviation against error, row by row and in bins.

    Each point is a row: predicted standard deviation and absolute error. Rows are also grouped by
    the standard deviation into bins of equal size. In each bin, the root mean squared error (RMSE)
    should equal the root mean square of the standard deviation, which is the diagonal [1]_. A
    curve above the diagonal means too small standard deviations. A flat curve means that the
    standard deviation does not know where the errors are large.

    Parameters
    ----------
    std : ndarray of shape (n_samples,)
        Predicted standard deviations.
    error : ndarray of shape (n_samples,)
        Absolute errors of the mean.
    bin_std : ndarray of shape (n_bins,)
        Root mean square of the standard deviations in each bin.
    bin_rmse : ndarray of shape (n_bins,)
        Root mean squared error in each bin.
    counts : ndarray of shape (n_bins,), default=None
        Number of rows in each bin, from which the shaded region follows. None draws no region.
    name : str, default=None
        Name of the model in the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture. All attributes with an underscore exist after `plot`.
    figure_ : matplotlib Figure
        Figure of the axes.
    line_ : matplotlib Line2D
        Curve of the bins.
    points_ : matplotlib Line2D
        Points of the rows.
    chance_ : matplotlib artist or None
        Shaded region.

    See Also
    --------
    RiskCoverageDisplay : The error of the rows with the smallest uncertainty.

    References
    ----------
    .. [1] Levi, Gispan, Giladi and Fetaya, "Evaluating and Calibrating Uncertainty Prediction in
       Regression Tasks", Sensors 22, 2022.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Root mean squared error against predicted standard deviation, and all rows as points.

       >>> from sklearn.datasets import load_diabetes
       >>> from sklearn.model_selection import train_test_split
       >>> from sk_deltauq import DeltaUQRegressor
       >>> from sk_deltauq.plotting import StdErrorDisplay
       >>> X, y = load_diabetes(return_X_y=True)
       >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
       >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X_train, y_train)
       >>> display = StdErrorDisplay.from_estimator(model, X_test, y_test, n_bins=5)
       >>> display.counts.tolist()
       [22, 22, 23, 22, 22]
    """

    def __init__(self, std, error, *, bin_std, bin_rmse, counts=None, name=None):
        self.std = std
        self.error = error
        self.bin_std = bin_std
        self.bin_rmse = bin_rmse
        self.counts = counts
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_bins=10, target=None, sample_weight=None, name=None, **style
    ):
        """Predict mean and standard deviation, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            A regressor with ``predict(X, return_std=True)``, in a pipeline or a search, or alone.
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not seen.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        n_bins : int, default=10
            Number of bins.
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
        display : StdErrorDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is not a regressor that predicts its uncertainty.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `X`, `y` or `sample_weight` is invalid, for example with another number of rows. If
            `n_bins` is not an integer of at least 1. If `target` is not the position of an output,
            or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        mean, std = predict_moments(estimator, X, cls.__name__)
        return cls.from_predictions(
            y,
            mean,
            std,
            n_bins=n_bins,
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
        y_std,
        *,
        n_bins=10,
        target=None,
        sample_weight=None,
        name=None,
        **style,
    ):
        """Compare the errors of predictions with their standard deviations, and draw.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        y_pred : array-like of the shape of `y_true`
            Predicted means.
        y_std : array-like of the shape of `y_true`
            Predicted standard deviations.
        n_bins : int, default=10
            Number of bins. Rows with equal standard deviations share a bin.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The shaded region then uses an effective number of rows in each
            bin, ``sum(w)**2 / sum(w**2)``.
        name : str, default=None
            Name of the model in the legend.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : StdErrorDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If shapes differ, arrays are empty, or a value is not finite. If a standard deviation
            is negative, or `n_bins` is not an integer of at least 1. If `sample_weight` has
            another shape, a value that is negative or not finite, or only zeros. If `target` is
            not the position of an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        y_true, y_pred, std = check_same_shape(
            y_true=select_target(y_true, target, "y_true"),
            y_pred=select_target(y_pred, target, "y_pred"),
            y_std=select_target(y_std, target, "y_std"),
        )
        if std.min() < 0:
            raise ValueError(f"y_std must not be negative, got a minimum of {std.min()}.")
        weights = check_row_weights(sample_weight, len(std))
        bins = assign_equal_counts(std, n_bins, weights)
        error = np.abs(y_true - y_pred)
        display = cls(
            std,
            error,
            bin_std=np.sqrt(bins.average(std**2)),
            bin_rmse=np.sqrt(bins.average(error**2)),
            counts=bins.effective_counts(),
            name=name,
        )
        return display.plot(**style)

    def plot(
        self, ax=None, *, chance=0.95, line_kwargs=None, points_kwargs=None, chance_kwargs=None
    ):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        chance : float, default=0.95
            Probability of the shaded region. The RMSE of a bin lies in the region with this
            probability if the standard deviations are right and the errors are normal and
            independent (by the chi-squared distribution). Heavier tails need a wider region. None
            draws no region.
        line_kwargs : dict, default=None
            Style of the curve, for `Axes.plot`.
        points_kwargs : dict, default=None
            Style of the rows, for `Axes.plot`.
        chance_kwargs : dict, default=None
            Style of the shaded region, for `Axes.fill_between`.

        Returns
        -------
        display : StdErrorDisplay
            This display.

        Raises
        ------
        ValueError
            If `chance` is not strictly between 0 and 1.
        ImportError
            If matplotlib is not installed.
        """
        if chance is not None:
            check_coverage(chance, "chance")
        self.figure_, self.ax_ = get_axes(ax, type(self).__name__)
        self.chance_ = None
        if chance is not None and self.counts is not None:
            # The sum of n squared standard normal errors has n degrees of freedom.
            lower, upper = (
                self.bin_std * np.sqrt(chi2.ppf(tail, self.counts) / self.counts)
                for tail in ((1 - chance) / 2, (1 + chance) / 2)
            )
            style = {"color": INTERVAL, "alpha": 0.6, "label": f"{100 * chance:.4g} % by chance"}
            self.chance_ = self.ax_.fill_between(
                self.bin_std, lower, upper, **merge_area_style(style, chance_kwargs)
            )
        style = {
            "linestyle": "none",
            "marker": ".",
            "markersize": 3,
            "color": OBSERVED,
            "alpha": 0.5,
            "label": "absolute error of a row",
        }
        [self.points_] = self.ax_.plot(
            self.std, self.error, **merge_line_style(style, points_kwargs)
        )
        draw_diagonal(self.ax_, (0, 1.05 * max(np.max(self.std), 1e-300)), "RMSE = std")
        style = {"marker": "o", "markersize": 5, "label": self.name or "model"}
        style["label"] += ", RMSE in bins"
        [self.line_] = self.ax_.plot(
            self.bin_std, self.bin_rmse, **merge_line_style(style, line_kwargs)
        )
        self.ax_.set(xlabel="predicted standard deviation", ylabel="error")
        self.ax_.set_ylim(bottom=0)
        self.ax_.legend(loc="best", fontsize="small")
        return self
