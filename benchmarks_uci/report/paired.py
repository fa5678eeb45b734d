"""Differences to Delta-UQ on the same splits, and tests that respect the pairing.

Random splits of one set overlap, so that their scores are not independent and the usual paired
t-test finds differences that are not there. The corrected resampled t-test of Nadeau and Bengio
(2003, "Inference for the Generalization Error", Machine Learning 52) widens the variance for it.
The splits of `gap` and `tail` are one a feature, not draws from one distribution: there the
signed-rank test of Wilcoxon is used, which asks for no normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy import stats

from benchmarks_uci.report.grouping import grouped, methods, ours, sets, the_run
from benchmarks_uci.report.metrics import METRICS, Metric
from benchmarks_uci.report.tables import Table

RANDOM_SPLITS = ("random80", "development", "hl90")


@dataclass(frozen=True)
class Difference:
    """A method against Delta-UQ on one set.

    Attributes
    ----------
    data, method : str
    mean : float
        Mean over the common splits of loss(method) - loss(Delta-UQ): above 0, Delta-UQ is better.
    standard_error : float or None
        Corrected for the overlap of random splits; None for a single split.
    p_value : float or None
        Two-sided, of no difference; None where the splits are too few to tell.
    n_splits : int
        Splits that both have done.
    """

    data: str
    method: str
    mean: float
    standard_error: float | None
    p_value: float | None
    n_splits: int


def differences(
    records: list[dict], metric: str = "nll", reference: str | None = None
) -> list[Difference]:
    """Every other method against Delta-UQ, on every set where both have done a split.

    Which Delta-UQ it is, `reference`, is settled by `ours` if it is None. The score must have a
    better side, a `loss`.
    """
    protocol, _ = the_run(records)
    reference = reference or ours(records)
    groups = grouped(records, "data", "method")
    found = []
    for method in methods(records):
        for data in sets(records):
            of_both = groups.get((data, method)), groups.get((data, reference))
            if method != reference and all(of_both):
                one = _difference(*of_both, metric, protocol in RANDOM_SPLITS)
                found += [one] if one else []
    return found


def corrected_t_test(values: np.ndarray, test_to_train: float) -> tuple[float, float]:
    """Standard error and two-sided p-value of a mean of 0, of Nadeau and Bengio (2003).

    The variance of the mean of J differences is taken as (1/J + n_test/n_train) times their sample
    variance, in place of 1/J times it; t has J - 1 degrees of freedom.
    """
    n = len(values)
    error = sqrt((1 / n + test_to_train) * np.var(values, ddof=1))
    if error == 0:
        return 0.0, 1.0 if np.mean(values) == 0 else 0.0
    return error, float(2 * stats.t.sf(abs(np.mean(values)) / error, n - 1))


def signed_rank_test(values: np.ndarray) -> float | None:
    """Two-sided p-value of Wilcoxon's test; None for fewer than two differences from 0."""
    values = np.asarray(values, dtype=float)
    values = values[values != 0]  # as Wilcoxon did
    if len(values) < 2:
        return None
    return float(stats.wilcoxon(values).pvalue)


def which_test(protocol: str) -> str:
    """Name of the test that `differences` takes for the splits of a protocol."""
    return "corrected paired t-test" if protocol in RANDOM_SPLITS else "signed-rank test"


def over_sets(found: list[Difference], method: str) -> float | None:
    """P-value of the signed-rank test over the mean differences on the sets."""
    return signed_rank_test([one.mean for one in found if one.method == method])


def paired_table(records: list[dict], metric: str = "nll") -> Table:
    """Sets by methods: mean difference to Delta-UQ ± standard error, and its p-value.

    The last rows count the sets on either side and, for scores without units, test over the sets.
    There are no rows for a score that has no better side.
    """
    protocol, preset = the_run(records)
    shown = METRICS[metric]
    reference = ours(records)
    title = f"{shown.title}, worse than that of {reference} by, {protocol}, preset {preset}"
    found = differences(records, metric) if shown.loss else []
    if not found:
        return Table(title, ["data"], [])
    compared = list(dict.fromkeys(one.method for one in found))
    cells = {(one.data, one.method): one for one in found}
    rows = []
    for data in dict.fromkeys(sorted(one.data for one in found)):
        n_splits = len({r["split"] for r in records if r["data"] == data})
        of_set = [_text(cells.get((data, method)), shown, n_splits) for method in compared]
        rows.append([data, *of_set])
    rows.append([f"sets where {reference} is better", *(_wins(found, m) for m in compared)])
    if shown.unit_free:
        tests = [over_sets(found, method) for method in compared]
        rows.append(["all sets (Wilcoxon)", *(_p(test) or "-" for test in tests)])
    return Table(title, ["data", *compared], rows)


def explanation(records: list[dict]) -> str:
    """How to read `paired_table`."""
    protocol, _ = the_run(records)
    test = (
        "the corrected resampled t-test of Nadeau and Bengio (2003), which allows for the "
        "overlap of the random splits; so does the standard error"
        if protocol in RANDOM_SPLITS
        else "the signed-rank test of Wilcoxon over the splits"
    )
    return (
        "Mean difference over the splits that both have done ± standard error; above 0, "
        f"{ours(records)} is better. p: two-sided, by {test}. Over all sets: the signed-rank "
        "test of Wilcoxon on the mean differences. No p-value is adjusted for the number of "
        "comparisons."
    )


def _difference(others: list[dict], own: list[dict], metric: str, random: bool):
    loss = METRICS[metric].loss
    own_by_split = {r["split"]: r for r in own if _has(r, metric)}
    pairs = [
        (record, own_by_split[record["split"]])
        for record in others
        if _has(record, metric) and record["split"] in own_by_split
    ]
    if not pairs:
        return None
    values = np.array([loss(other[metric]) - loss(own[metric]) for other, own in pairs])
    error = p_value = None
    if len(values) > 1 and np.isfinite(values).all():
        if random:
            test_to_train = np.mean([own["n_test"] / own["n_train"] for _, own in pairs])
            error, p_value = corrected_t_test(values, test_to_train)
        else:
            error = float(np.std(values, ddof=1) / sqrt(len(values)))
            p_value = signed_rank_test(values)
    data, method = others[0]["data"], others[0]["method"]
    return Difference(data, method, float(values.mean()), error, p_value, len(values))


def _has(record: dict, metric: str) -> bool:
    return record["status"] == "done" and record.get(metric) is not None


def _text(one: Difference | None, metric: Metric, n_splits: int) -> str:
    """`+0.120 ± 0.030 (p = 0.001)`, and on how many splits where it is not all of them."""
    if one is None:
        return "-"
    decimals = metric.decimals_of(one.mean)
    text = f"{one.mean:+.{decimals}f}"
    if one.standard_error is not None:
        text += f" ± {one.standard_error:.{decimals}f}"
    fewer = f"{one.n_splits}/{n_splits}" if one.n_splits < n_splits else ""
    details = ", ".join(filter(None, [_p(one.p_value), fewer]))
    return f"{text} ({details})" if details else text


def _wins(found: list[Difference], method: str) -> str:
    of_method = [one.mean for one in found if one.method == method]
    return f"{sum(mean > 0 for mean in of_method)} of {len(of_method)}"


def _p(value: float | None) -> str:
    if value is None:
        return ""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"
