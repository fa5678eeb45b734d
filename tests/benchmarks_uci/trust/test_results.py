import pytest

from benchmarks_uci.trust import results

ROW = {"situation": "a", "cell": "", "method": "m", "seed": 1000, "n": 5, "features": 2}


def test_rows_survive_a_file(tmp_path):
    path = tmp_path / "scores.csv"
    rows = [
        {**ROW, "available": 1, "coverage": 0.875, "warned": 1},
        {**ROW, "available": 0},
    ]
    results.write(rows, path)
    assert results.read(path) == rows
    assert [file.name for file in tmp_path.iterdir()] == ["scores.csv"]


def test_another_file_is_an_error(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match="its columns differ"):
        results.read(path)


def test_merge_replaces_situations_and_sorts():
    earlier = [{"situation": "b", "seed": 1}, {"situation": "a", "seed": 1}]
    new = [{"situation": "b", "seed": 2}]
    merged = results.merge(earlier, new, ["a", "b"])
    assert merged == [{"situation": "a", "seed": 1}, {"situation": "b", "seed": 2}]
