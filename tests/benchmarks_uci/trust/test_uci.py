import json
import shutil

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmarks_uci.engine.records import ResultsError, read_compact, write_compact
from benchmarks_uci.regression.study import STUDY
from benchmarks_uci.trust import uci

METHODS = (*uci.COMPARED, uci.ENSEMBLE)


def write_results(folder, protocol, change, keep=lambda record: True):
    """Write results of this version: the committed ones of the version before, changed."""
    before = [
        record
        for record in read_compact(uci.EARLIER / f"{protocol}-default.csv", STUDY)
        if record["method"] in METHODS and keep(record)
    ]
    write_compact([{**r, **change(r)} for r in before], folder, STUDY)
    return before


def read_means(path):
    scores = ["nll", "crps", "coverage"]
    return pd.read_csv(path).groupby(["data", "method"])[scores].mean()


def find_row(text, *titles):
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if tuple(cells[: len(titles)]) == titles:
            return cells
    raise AssertionError(f"no row {titles} in\n{text}")


def test_the_table_of_random_splits_uses_the_common_splits(tmp_path):
    """Means and test are computed a second time, from the CSV files themselves."""
    rng = np.random.default_rng(0)
    before = write_results(
        tmp_path,
        "random80",
        lambda r: {"nll": r["nll"] - rng.random(), "coverage": 0.9},
        keep=lambda r: r["data"] in ("boston", "yacht") and r["split"] < 5,
    )
    now = pd.read_csv(tmp_path / "random80-default.csv")
    text = uci.write_table("random80", uci.read_frame("random80", tmp_path))
    row = find_row(text, "yacht", "Delta-UQ, 5 members")
    old = pd.DataFrame(before).query("data == 'yacht' and method == 'deltauq-5'")
    new = now.query("data == 'yacht' and method == 'deltauq-5'")
    assert row[2] == "5 of 20"
    assert row[3] == f"{old['coverage'].mean():.3f} → 0.900"
    assert row[4] == f"{old['nll'].mean():.3f} → {new['nll'].mean():.3f}"
    difference = new["nll"].to_numpy() - old["nll"].to_numpy()
    variance = (1 / 5 + 62 / 246) * difference.var(ddof=1)
    p_value = 2 * stats.t.sf(abs(difference.mean()) / variance**0.5, 4)
    assert row[5] == f"p = {p_value:.3f}"
    assert "Delta-UQ: coverage between 0.88 and 0.92 on 2 of 2 sets (before: " in text
    assert "Not measured with this version: concrete, energy, kin8nm" in text


def test_the_p_value_of_equal_results_is_one(tmp_path):
    write_results(tmp_path, "random80", lambda r: {}, keep=lambda r: r["data"] == "wine")
    text = uci.write_table("random80", uci.read_frame("random80", tmp_path))
    assert find_row(text, "wine", "Delta-UQ")[5] == "p = 1.000"
    assert (
        text.count("Sets with a better NLL at a p-value below 0.05: 0; with a worse NLL: 0") == 2
    )


def test_one_split_has_no_p_value(tmp_path):
    keep = {"data": "wine", "split": 0}
    write_results(tmp_path, "random80", lambda r: {}, lambda r: keep.items() <= r.items())
    text = uci.write_table("random80", uci.read_frame("random80", tmp_path))
    assert find_row(text, "wine", "Delta-UQ")[2:6:3] == ["1 of 20", "-"]


