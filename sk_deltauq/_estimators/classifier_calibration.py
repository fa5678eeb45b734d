"""Calibration of a classifier: which temperature it gets, and what each kind needs."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sk_deltauq._estimators.logits import (
    FrequencyMixing,
    LogitAdjustment,
    find_spread_range,
)
from sk_deltauq._estimators.reverse_anchoring import LabelledRows
from sk_deltauq._host import Stream, numpy_rng
from sk_deltauq._nearest_rows import NearestRows, find_reach
from sk_deltauq._outlier_scores import HeldOutScores, average_log_proba
from sk_deltauq._prediction_sets import HeldOutLabels
from sk_deltauq._temperature import Temperature
from sk_deltauq._training.held_out import HoldOut
from sk_deltauq._training.held_out_logits import HeldOutLogits, score_outliers_held_out
from sk_deltauq._training.logit_calibration import (
    DEFAULT_EXPONENT,
    find_base_temperature,
    find_distance_temperature,
    find_pooling_factor,
)
from sk_deltauq._training.method import DrawContext
from sk_deltauq._training.net import StackedNet
from sk_deltauq._warnings import warn_caller

# Values of the parameter `calibration`, beside None.
KINDS = {"distance", "temperature", "spread"}

# Of them, those that cannot do without held-out rows.
_NEED_HELD_OUT_ROWS = {"temperature": "temperature", "spread": "logit_std_range"}


def resolve_calibration(classifier: Any) -> str | None:
    """Return the parameter `calibration`, or what the deprecated `temper` asks for."""
    temper = getattr(classifier, "temper", "deprecated")
    if temper == "deprecated":
        return classifier.calibration
    kind = "spread" if temper else None
    warn_caller(
        f"temper={temper!r} is deprecated and will be removed: use calibration={kind!r}, or "
        "the default calibration='distance', which stays calibrated under shift.",
        FutureWarning,
    )
    return kind


@dataclass(frozen=True)
class ClassifierCalibration:
    """What a classifier knows of its training rows and of its errors on held-out rows."""

    nearest: NearestRows
    kind: str | None = None
    temperature: Temperature | None = None
    spread_range: tuple[float, float] | None = None
    mixing: FrequencyMixing | None = None
    held_scores: HeldOutScores | None = None
    held_labels: HeldOutLabels | None = None
    labelled: LabelledRows | None = None  # None for methods whose anchors are no single rows
    # The numbers of the temperature, by name, for the fitted attribute `calibration_`.
    numbers: dict[str, Any] = field(default_factory=dict)

    def make_adjustment(self) -> LogitAdjustment:
        """Return the module that applies the calibration."""
        nearest = self.nearest if self.kind == "distance" else None
        return LogitAdjustment(nearest, self.temperature, self.spread_range, self.mixing)


def check_calibration(
    kind: str | None, earlier: ClassifierCalibration | None, *, holds_out: bool, reason: str
) -> None:
    """Raise an error if the kind needs held-out rows, and there are none.

    `earlier` is the calibration of the fit that `partial_fit` continues. `reason` says why there
    are no held-out rows.
    """
    needed = _NEED_HELD_OUT_ROWS.get(str(kind))
    if needed is None or holds_out or needed in _read_numbers(earlier, kind):
        return
    raise ValueError(
        f"calibration={kind!r} takes its numbers from held-out rows, and there are none {reason}. "
        "Use early_stopping=True with fit, or calibration='distance' or None."
    )


def calibrate_classifier(
    net: StackedNet,
    hold_out: HoldOut | None,
    context: DrawContext,
    kind: str | None,
    n_classes: int,
    earlier: ClassifierCalibration | None,
    *,
    corrupts: bool,
) -> ClassifierCalibration:
    """Sample the training rows, and learn from the held-out rows.

    `corrupts` says whether some training rows were corrupted. `earlier` is the calibration of the
    fit that `partial_fit` continues. Without held-out rows its numbers stay.
    """
    data, call = context.data, context.call
    keys = numpy_rng(context.seed, Stream.CALIBRATION, call).random(len(data.x))
    nearest = NearestRows.pick(data.x, keys, data.groups, earlier and earlier.nearest)
    nearest.to(context.settings.device)
    reach = find_reach(nearest.measure_own()) if kind == "distance" else 0.0
    labelled = LabelledRows.pick(net.module_, context, earlier and earlier.labelled)
    if hold_out is None:
        found = _calibrate_without_held_out_rows(nearest, kind, reach, earlier)
        return replace(found, labelled=labelled)
    rng = numpy_rng(context.seed, Stream.CALIBRATION, call, 1)
    held = HeldOutLogits.collect(net, hold_out, rng)
    temperature, spread_range = None, None
    if kind == "distance":
        pool = nearest.rows.cpu().numpy()
        temperature = find_distance_temperature(net, held, reach, pool, rng)
    elif kind == "temperature":
        temperature = find_base_temperature(held)
    elif kind == "spread":
        spread_range = find_spread_range(net, hold_out)
    # So far the temperature fits single networks, as the held-out logits do.
    mixing = FrequencyMixing.estimate(held, temperature, data, n_classes)
    # The pooling factor adapts it to the mean of all networks. Without corruption, the networks
    # are overconfident, and their mean is about right.
    if temperature is not None and corrupts:
        temperature = temperature.scale(find_pooling_factor(net, held, temperature, rng))
    held_scores = score_outliers_held_out(held)
    found = ClassifierCalibration(
        *(nearest, kind, temperature, spread_range, mixing, held_scores),
        labelled=labelled,
        numbers=_list_numbers(kind, temperature, spread_range),
    )
    return replace(found, held_labels=_collect_labels(found, held, net, rng))


def _collect_labels(
    found: ClassifierCalibration, held: HeldOutLogits, net: StackedNet, rng: np.random.Generator
) -> HeldOutLabels:
    """Collect what the networks that did not train on a held-out row say of its label."""
    adjustment = found.make_adjustment().to(found.nearest.rows.device)
    n_members = net.module_.core.n_members
    numbers = np.arange(net.module_.n_components).reshape(n_members, -1)
    folds = []
    for fold in held.folds:
        log_proba = average_log_proba(adjustment.adjust(fold.logits, fold.distances))
        folds.append(
            (
                None if len(fold.members) == n_members else numbers[fold.members].ravel(),
                log_proba.exp().cpu().numpy(),
                fold.labels.cpu().numpy(),
                fold.weights.cpu().numpy(),
            )
        )
    return HeldOutLabels.collect(folds, rng)


def _calibrate_without_held_out_rows(
    nearest: NearestRows, kind: str | None, reach: float, earlier: ClassifierCalibration | None
) -> ClassifierCalibration:
    """Take the numbers of the earlier fit, or the prior."""
    known = _read_numbers(earlier, kind)
    temperature, spread_range = None, None
    if kind == "distance":
        exponent = known.get("exponent", DEFAULT_EXPONENT)
        temperature = Temperature(known.get("temperature", 1.0), exponent, reach)
    elif kind == "temperature":
        temperature = Temperature(known["temperature"])
    elif kind == "spread":
        spread_range = known["logit_std_range"]
    numbers = _list_numbers(kind, temperature, spread_range)
    found = ClassifierCalibration(nearest, kind, temperature, spread_range, numbers=numbers)
    if earlier is None:
        return found
    # No labels for prediction sets: the networks may now have trained on the held-out rows.
    return replace(found, mixing=earlier.mixing, held_scores=earlier.held_scores)


def _read_numbers(earlier: ClassifierCalibration | None, kind: str | None) -> dict[str, Any]:
    """Return the numbers of an earlier calibration; none if it was of another kind."""
    return earlier.numbers if earlier is not None and earlier.kind == kind else {}


def _list_numbers(
    kind: str | None, temperature: Temperature | None, spread_range: tuple[float, float] | None
) -> dict[str, Any]:
    """Return the numbers of a calibration by name, for `calibration_`."""
    if spread_range is not None:
        return {"logit_std_range": spread_range}
    if temperature is None:
        return {}
    state = temperature.__getstate__()
    numbers = {"temperature": state["base"]}
    if kind == "distance":
        numbers |= {"exponent": state["exponent"], "reach": state["reach"]}
    return numbers
