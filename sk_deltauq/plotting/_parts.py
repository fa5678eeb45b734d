"""Would more data help? Epistemic against aleatoric uncertainty."""

from __future__ import annotations

import numpy as np
from sklearn.base import is_classifier

from sk_deltauq._columns import is_missing
from sk_deltauq.metrics._checks import check_same_shape
from sk_deltauq.plotting._matplotlib import get_axes, merge_line_style
from sk_deltauq.plotting._predictions import predict_parts, select_target
from sk_deltauq.plotting._quantiles import draw_diagonal

# Groups differ by marker too, for colour-blind readers.
_MARKERS = ("o", "x", "^", "s", "+")


class UncertaintyPartsDisplay:
    """Epistemic against aleatoric uncertainty, one point for each row.

    Above the diagonal, most of the uncertainty is epistemic: more training rows like these would
    reduce it. Below the diagonal, most of it is noise of the target. Rows out of distribution
    should lie higher than the others.

    Parameters
    ----------
    epistemic : ndarray of shape (n_samples,)
        Epistemic uncertainty.
    aleatoric : ndarray of shape (n_samples,)
        Aleatoric uncertainty, in the same units.
    groups : ndarray of shape (n_samples,), default=None
        Group of each row, which has its own colour.
    units : str, default="standard deviation"
        Name of the units, for the axes.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the picture. All attributes with an underscore exist after `plot`.
    figure_ : matplotlib Figure
        Figure of the axes.
    points_ : list of matplotlib Line2D
        Points of each group.

    See Also
    --------
    sk_deltauq.metrics.ood_auroc : How well an uncertainty separates two groups.

    Examples
    --------
    .. plot::
       :include-source:
       :alt: Rows like the training rows lie below the diagonal, rows beyond their range above.

       >>> import numpy as np
       >>> from sk_deltauq import DeltaUQRegressor
       >>> from sk_deltauq.plotting import UncertaintyPartsDisplay
       >>> rng = np.random.default_rng(0)
       >>> x = rng.uniform(-1, 1, size=(300, 1))
       >>> y = np.sin(3 * x[:, 0]) + 0.2 * rng.standard_normal(300)
       >>> model = DeltaUQRegressor(max_iter=50, random_state=0).fit(x, y)
       >>> grid = np.linspace(-2, 2, 81)[:, None]
       >>> groups = np.where(np.abs(grid[:, 0]) > 1, "beyond the data", "among the data")
       >>> display = UncertaintyPartsDisplay.from_estimator(model, grid, groups=groups)
       >>> display.epistemic.shape
       (81,)
    """

    def __init__(self, epistemic, aleatoric, *, groups=None, units="standard deviation"):
        self.epistemic = epistemic
        self.aleatoric = aleatoric
        self.groups = groups
        self.units = units

    @classmethod
    def from_estimator(cls, estimator, X, *, groups=None, target=None, **style):
        """Predict both parts of the uncertainty, and draw.

        For a regressor, both parts are standard deviations in the units of the target. For a
        classifier they are entropies in nats, and their sum is the entropy of the prediction.

        Parameters
        ----------
        estimator : fitted regressor or classifier
            An estimator with ``predict_uncertainty``. It may be in a pipeline or a search.
        X : array-like of shape (n_samples, n_features)
            Rows to predict.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as "known" and "new". Each group has its own colour.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : UncertaintyPartsDisplay
            The drawn display.

        Raises
        ------
        TypeError
            If `estimator` has no ``predict_uncertainty``.
        NotFittedError
            If `estimator` is not fitted.
        ValueError
            If `X` is invalid, or if `groups` does not have one value for each row. If `target` is
            not the position of an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        parts = predict_parts(estimator, X, cls.__name__)
        of_classes = is_classifier(estimator)
        return cls.from_predictions(
            parts["epistemic"],
            parts["aleatoric"],
            groups=groups,
            target=target,
            units="entropy in nats" if of_classes else "standard deviation",
            **style,
        )

    @classmethod
    def from_predictions(
        cls,
        epistemic,
        aleatoric,
        *,
        groups=None,
        target=None,
        units="standard deviation",
        **style,
    ):
        """Draw predicted parts of the uncertainty.

        Parameters
        ----------
        epistemic : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Epistemic uncertainty.
        aleatoric : array-like of the shape of `epistemic`
            Aleatoric uncertainty, in the same units.
        groups : array-like of shape (n_samples,), default=None
            Group of each row, such as "known" and "new". Each group has its own colour.
        target : int, default=None
            Position of the output to draw. Required with several outputs.
        units : str, default="standard deviation"
            Name of the units, for the axes.
        **style : dict
            Parameters of `plot`, such as `ax`.

        Returns
        -------
        display : UncertaintyPartsDisplay
            The drawn display.

        Raises
        ------
        ValueError
            If shapes differ, arrays are empty, or a value is negative or not finite. If `groups`
            does not have one value for each row, or has missing values. If `target` is not the
            position of an output, or is missing with several outputs.
        ImportError
            If matplotlib is not installed.
        """
        epistemic, aleatoric = check_same_shape(
            epistemic=select_target(epistemic, target, "epistemic"),
            aleatoric=select_target(aleatoric, target, "aleatoric"),
        )
        for name, values in {"epistemic": epistemic, "aleatoric": aleatoric}.items():
            if values.min() < 0:
                raise ValueError(f"{name} must not be negative, got a minimum of {values.min()}.")
        if groups is not None and np.shape(groups) != epistemic.shape:
            raise ValueError(
                f"groups must have shape {epistemic.shape}, one per row, got {np.shape(groups)}."
            )
        groups = None if groups is None else np.asarray(groups)
        if groups is not None and any(is_missing(group) for group in groups):
            raise ValueError(
                "groups must not contain missing values. Name the group of these rows, for "
                "example 'missing', or leave them out."
            )
        return cls(epistemic, aleatoric, groups=groups, units=units).plot(**style)

    def plot(self, ax=None, *, points_kwargs=None):
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None makes a new figure.
        points_kwargs : dict, default=None
            Style of the points of every group, for `Axes.plot`.

        Returns
        -------
        display : UncertaintyPartsDisplay
            This display.

        Raises
        ------
        ImportError
            If matplotlib is not installed.
        """
        self.figure_, self.ax_ = get_axes(ax, type(self).__name__)
        everything = np.ones(len(self.epistemic), dtype=bool)
        members = {None: everything}
        if self.groups is not None:
            members = {group: self.groups == group for group in dict.fromkeys(self.groups)}
        self.points_ = []
        for number, (group, rows) in enumerate(members.items()):
            marker = _MARKERS[number % len(_MARKERS)]
            style = {"linestyle": "none", "marker": marker, "markersize": 5, "alpha": 0.7}
            if group is not None:
                style["label"] = str(group)
            self.points_ += self.ax_.plot(
                self.aleatoric[rows],
                self.epistemic[rows],
                **merge_line_style(style, points_kwargs),
            )
        ends = [1.05 * max(part.max(), 1e-300) for part in (self.aleatoric, self.epistemic)]
        draw_diagonal(self.ax_, (0, max(ends)), "equal parts")
        self.ax_.set(
            xlabel=f"aleatoric {self.units}",
            ylabel=f"epistemic {self.units}",
            xlim=(0, ends[0]),
            ylim=(0, ends[1]),
        )
        self.ax_.legend(loc="best", fontsize="small")
        return self
