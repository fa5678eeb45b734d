import gzip

import pytest

from benchmarks_uci.datasets import EMBEDDED, SETS, embedded
from benchmarks_uci.datasets.text import read_text


@pytest.mark.parametrize("name", EMBEDDED)
def test_embedded_set_is_the_published_one(name):
    spec = SETS[name]
    dataset = embedded.load(spec)
    assert dataset.X.shape == (spec.n_rows, spec.n_features)
    assert dataset.content_hash == spec.content_hash
    assert dataset.in_original_order
    assert dataset.source == f"embedded benchmarks_uci/data/{name}.csv.gz"


@pytest.mark.parametrize("name", EMBEDDED)
def test_duplicate_rows_are_kept_and_counted(name):
    lines = read_text(embedded.FOLDER / f"{name}.csv.gz", name).splitlines()
    assert len(lines) - len(set(lines)) == SETS[name].duplicate_rows


@pytest.mark.parametrize("name", EMBEDDED)
def test_file_has_no_time_stamp_and_is_in_the_readme(name):
    path = embedded.FOLDER / f"{name}.csv.gz"
    with gzip.open(path) as file:
        file.read(1)
        assert file.mtime == 0
    assert f"## `{path.name}`" in (embedded.FOLDER / "README.md").read_text("utf-8")
