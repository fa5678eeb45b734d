"""The scores of the classification studies: names, titles, digits, and which value is better."""

from __future__ import annotations

from benchmarks_uci.classification.shifts import SEVERITIES
from benchmarks_uci.engine.study import Curve, Metric

# Scores of probabilities, by name: title, digits, and the sign of a loss
PROBABILITY = {
    "nll": ("NLL", 3, 1),
    "ece": ("ECE", 3, 1),
    "ece_adaptive": ("adaptive ECE", 3, 1),
    "brier": ("Brier", 3, 1),
    "accuracy": ("accuracy", 3, -1),
}
# On which rows they are computed. `unseen` are the shifts at severity 5 that resemble no operation
# of training or calibration.
WHERE = {"": "clean", "_3": "severity 3", "_5": "severity 5", "_unseen": "severity 5, unseen"}
SECONDS = ("fit_seconds", "predict_seconds")
COVERAGE = 0.9  # nominal, of prediction sets

_SECONDS = [
    Metric("fit_seconds", "fit seconds", 2, loss=None, unit_free=False),
    Metric("predict_seconds", "predict seconds", 3, loss=None, unit_free=False),
]


def _make_metric(name, title, decimals, sign):
    return Metric(name, title, decimals, loss=lambda value: sign * value)


SHIFT = {
    metric.name: metric
    for metric in [
        *(
            _make_metric(f"{name}{suffix}", f"{title}, {where}", decimals, sign)
            for suffix, where in WHERE.items()
            for name, (title, decimals, sign) in PROBABILITY.items()
        ),
        *_SECONDS,
    ]
}
SET_PARTS = ("coverage", "size", "coverage at severity 3", "size at severity 3")
SHIFT_CURVES = {
    **{
        f"{name}_by_severity": Curve(
            f"{title} by severity".replace(" ", "-"), "severity", title, (0, *SEVERITIES)
        )
        for name, (title, _, _) in PROBABILITY.items()
    },
    # One number for each shift at severity 5, in the order of `list_shifts`. Tables and images
    # have other shifts, so these lists are shown in tables only.
    **{
        f"{name}_by_shift": Curve(f"{title}-by-shift", "shift", title, ())
        for name, (title, _, _) in PROBABILITY.items()
    },
    # `SET_PARTS` at the nominal coverage, for estimators with `predict_set`
    "sets": Curve("sets", "", "", ()),
}

# What outliers are: shifted rows, rows of a class that was left out, rows of another set
SOURCES = {"shift": "shifted", "class": "left-out class", "other": "other set"}
DETECTION = {
    "auroc": "AUROC",
    "accuracy": "detection accuracy",
    "aupr_in": "AUPR-in",
    "aupr_out": "AUPR-out",
}
# Kinds of `outlier_score`
KINDS = ("combined", "distance", "entropy", "mutual_information", "logit_std", "energy")
OUTLIERS = {
    metric.name: metric
    for metric in [
        *(
            _make_metric(f"{name}_{source}", f"{title}, {where}", 3, -1)
            for name, title in DETECTION.items()
            for source, where in SOURCES.items()
        ),
        *_SECONDS,
    ]
}
# AUROC of each kind of score that a method has, by source
OUTLIER_CURVES = {
    f"{kind}_{source}": Curve(f"{kind}-{source}", "", "", ())
    for kind in KINDS
    for source in SOURCES
}

# Scores of test images, and the AUROC of each kind of score for strange images
IMAGES = {
    metric.name: metric
    for metric in [
        *(
            _make_metric(name, title, decimals, sign)
            for name, (title, decimals, sign) in PROBABILITY.items()
        ),
        *(_make_metric(f"auroc_{kind}", f"AUROC, {kind}", 3, -1) for kind in KINDS),
        *_SECONDS,
    ]
}

# Quarters of the year, from January on. Networks are trained on the first one.
SEASONS = ("winter", "spring", "summer", "autumn")
# Scores of each season; `coverage` is the coverage of prediction sets.
BY_SEASON = (*PROBABILITY, "coverage")
NATURAL = {
    metric.name: metric
    for metric in [
        *(
            _make_metric(f"{name}_{season}", f"{title}, {season}", decimals, sign)
            for name, (title, decimals, sign) in PROBABILITY.items()
            for season in SEASONS
        ),
        *(
            Metric(
                f"coverage_{season}",
                f"set coverage, {season}",
                3,
                loss=lambda value: abs(value - COVERAGE),
            )
            for season in SEASONS
        ),
        *_SECONDS,
    ]
}
