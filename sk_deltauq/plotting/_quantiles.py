"""Are predicted quantiles right on average? Nominal against observed levels."""

from __future__ import annotations

import numpy as np
from scipy.stats import binom

from sk_deltauq.distributions._arrays import check_coverage
from sk_deltauq.metrics._checks import check_row_weights
from sk_deltauq.plotting._matplotlib import (
    INTERVAL,
    REFERENCE,
    get_axes,
    merge_area_style,
    merge_line_style,
)
from sk_deltauq.plotting._predictions import predict_quantiles, select_target

_LEVELS = np.arange(1, 20) / 20


class QuantileCalibrationDisplay:
    """Quantile calibration of a regressor: nominal against observed levels.

    The observed level of a predicted quantile is the fraction of the targets at or below it. A
    calibrated model is on the diagonal, up to chance. A shaded region shows how far chance alone
    moves the curve away from the diagonal. An S-shaped curve that is steep in the middle means too
    wide a distribution. A curve that is flat in the middle means too narrow a distribution. A
    curve above the diagonal means too large predictions.

    Parameters
    ----------
    levels : ndarray of shape (n_levels,)
        Nominal levels of the quantiles, increasing.
    observed : ndarray of shape (n_levels,)
        Fraction of the targets at or below each predicted quantile.
    n_samples : int, default=None
        Number of rows, from which the shaded region follows. None draws no region.
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
    chance_ : matplotlib artist or None
        Shaded region.

    See Also
    --------
    sk_deltauq.metrics.quantile_calibration_error : The mean distance from the diagonal.
    ReliabilityDisplay : The same question for a classifier.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Observed against nominal levels of 19 quantiles, close to the diagonal.

       >>> from sklearn.datasets import load_diabetes
       >>> from sklearn.model_selection import train_test_split
       >>> from sk_deltauq import DeltaUQRegressor
       >>> from sk_deltauq.plotting import QuantileCalibrationDisplay
       >>> X, y = load_diabetes(return_X_y=True)
       >>> X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0)
       >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(X_train, y_train)
       >>> display = QuantileCalibrationDisplay.from_estimator(model, X_test, y_test)
       >>> display.n_samples
       111
    """

    def __init__(self, levels, observed, *, n_samples=None, name=None):
        self.levels = levels
        self.observed = observed
        self.n_samples = n_samples
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, levels=None, target=None, sample_weight=None, name=None, **style
    ):
        """Predict the quantiles of a regressor, and draw.

        Parameters
        ----------
        estimator : fitted regressor
            A regressor with ``predict(X, quantiles=...)``. With ``predict(X, return_std=True)``
            only, its distribution is taken to be normal. It may be in a pipeline or a search.
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not seen.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        levels : array-like of shape (n_levels,), default=None
            Levels strictly between 0 and 1, increasing. None uses 0.05, 0.10, ..., 0.95.
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
        display : QuantileCalibrationDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is not a regressor that predicts its uncertainty.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `X`, `y` or `sample_weight` is invalid, for example with another number of rows. If
            `levels` is empty, not 1-D, not increasing, or not strictly between 0 and 1. If
            `target` is not the position of an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        levels = _check_levels(_LEVELS if levels is None else levels)
        quantiles = predict_quantiles(estimator, X, levels, cls.__name__)
        return cls.from_predictions(
            y,
            quantiles,
            levels,
            target=target,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            **style,
        )

    @classmethod
    def from_predictions(
        cls, y_true, y_quantiles, levels, *, target=None, sample_weight=None, name=None, **style
    ):
        """Compare targets with predicted quantiles, and draw.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Observed targets.
        y_quantiles : array-like of shape (n_samples, n_levels) or \
                (n_samples, n_outputs, n_levels)
            Predicted quantiles, ``predict_quantiles(X, levels)``.
        levels : array-like of shape (n_levels,)
            Levels of the quantiles, strictly between 0 and 1, increasing.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The shaded region then uses an effective number of rows,
            ``sum(w)**2 / sum(w**2)``.
        name : str, default=None
            Name of the model in the legend.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : QuantileCalibrationDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If `levels` is empty, not 1-D, not increasing, or not strictly between 0 and 1. If
            `y_quantiles` does not have one value for each row and level. If a value is not finite.
            If `sample_weight` has another shape, a value that is negative or not finite, or only
            zeros. If `target` is not the position of an output, or is missing with several
            outputs.
        ImportError
            If matplotlib is not installed.
        """
        levels = _check_levels(levels)
        y_true = select_target(y_true, target, "y_true")
        quantiles = select_target(y_quantiles, target, "y_quantiles", n_axes=2)
        if quantiles.shape != (len(y_true), len(levels)):
            raise ValueError(
                f"y_quantiles must have shape {(len(y_true), len(levels))}, one column for each "
                f"level, got {quantiles.shape}."
            )
        weights = check_row_weights(sample_weight, len(y_true))
        below = y_true[:, None] <= quantiles  # (row, level)
        effective = weights.sum() ** 2 / np.square(weights).sum()
        display = cls(
            levels,
            np.average(below, axis=0, weights=weights),
            n_samples=max(round(float(effective)), 1),
            name=name,
        )
        return display.plot(**style)

    def plot(self, ax=None, *, chance=0.95, line_kwargs=None, chance_kwargs=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        chance : float, default=0.95
            Probability of the shaded region. At each level, the fraction of a calibrated model
            lies in the region with at least this probability, by the binomial distribution of
            independent rows. None draws no region. To compare several models on one `ax`, pass
            None for every model except the first.
        line_kwargs : dict, default=None
            Style of the curve, for `Axes.plot`.
        chance_kwargs : dict, default=None
            Style of the shaded region, for `Axes.fill_between`.

        Returns
        -------
        display : QuantileCalibrationDisplay
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
        if chance is not None and self.n_samples is not None:
            levels = np.linspace(0, 1, 401)
            style = {"color": INTERVAL, "alpha": 0.6, "label": f"{100 * chance:.4g} % by chance"}
            self.chance_ = self.ax_.fill_between(
                levels,
                *find_chance_limits(levels, self.n_samples, chance),
                **merge_area_style(style, chance_kwargs),
            )
        draw_diagonal(self.ax_, (0, 1), "calibrated")
        error = np.abs(np.asarray(self.observed) - self.levels).mean()
        label = f"{self.name or 'model'} (mean distance {error:.3f})"
        style = {"marker": "o", "markersize": 4, "label": label}
        [self.line_] = self.ax_.plot(
            self.levels, self.observed, **merge_line_style(style, line_kwargs)
        )
        self.ax_.set(
            xlabel="nominal level of the quantile",
            ylabel="fraction of targets at or below it",
            xlim=(0, 1),
            ylim=(0, 1),
            aspect="equal",
        )
        self.ax_.legend(loc="upper left", fontsize="small")
        return self


def find_chance_limits(probabilities, n_samples: int, chance: float):
    """Return the limits of a fraction of independent rows that is `chance` likely, or more."""
    tail = (1 - chance) / 2
    limits = (binom.ppf(q, n_samples, probabilities) / n_samples for q in (tail, 1 - tail))
    return tuple(np.clip(limit, 0, 1) for limit in limits)  # ppf is -1 where nothing is random


def draw_diagonal(ax, ends, label: str):
    """Draw the diagonal once per axes, however many models are compared."""
    if label not in ax.get_legend_handles_labels()[1]:
        ax.plot(ends, ends, "--", color=REFERENCE, linewidth=1, label=label)


def _check_levels(levels) -> np.ndarray:
    levels = np.asarray(levels, dtype=np.float64)
    if levels.ndim != 1 or not len(levels) or not (levels > 0).all() or not (levels < 1).all():
        raise ValueError(f"levels must be a 1-D array in (0, 1), got {levels.tolist()!r}.")
    if (np.diff(levels) <= 0).any():
        raise ValueError(f"levels must increase, got {levels.tolist()!r}. Sort them.")
    return levels
