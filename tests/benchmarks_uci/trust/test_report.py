from collections import defaultdict
from statistics import fmean

import pytest

from benchmarks_uci.trust import report, results
from benchmarks_uci.trust.names import CLASSIFIER, COMPARISON, OURS, SMALL


def record(situation, seed=0, method=OURS, available=1, warned=0, cell="", n=5, **scores):
    keys = {"situation": situation, "cell": cell, "method": method, "seed": seed, "n": n}
    return {**keys, "available": available, "warned": warned, **scores}


def find_row(text, title):
    line = next(line for line in text.splitlines() if line.startswith(f"| {title} "))
    return [cell.strip() for cell in line.split("|")[1:-1]]


def small(shift):
    for method, loss in ((OURS, 0.4), (COMPARISON, 0.5)):
        for cell, n, coverage in (("line-1-5", 5, 0.7), ("line-1-60", 60, 0.98)):
            scores = {"coverage": coverage + shift * (method == OURS), "crps": loss}
            yield record(SMALL, method=method, cell=cell, n=n, **scores)


def test_a_row_shows_means_extremes_and_whether_the_goal_is_met():
    old = [record("bootstrap", seed, coverage=c) for seed, c in enumerate([0.5, 0.7])]
    new = [record("bootstrap", seed, coverage=c) for seed, c in enumerate([0.85, 0.95])]
    text = report.write_situations({"first version": old, "now": new})
    assert find_row(text, "bootstrap sample of 200 rows") == [
        "bootstrap sample of 200 rows",
        "coverage",
        "0.85 to 0.95",
        "0.60 (0.50 to 0.70)",
        "0.90 (0.85 to 0.95)",
        "yes",
    ]
    only_old = report.write_situations({"first version": old})
    assert find_row(only_old, "bootstrap sample of 200 rows")[-1] == "no"


def test_missing_and_unavailable_situations_have_no_verdict():
    text = report.write_situations({"now": [record("grouped", available=0)]})
    assert find_row(text, "the same with groups")[-2:] == ["not available", ""]
    assert find_row(text, "zero-inflated counts")[-2:] == ["-", ""]


def test_a_goal_can_refer_to_another_row():
    records = [record("weighted", coverage=0.9), record("repeated", coverage=0.88)]
    text = report.write_situations({"now": records})
    assert find_row(text, "each of these rows four times")[-1] == "yes"
    text = report.write_situations({"now": records[1:]})
    assert find_row(text, "each of these rows four times")[-1] == ""


def test_a_goal_can_concern_each_fit():
    records = [
        record("small-classes", seed, method=CLASSIFIER, excess_log_loss=excess)
        for seed, excess in enumerate([0.0, 0.5])
    ]
    row = find_row(report.write_situations({"now": records}), "4 to 40 rows of two classes")
    assert row[-2:] == ["0.25 (0.00 to 0.50)", "no"]


def test_warnings_are_counted_and_can_meet_a_goal():
    records = [record("outlier", seed, warned=1, width_ratio=900.0) for seed in range(2)]
    row = find_row(report.write_situations({"now": records}), "one target of 1e5 among 400")
    assert row[-2:] == ["900 (900 to 900), warning", "yes"]
    records[0]["warned"] = 0
    row = find_row(report.write_situations({"now": records}), "one target of 1e5 among 400")
    assert row[-2:] == ["900 (900 to 900), 1 warnings", "no"]


def test_small_data_sets_are_summarised_by_cell_and_by_size():
    versions = {"first version": [*small(-0.2)], "now": [*small(0.1)]}
    text = report.write_small(versions)
    assert find_row(text, "lowest coverage of a cell")[2:] == ["0.70", "0.50", "0.80", "yes"]
    assert find_row(text, "CRPS / CRPS of BayesianRidge")[2:] == ["1.00", "0.80", "0.80", "yes"]
    assert find_row(text, "share of cells with coverage above 0.97")[2:] == [
        "0.50",
        "0.00",
        "0.50",
        "no",
    ]
    sizes = report.write_sizes(versions)
    assert find_row(sizes, "5")[1:4] == ["0.70", "0.50", "0.80"]
    assert find_row(sizes, "60") == ["60", "0.98", "0.78", "1.08", "0.50", "0.40", "0.40"]


def test_sizes_that_a_version_lacks_are_left_open():
    part = [row for row in small(0) if row["n"] == 5]
    text = report.write_sizes({"first version": [*small(0)], "now": part})
    assert find_row(text, "60")[3] == "-"


def test_a_report_without_small_data_sets_leaves_their_tables_out():
    records = [record("bootstrap", coverage=0.9)]
    assert report.write_report({"now": records}) == report.write_situations({"now": records})
    assert "CRPS" in report.write_report({"now": [*records, *small(0)]})


def test_the_committed_results_show_the_failures_of_the_first_version():
    """Copies of rows had a coverage of 0.06 when this was first measured, on other seeds."""
    text = report.write_situations(report.read_first())
    found = find_row(text, "each of these rows four times")
    assert float(found[3].split()[0]) == pytest.approx(0.06, abs=0.03)
    assert found[-1] == "no"
    assert "first version" in report.read_committed()


def test_only_cells_of_few_rows_fall_below_four_fifths():
    """As the page on trust says."""
    cells = defaultdict(list)
    for row in results.read(results.NOW):
        if (row["situation"], row["method"]) == (SMALL, OURS):
            cells[row["cell"], row["n"]].append(row["coverage"])
    low = {n for (_, n), values in cells.items() if fmean(values) < 0.80}
    assert low == {5}
