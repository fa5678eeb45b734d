import itertools
import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import ttest_rel

from benchmarks_uci.analysis.paired import (
    compare,
    corrected_t_test,
    explain,
    find_reference,
    signed_rank_test,
    tabulate_pairs,
)
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records

VALUES = np.array([0.3, -0.1, 0.5, 0.2, 0.4])


def differences(found, metric="nll", reference=None):
    """The rows of `compare`, each a dict."""
    run = make_run(found)
    overlapping = STUDY.protocols[found[0]["protocol"]].overlapping
    reference = reference or find_reference(run, STUDY)
    return compare(run, STUDY.metrics[metric], reference, overlapping).to_dict("records")


def table_of(found, metric="nll"):
    return tabulate_pairs(make_run(found), STUDY, metric)


def t_density(t, df):
    scale = math.gamma((df + 1) / 2) / (math.sqrt(df * math.pi) * math.gamma(df / 2))
    return scale * (1 + t * t / df) ** (-(df + 1) / 2)


def exact_signed_rank_p(values):
    """Over all signs: how often the sum of ranks is as far from its mean as the one seen."""
    ranks = np.argsort(np.argsort(np.abs(values))) + 1
    middle = ranks.sum() / 2
    seen = abs(ranks[np.asarray(values) > 0].sum() - middle)
    signs = itertools.product([0, 1], repeat=len(values))
    return np.mean([abs(np.dot(s, ranks) - middle) >= seen for s in signs])


def test_corrected_t_test_by_its_formula():
    error, p_value = corrected_t_test(VALUES, 0.25)
    squares = sum((v - 0.26) ** 2 for v in VALUES) / 4
    assert error == pytest.approx(math.sqrt((1 / 5 + 0.25) * squares))
    tail, _ = quad(t_density, 0.26 / error, np.inf, args=(4,))
    assert p_value == pytest.approx(2 * tail)


def test_without_overlap_it_is_the_paired_t_test():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 8))
    _, p_value = corrected_t_test(a - b, 0.0)
    assert p_value == pytest.approx(ttest_rel(a, b).pvalue)


def test_overlap_gives_larger_p_values():
    p_values = [corrected_t_test(VALUES, ratio)[1] for ratio in (0, 1 / 9, 1 / 4, 1)]
    assert p_values == sorted(p_values)


def test_differences_without_spread():
    assert corrected_t_test(np.zeros(4), 0.25) == (0, 1)
    assert corrected_t_test(np.ones(4), 0.25) == (0, 0)


@pytest.mark.parametrize(
    "values", [VALUES, -VALUES, [1, 2, 3, 4, 5, 6, 7, 8, 9], [3, -1, 2.5, -0.5, 0.2, 4]]
)
def test_signed_rank_test_by_counting_signs(values):
    assert signed_rank_test(values) == pytest.approx(exact_signed_rank_p(values))


@pytest.mark.parametrize("values", [[], [0.0, 0.0], [0.0, 1.0]])
def test_signed_rank_test_needs_two_differences(values):
    assert signed_rank_test(values) is None


def test_signed_rank_test_leaves_out_zeros():
    assert signed_rank_test([*VALUES, 0.0]) == signed_rank_test(VALUES)


def test_difference_is_over_the_common_splits():
    found = [
        *(record("wine", "deltauq", split, 1.0) for split in range(4)),
        *(record("wine", "pbp", split, 1.5 + 0.1 * split) for split in range(1, 6)),
        failed("wine", "pbp", 0),
    ]
    [one] = differences(found)
    assert (one["data"], one["method"], one["n"]) == ("wine", "pbp", 3)
    assert one["mean"] == pytest.approx(0.7)  # (0.6 + 0.7 + 0.8) / 3
    error, p_value = corrected_t_test(np.array([0.6, 0.7, 0.8]), 20 / 80)
    assert one["error"] == pytest.approx(error)
    assert one["p_value"] == pytest.approx(p_value)


def test_splits_by_feature_are_compared_by_signed_ranks():
    found = records(("wine",), ("deltauq", "pbp"), n_splits=6, protocol="gap")
    [one] = differences(found)
    values = [p["nll"] - d["nll"] for d, p in zip(found[:6], found[6:], strict=True)]
    assert one["p_value"] == pytest.approx(exact_signed_rank_p(values))
    assert one["error"] == pytest.approx(np.std(values, ddof=1) / math.sqrt(6))


def test_one_split_has_no_test():
    [one] = differences(records(("wine",), ("deltauq", "pbp"), n_splits=1))
    assert math.isnan(one["error"])
    assert math.isnan(one["p_value"])


def test_better_side_depends_on_the_metric():
    found = [record(coverage=0.8), record(method="pbp", coverage=0.99)]
    [one] = differences(found, "coverage")
    assert one["mean"] == pytest.approx(0.09 - 0.1)


def test_all_sets_are_compared_by_their_means():
    data = ("boston", "concrete", "energy", "wine", "yacht")
    table = table_of(records(data, ("deltauq", "pbp")))
    assert table.rows[-1] == ["all sets (Wilcoxon)", f"p = {2 / 2**5:.3f}"]  # all of one sign


def test_table_has_each_set_and_the_sums():
    found = records(("boston", "wine", "yacht"), n_splits=4)[:-1]  # pbp lacks a split on yacht
    table = table_of(found)
    assert table.headers == ["data", "mcdropout", "pbp"]
    names = [row[0] for row in table.rows]
    assert names == [
        *("boston", "wine", "yacht"),
        *("sets where deltauq is better", "all sets (Wilcoxon)"),
    ]
    assert table.rows[2][2].endswith(", 3/4)")
    assert table.rows[3][1:] == ["3 of 3", "3 of 3"]
    assert table.rows[4][1:] == ["p = 0.250"] * 2


def test_units_of_targets_are_not_compared_between_sets():
    assert [row[0] for row in table_of(records(), "rmse").rows][-1].startswith("sets where")


@pytest.mark.parametrize("metric", ["width", "fit_seconds"])
def test_score_without_a_better_side_is_not_compared(metric):
    assert table_of(records(), metric).rows == []


def test_sign_follows_the_loss():
    found = [record(std_error_correlation=0.5), record(method="pbp", std_error_correlation=0.25)]
    table = table_of(found, "std_error_correlation")
    assert table.title == "std-error correlation, difference to deltauq"
    assert table.rows[0] == ["boston", "+0.25"]


def test_without_delta_uq_there_is_nothing_to_compare():
    assert table_of(records(methods=("pbp", "bnn"))).rows == []


def test_explanation_names_the_test():
    random, gap = (explain(STUDY.protocols[name], "deltauq-5") for name in ("random80", "gap"))
    assert "Nadeau and Bengio" in random
    assert "deltauq-5 is better" in random
    assert "Nadeau and Bengio" not in gap


def test_five_members_are_the_reference_if_they_were_run():
    found = records(methods=("deltauq", "deltauq-5", "pbp"))
    table = table_of(found)
    assert table.headers == ["data", "deltauq", "pbp"]
    assert table.title == "NLL, difference to deltauq-5"
    assert {one["method"] for one in differences(found, reference="deltauq")} == {
        "deltauq-5",
        "pbp",
    }
