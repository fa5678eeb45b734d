"""Tables of goals, against means that pandas takes from the CSV files."""

import shutil

import pandas as pd
import pytest
from scipy import stats

from benchmarks_uci.regression import goals


def read(protocol, folder=goals.RESULTS):
    return pd.read_csv(folder / f"{protocol}-refined.csv")


def copy_results(folder, change):
    """Copy the committed files, with `change` applied to the rows of random80."""
    for protocol in ("random80", "hl90", "gap", "tail"):
        for end in ("csv", "json"):
            shutil.copy(goals.RESULTS / f"{protocol}-refined.{end}", folder)
    path = folder / "random80-refined.csv"
    path.write_text(change(path.read_text()))


@pytest.fixture(scope="module")
def counts():
    return {(found.run, found.goal): found for found in goals.judge_all()}


def find(counts, run, part):
    (found,) = (value for (name, goal), value in counts.items() if name == run and part in goal)
    return found


def test_each_goal_stands_beside_the_mean_of_its_set():
    table = goals.tabulate_figures()
    assert [row[0] for row in table.rows] == sorted({*read("random80")["data"]})
    for j, (protocol, score, method, _, wanted) in enumerate(goals.FIGURES, start=1):
        means = read(protocol).groupby(["method", "data"])[score].mean()[method]
        for i, data in enumerate(goals.SETS):
            goal, measured = map(float, table.rows[i][j].split(" → "))
            assert goal == wanted[i]
            assert measured == pytest.approx(means[data], rel=0.01)
            assert ((i, j) in table.bold) == (means[data] <= wanted[i])


def test_pairs_with_the_ensemble_are_counted(counts):
    wide = read("random80").pivot(index=["data", "split"], columns="method", values="nll")
    sizes = read("random80").groupby("data")[["n_test", "n_train"]].first()
    lower, clear = 0, 0
    for data, group in wide.groupby("data"):
        d = (group[goals.FIVE] - group[goals.ENSEMBLE]).dropna()
        lower += d.mean() < 0
        # Nadeau and Bengio (2003)
        variance = d.var() * (1 / len(d) + sizes.loc[data, "n_test"] / sizes.loc[data, "n_train"])
        p = 2 * stats.t.sf(abs(d.mean()) / variance**0.5, len(d) - 1)
        clear += d.mean() < 0 and p < 0.05
    assert find(counts, "random80", "at least 7").measured.startswith(f"{lower} of 9")
    found = find(counts, "random80", "at least 4")
    assert found.measured.startswith(f"{clear} of 9")
    assert found.is_reached == (clear >= 4)


@pytest.mark.parametrize("protocol", ["gap", "tail"])
@pytest.mark.parametrize(("score", "title"), [("nll", "NLL"), ("crps", "CRPS")])
def test_sets_with_lower_scores_out_of_distribution_are_counted(counts, protocol, score, title):
    means = read(protocol).groupby(["data", "method"])[score].mean().unstack()
    lower = means[goals.FIVE] < means[goals.ENSEMBLE]
    found = find(counts, protocol, f"lower {title}")
    assert found.measured.startswith(f"{lower.sum()} of 9")
    assert all(data in found.measured for data in means.index[~lower])
    assert found.is_reached == (lower.sum() >= 7)


@pytest.mark.parametrize("protocol", ["gap", "tail"])
def test_sets_with_low_coverage_are_named(counts, protocol):
    frame = read(protocol)
    means = frame[frame["method"] == goals.FIVE].groupby("data")["coverage"].mean()
    low = means.index[means.round(3) < 0.8]
    found = find(counts, protocol, "cover 0.80")
    assert found.measured.startswith(f"{9 - len(low)} of 9")
    assert all(data in found.measured for data in low)
    assert found.is_reached == (len(low) <= 1)


def test_seconds_are_a_ratio_of_sums_over_the_sets(counts):
    means = read("random80").groupby(["data", "method"])["fit_seconds"].mean().unstack()
    ratio = means[goals.FIVE].sum() / means[goals.ENSEMBLE].sum()
    assert find(counts, "random80", "seconds").measured == f"{ratio:.2f} times"


def test_a_set_without_all_splits_does_not_reach_a_goal(tmp_path):
    def remove(text):
        lines = text.splitlines(keepends=True)
        return "".join(line for line in lines if ",yacht,deltauq-5,0," not in line)

    copy_results(tmp_path, remove)
    (row,) = (row for row in goals.tabulate_figures(tmp_path).rows if row[0] == "yacht")
    assert row[1] == "-0.2 → -"
    (found,) = (found for found in goals.judge_all(tmp_path) if "cover 0.88" in found.goal)
    assert "yacht nan" in found.measured
    assert not found.is_reached
