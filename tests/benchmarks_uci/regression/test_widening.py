"""The table of widening 1 and 2, against means that pandas takes from the CSV files."""

import shutil

import pandas as pd
import pytest

from benchmarks_uci.engine.records import ResultsError
from benchmarks_uci.regression import widening


@pytest.fixture(params=["gap", "tail"])
def protocol(request):
    return request.param


def read(protocol):
    files = [widening.RESULTS / folder / f"{protocol}-refined.csv" for folder in (".", "widening")]
    return pd.concat([pd.read_csv(file) for file in files])


def test_means_equal_the_files(protocol):
    means = widening.read_means(protocol)
    expected = read(protocol).groupby(["data", "method"])[[*widening.SCORES]].mean()
    assert set(means.index) == set(expected.index.get_level_values("data"))
    for data in means.index:
        for method in widening.METHODS:
            for score in widening.SCORES:
                found = means.loc[data, (score, method)]
                assert found == pytest.approx(expected.loc[(data, method), score])


def test_the_table_has_one_row_per_set_and_counts_sets(protocol):
    text = widening.write_table(protocol)
    found = read(protocol).groupby(["method", "data"])[[*widening.SCORES]].mean()
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert [row.split("|")[1].strip() for row in rows] == sorted({*read(protocol)["data"]})
    wide, ensemble = found.loc[widening.WIDE], found.loc[widening.ENSEMBLE]
    counts = {name: int((wide[name] < ensemble[name]).sum()) for name in ("nll", "crps")}
    n_covered = (wide["coverage"].round(3) >= 0.8).sum()
    assert (
        f"Widening 2: 90 % intervals cover at least 80% on {n_covered} of "
        f"{len(wide)} sets, and the NLL is below 10 on {(wide['nll'] < 10).sum()}. The NLL is "
        f"lower than the ensemble's on {counts['nll']}, the CRPS on {counts['crps']}."
    ) in text


def test_different_splits_are_an_error(tmp_path):
    for folder in (".", "widening"):
        (tmp_path / folder).mkdir(exist_ok=True)
        for end in ("csv", "json"):
            name = f"gap-refined.{end}"
            shutil.copy(widening.RESULTS / folder / name, tmp_path / folder / name)
    path = tmp_path / "gap-refined.csv"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "yacht,deltauq-5,0" not in line))
    with pytest.raises(ResultsError, match="different splits"):
        widening.read_means("gap", tmp_path)
