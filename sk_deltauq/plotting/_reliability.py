"""Are predicted probabilities right on average? Confidence against observed frequency."""

from __future__ import annotations

import numpy as np

from sk_deltauq.distributions._arrays import check_coverage
from sk_deltauq.metrics._checks import check_probabilities, check_row_weights
from sk_deltauq.plotting._bins import assign_equal_counts, assign_equal_widths
from sk_deltauq.plotting._matplotlib import REFERENCE, get_axes, merge_line_style
from sk_deltauq.plotting._predictions import predict_probabilities
from sk_deltauq.plotting._quantiles import draw_diagonal, find_chance_limits


class ReliabilityDisplay:
    """Reliability diagram of a classifier: predicted probability against observed frequency.

    Rows are grouped into bins by the predicted probability. A calibrated model is on the diagonal,
    up to chance. Vertical bars show how far chance alone moves a point away from the diagonal
    [1]_. Points below the diagonal mean overconfidence.

    Parameters
    ----------
    confidence : ndarray of shape (n_bins,)
        Mean predicted probability in each bin. Empty bins are left out.
    frequency : ndarray of shape (n_bins,)
        Fraction of the rows in each bin for which the prediction is right.
    counts : ndarray of shape (n_bins,), default=None
        Number of rows in each bin, from which the bars and the sizes of the points follow. None
        draws neither.
    pos_label : object, default=None
        Class whose probability is shown. None means the most probable class of each row.
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
        Bars around the diagonal.

    See Also
    --------
    sk_deltauq.metrics.expected_calibration_error : The mean distance from the diagonal.
    sklearn.calibration.CalibrationDisplay : For two classes, without the bars.
    QuantileCalibrationDisplay : The same question for a regressor.

    References
    ----------
    .. [1] Bröcker and Smith, "Increasing the Reliability of Reliability Diagrams", Weather and
       Forecasting 22, 2007.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Observed frequency against confidence, close to the diagonal.

       >>> from sklearn.datasets import load_digits
       >>> from sklearn.model_selection import train_test_split
       >>> from sk_deltauq import DeltaUQClassifier
       >>> from sk_deltauq.plotting import ReliabilityDisplay
       >>> X, y = load_digits(return_X_y=True)
       >>> X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
       >>> model = DeltaUQClassifier(max_iter=10, random_state=0).fit(X_train, y_train)
       >>> display = ReliabilityDisplay.from_estimator(model, X_test, y_test)
       >>> int(display.counts.sum())
       899
    """

    def __init__(self, confidence, frequency, *, counts=None, pos_label=None, name=None):
        self.confidence = confidence
        self.frequency = frequency
        self.counts = counts
        self.pos_label = pos_label
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        estimator,
        X,
        y,
        *,
        pos_label=None,
        n_bins=10,
        strategy="uniform",
        sample_weight=None,
        name=None,
        **style,
    ):
        """Predict the probabilities of a classifier, and draw.

        Parameters
        ----------
        estimator : fitted classifier
            A classifier with ``predict_proba``. It may be a pipeline or a search.
        X : array-like of shape (n_samples, n_features)
            Rows that the model has not seen.
        y : array-like of shape (n_samples,)
            Observed class labels.
        pos_label : int, float, bool or str, default=None
            Class whose probability is shown. None shows the probability of the most probable class
            of each row, and how often this class is right.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            "uniform" bins have equal widths on [0, 1]. "quantile" bins have equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows.
        name : str, default=None
            Name of the model in the legend. None uses the class name.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : ReliabilityDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` is not a classifier with ``predict_proba``.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `X`, `y` or `sample_weight` is invalid, for example with another number of rows or
            an unknown label. If `pos_label` is not a class, `n_bins` is not an integer of at least
            1, or `strategy` is unknown.
        ImportError
            If matplotlib is not installed.
        """
        y_proba, labels = predict_probabilities(estimator, X, cls.__name__)
        return cls.from_predictions(
            y,
            y_proba,
            labels=labels,
            pos_label=pos_label,
            n_bins=n_bins,
            strategy=strategy,
            sample_weight=sample_weight,
            name=type(estimator).__name__ if name is None else name,
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        y_true,
        y_proba,
        *,
        labels=None,
        pos_label=None,
        n_bins=10,
        strategy="uniform",
        sample_weight=None,
        name=None,
        **style,
    ):
        """Compare class labels with predicted probabilities, and draw.

        Parameters
        ----------
        y_true : array-like of shape (n_samples,)
            Observed class labels.
        y_proba : array-like of shape (n_samples, n_classes)
            Predicted probabilities, ``predict_proba(X)``.
        labels : array-like of shape (n_classes,), default=None
            Label of each column, ``estimator.classes_``. None uses the sorted labels in `y_true`,
            which must contain every class.
        pos_label : int, float, bool or str, default=None
            Class whose probability is shown. None shows the probability of the most probable class
            of each row, and how often this class is right.
        n_bins : int, default=10
            Number of bins.
        strategy : {"uniform", "quantile"}, default="uniform"
            "uniform" bins have equal widths on [0, 1]. "quantile" bins have equal numbers of rows.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows. The bars then use an effective number of rows in each bin,
            ``sum(w)**2 / sum(w**2)``.
        name : str, default=None
            Name of the model in the legend.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : ReliabilityDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If `y_proba` does not hold probabilities, or `y_true` does not have one label for each
            of its rows. If `labels` does not have one label for each column, or lacks a label in
            `y_true`. If `pos_label` is not a class, `n_bins` is not an integer of at least 1, or
            `strategy` is unknown. If `sample_weight` has another shape, a value that is negative
            or not finite, or only zeros.
        ImportError
            If matplotlib is not installed.
        """
        if strategy not in ("uniform", "quantile"):
            raise ValueError(f"strategy must be 'uniform' or 'quantile', got {strategy!r}.")
        index, y_proba = check_probabilities(y_true, y_proba, labels)
        labels = np.unique(y_true) if labels is None else np.asarray(labels)
        shown = y_proba.argmax(axis=1)
        if pos_label is not None:
            if pos_label not in labels.tolist():
                raise ValueError(
                    f"pos_label must be one of the classes {labels.tolist()}, got {pos_label!r}."
                )
            shown = np.full(len(index), labels.tolist().index(pos_label))
        probability = y_proba[np.arange(len(index)), shown]
        weights = check_row_weights(sample_weight, len(index))
        assign = assign_equal_widths if strategy == "uniform" else assign_equal_counts
        bins = assign(probability, n_bins, weights)
        right = (index == shown).astype(float)
        display = cls(
            bins.average(probability),
            bins.average(right),
            counts=bins.effective_counts(),
            pos_label=pos_label,
            name=name,
        )
        return display.plot(**style)

    def plot(self, ax=None, *, chance=0.95, line_kwargs=None):
        """Draw the display.

        The area of a point is the share of the rows in its bin.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        chance : float, default=0.95
            Probability of the bars. In each bin, the frequency of a calibrated model lies within
            the bar with at least this probability, by the binomial distribution of independent
            rows. None draws no bars.
        line_kwargs : dict, default=None
            Style of the curve, for `Axes.plot`.

        Returns
        -------
        display : ReliabilityDisplay
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
        draw_diagonal(self.ax_, (0, 1), "calibrated")
        if chance is not None and self.counts is not None:
            lower, upper = find_chance_limits(self.confidence, self.counts, chance)
            self.chance_ = self.ax_.vlines(
                self.confidence,
                lower,
                upper,
                color=REFERENCE,
                alpha=0.35,
                linewidth=6,
                label=f"{100 * chance:.4g} % by chance",
            )
        style = {"marker": "o", "markersize": 3, "label": self.name or "model"}
        [self.line_] = self.ax_.plot(
            self.confidence, self.frequency, **merge_line_style(style, line_kwargs)
        )
        if self.counts is not None:
            share = np.asarray(self.counts) / np.sum(self.counts)
            self.ax_.scatter(
                self.confidence,
                self.frequency,
                s=400 * share,
                color=self.line_.get_color(),
                alpha=0.4,
                linewidth=0,
            )
        what = "most probable class" if self.pos_label is None else f"class {self.pos_label}"
        self.ax_.set(
            xlabel=f"predicted probability of the {what}",
            ylabel="observed frequency",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            aspect="equal",
        )
        self.ax_.legend(loc="lower right", fontsize="small")
        return self
