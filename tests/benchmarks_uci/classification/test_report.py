import numpy as np
import pytest

from benchmarks_uci.classification import metrics, report
from benchmarks_uci.classification.shifts import list_shifts
from benchmarks_uci.engine.records import ResultsError, read_compact, write_compact


def make_records(study, protocol, values, curves=None):
    """Records of two splits; `values` maps (data, method) to the value of every score."""
    return [
        {
            "protocol": protocol,
            "preset": "default",
            "data": data,
            "method": method,
            "split": split,
            "split_name": f"seed {split}",
            "status": "done",
            "error": "",
            "warnings": [],
            "n_train": 75,
            "n_test": 25,
            "n_features": 4,
            "settings": {"class": method},
            "settings_id": method,
            "data_hash": data,
            "split_hash": f"{data}{split}",
            "source": "a test",
            "versions": {},
            "machine": {},
            **{name: value + split for name in study.metrics},
            **{name: (curves or {}).get(name) for name in study.curves},
        }
        for (data, method), value in values.items()
        for split in (0, 1)
    ]


@pytest.fixture
def records():
    n_shifts = len(list_shifts("tables"))
    curves = {f"{name}_by_shift": list(range(n_shifts)) for name in metrics.PROBABILITY}
    curves["sets"] = [0.9, 1.2, 0.8, 1.5]
    values = {
        ("wine", "mlp"): 1.0,
        ("wine", "deltauq"): 2.0,
        ("vowel", "mlp"): 3.0,
        ("vowel", "deltauq"): 6.0,
        ("digits", "mlp"): 9.0,
    }
    return make_records(report.STUDIES["shift"], "shift", values, curves)


def test_means_are_over_sets_that_all_methods_have(records):
    means, names = report.average_over_sets(records, report.STUDIES["shift"])
    assert names == ["vowel", "wine"]
    # The mean of two splits is half above the first.
    assert means.loc["mlp", "nll_5"] == 2.5
    assert means.loc["deltauq", "nll_5"] == 4.5


def test_a_failure_leaves_the_set_out(records):
    def fail(record):
        return {**record, "status": "failed", **dict.fromkeys(report.STUDIES["shift"].metrics)}

    key = ("vowel", "mlp", 1)
    changed = [fail(r) if (r["data"], r["method"], r["split"]) == key else r for r in records]
    _, names = report.average_over_sets(changed, report.STUDIES["shift"])
    assert names == ["wine"]
    with pytest.raises(ResultsError, match="no set has every split"):
        report.average_over_sets(
            [r for r in records if r["data"] == "digits"]
            + [r for r in records if r["data"] == "wine" and r["method"] == "deltauq"],
            report.STUDIES["shift"],
        )


def test_a_table_marks_the_best(records):
    table = report.write_scores(records, report.CLEAN)
    lines = table.splitlines()
    assert "accuracy, clean" in lines[0]
    assert lines[2].startswith("| mlp")
    assert "**2.500**" in lines[2]  # a loss
    assert "**4.500**" in lines[3]  # an accuracy
    assert "vowel (2), wine (2)" in lines[-1]


def test_the_ablation_shows_variants_and_their_reference(records):
    variants = [{**r, "method": "deltauq-batch"} for r in records if r["method"] == "mlp"]
    lines = report.write_ablation(records + variants, report.SHIFTED).splitlines()
    names = [line.split("|")[1].strip() for line in lines[2:4]]
    assert names == ["deltauq-batch", "deltauq"]
    assert "deltauq-batch" not in report.write_scores(records + variants, report.CLEAN)
    assert "deltauq-batch" not in report.write_quartiles(records + variants)


def test_quartiles_are_over_sets_and_shifts(records):
    table = report.write_quartiles(records)
    n = len(list_shifts("tables"))
    values = np.tile(np.arange(n), 2)
    expected = [
        np.quantile(values, 0.25),
        np.median(values),
        values.mean(),
        np.quantile(values, 0.75),
    ]
    for line, value in zip(table.splitlines()[2:6], expected, strict=True):
        assert f"**{value:.3f}**" in line
    assert [line.split("|")[1].strip() for line in table.splitlines()[2::4]] == [
        "ECE",
        "NLL",
        "Brier",
    ]


def test_sets_pairs_and_single_sets(records):
    assert "0.900 | 1.200" in report.write_prediction_sets(records)
    assert "No estimator" in report.write_prediction_sets([{**r, "sets": None} for r in records])
    pairs = report.write_pairs(records, "shift", "nll_5")
    assert "sets where deltauq is better" in pairs
    assert "Nadeau and Bengio" in pairs
    by_set = report.write_by_set(records, "nll_5").splitlines()
    assert by_set[2].split("|")[1:4] == [" digits ", " 9.500 ", "       - "]


def test_outliers_are_sorted_by_the_mean(tmp_path):
    study = report.STUDIES["outliers"]
    curves = {f"entropy_{source}": [0.7] for source in metrics.SOURCES}
    values = {("wine", "lof"): 0.1, ("wine", "deltauq"): 0.2}
    records = make_records(study, "outliers", values, curves)
    lines = report.write_outliers(records).splitlines()
    assert [line.split("|")[1].strip() for line in lines[2:4]] == ["deltauq", "lof"]
    kinds = report.write_kinds(records, "deltauq").splitlines()
    assert len(kinds) == 3  # the only kind with all sources
    assert kinds[2].count("0.700") == 4
    # Compact results give the same tables.
    write_compact(records, tmp_path, study)
    again = read_compact(tmp_path / "outliers-default.csv", study)
    assert report.write_outliers(again).splitlines() == lines


def test_lists_of_sets_shifts_and_methods():
    assert report.write_sets().count("\n") == 9
    for kind, count in (("images", 13), ("tables", 8)):
        table = report.write_shifts(kind)
        assert table.count("\n") == count + 1
        assert "unseen" in table
    assert "`lof`: local outlier factor" in report.write_methods()