def test_the_tables_out_of_distribution_count_sets(tmp_path):
    """Delta-UQ is made better than the ensemble on yacht, and worse on energy."""

    def change(record):
        if record["method"] != uci.OURS:
            return {"nll": 1.0, "crps": 1.0}
        value = 0.5 if record["data"] == "yacht" else 1.5
        return {"nll": value, "crps": 2.0, "density_nll": value + 0.25 * (record["split"] == 1)}

    def keep(record):
        unfinished = record["method"] == uci.ENSEMBLE and record["split"] == 3
        return record["data"] in ("yacht", "energy") and not unfinished

    before = write_results(tmp_path, "tail", change, keep)
    text = uci.write_table("tail", uci.read_frame("tail", tmp_path))
    row = find_row(text, "yacht")
    ours, ensemble = (
        np.mean([r["nll"] for r in before if (r["data"], r["method"]) == ("yacht", method)][:3])
        for method in (uci.OURS, uci.ENSEMBLE)
    )
    assert row[1:4] == ["3 of 4", f"{ours:.3f} → 0.500", f"{ensemble:.3f} → 1.000"]
    assert row[-1].endswith(" → 0.25")
    assert "- NLL: Delta-UQ is no worse than the deep ensemble on 1 of 2 sets" in text
    assert "- CRPS: Delta-UQ is no worse than the deep ensemble on 0 of 2 sets" in text
    assert "differs from its NLL by at most 0.25 nats on a split (before: " in text


def test_absent_results_are_said_to_be_absent(tmp_path):
    assert uci.read_frame("gap", tmp_path) is None
    assert uci.write_table("gap", None) == uci.ABSENT
    assert uci.write_report(tmp_path) == ""
    write_results(tmp_path, "gap", lambda r: {}, lambda r: r["method"] == uci.OURS)
    assert uci.write_table("gap", uci.read_frame("gap", tmp_path)) == uci.ABSENT


def test_a_method_without_results_is_left_out(tmp_path):
    keep = {"data": "wine", "method": uci.OURS}
    write_results(tmp_path, "random80", lambda r: {}, lambda r: keep.items() <= r.items())
    text = uci.write_table("random80", uci.read_frame("random80", tmp_path))
    assert text.count("Delta-UQ, 5 members") == 2
    assert text.count("Delta-UQ") == 2


def test_results_of_other_rows_are_refused(tmp_path):
    write_results(tmp_path, "gap", lambda r: {"split_hash": "0"}, lambda r: r["data"] == "yacht")
    with pytest.raises(ResultsError, match="not tested on the same rows"):
        uci.read_frame("gap", tmp_path)


@pytest.mark.parametrize("protocol", uci.PROTOCOLS)
def test_committed_results_of_both_versions_have_the_same_rows(protocol):
    frame = uci.read_frame(protocol)
    assert frame is not None
    assert uci.write_table(protocol, frame).startswith("| set")
    shared = json.loads((uci.RESULTS / f"{protocol}-default.json").read_text(encoding="utf-8"))
    assert not shared["errors"]


def test_energy_is_too_wide_in_tails_and_too_narrow_in_gaps():
    """As the page on extrapolation says."""
    before = read_means(uci.EARLIER / "tail-default.csv").loc["energy", uci.OURS]
    tail = read_means(uci.RESULTS / "tail-default.csv").loc["energy"]
    assert tail.loc[uci.OURS, "coverage"] > 0.95
    assert tail.loc[uci.OURS, "crps"] > before["crps"]
    assert tail.loc[uci.OURS, "crps"] > tail.loc[uci.ENSEMBLE, "crps"]
    gap = read_means(uci.RESULTS / "gap-default.csv").loc[("energy", uci.OURS)]
    assert gap["coverage"] < 0.7


def test_intervals_of_yacht_and_energy_are_too_wide():
    """As the page on trust says."""
    coverage = read_means(uci.RESULTS / "random80-default.csv")["coverage"]
    for method in uci.COMPARED:
        assert coverage["yacht", method] > uci.WANTED[1]
    assert coverage["energy", uci.OURS] > uci.WANTED[1]


def test_the_report_shows_each_protocol_with_results(tmp_path):
    for ending in ("csv", "json"):
        shutil.copy(uci.RESULTS / f"random80-default.{ending}", tmp_path)
    text = uci.write_report(tmp_path)
    assert text.startswith("random80, before → now:\n\n| set")
    assert "tail" not in text
