"""Outlier scores of a regressor: what is kept at fit, and the scores of new rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from sk_deltauq._estimators.reverse_anchoring import (
    LabelledRows,
    measure_largest_error,
    score_reversed,
)
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._nearest_rows import NearestRows, measure_squashed_distance
from sk_deltauq._outlier_scores import (
    NO_HELD_OUT_ROWS,
    REGRESSOR_KINDS,
    HeldOutSpreads,
    check_kind,
)
from sk_deltauq._predictor import Predictor, compute_moments
from sk_deltauq._training.calibration import OutOfFold
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.held_out_spreads import score_held_out_spreads
from sk_deltauq._training.method import DrawContext
from sk_deltauq._training.net import StackedNet


@dataclass(frozen=True)
class RegressorOutliers:
    """Training rows and held-out rows that a new row is compared with."""

    nearest: NearestRows
    labelled: LabelledRows | None  # None for methods whose anchors are no single rows
    held: HeldOutSpreads | None  # None without held-out rows


def collect_outlier_references(
    net: StackedNet,
    hold_out: HoldOut | None,
    found: OutOfFold | None,
    context: DrawContext,
    earlier: RegressorOutliers | None,
) -> RegressorOutliers:
    """Sample the training rows, and score the held-out rows.

    `earlier` is what the fit has that `partial_fit` continues. Its held-out scores stay if this
    call holds no rows out.
    """
    data, call = context.data, context.call
    keys = numpy_rng(context.seed, Stream.CALIBRATION, call).random(len(data.x))
    nearest = NearestRows.pick(data.x, keys, data.groups, earlier and earlier.nearest)
    labelled = LabelledRows.pick(net.module_, context, earlier and earlier.labelled)
    held = earlier and earlier.held
    if hold_out is not None and found is not None:
        rng = numpy_rng(context.seed, Stream.CALIBRATION, call, 1)
        held = score_held_out_spreads(hold_out, found, rng)
    return RegressorOutliers(nearest, labelled, held)


def score_regressor_outliers(
    outliers: RegressorOutliers | None, predictor: Predictor, X: np.ndarray, kind: str
) -> np.ndarray:
    """Score checked rows `(row, feature)`, see `NetworkRegressor.outlier_score`."""
    check_kind(kind, REGRESSOR_KINDS)
    if kind == "reverse_anchoring":
        labelled = outliers and outliers.labelled
        return score_reversed(predictor, labelled, X, measure_largest_error)
    if kind == "epistemic":
        return _score_epistemic(predictor, X)
    if outliers is None:
        raise ValueError(
            f"kind={kind!r} needs training rows, and this model was stored by a version of "
            "sk_deltauq that kept none. Fit the model again, or use kind='epistemic'."
        )
    references = outliers.nearest.rows
    if kind == "distance":
        (distances,) = predictor.map_rows(
            X, lambda x: (measure_squashed_distance(x, references.to(x)),)
        )
        return distances
    if outliers.held is None:
        raise ValueError(NO_HELD_OUT_ROWS)

    def measure(x):
        spread = _measure_spread(predictor.module(x)[0], predictor.ddof)
        return spread, measure_squashed_distance(x, references.to(x))

    return outliers.held.combine(*predictor.map_rows(X, measure))


def _measure_spread(means: torch.Tensor, ddof: int) -> torch.Tensor:
    """Return the standard deviation between the components, averaged over outputs: `(row,)`.

    `means` is `(component, row, output)`; the average is the root of the mean variance.
    """
    correction = min(ddof, len(means) - 1)
    return means.double().var(dim=0, correction=correction).mean(dim=1).sqrt()


def _score_epistemic(predictor: Predictor, X: np.ndarray) -> np.ndarray:
    """Return the epistemic standard deviation in units of the targets' standard deviation."""
    if predictor.n_components == 1:
        raise ValueError(
            "kind='epistemic' is the disagreement of components, and this model has one "
            "component (`n_components_`). Use kind='distance', or fit with a larger n_members."
        )
    assert predictor.y_scaler is not None
    scale, constant = predictor.y_scaler.scale_, predictor.y_scaler.constant_
    (std,) = predictor.map_rows(
        X, lambda x: compute_moments(predictor, predictor.module(x), x, ("epistemic",))
    )
    std = std / scale  # (row, output)
    # A target that never varied has no standard deviation to compare with.
    kept = std if constant.all() else std[:, ~constant]
    return np.sqrt(np.square(kept).mean(axis=1))
