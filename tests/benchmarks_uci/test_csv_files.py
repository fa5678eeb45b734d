from benchmarks_uci.csv_files import read_scores, write_scores


def test_scores_are_written_with_five_digits(tmp_path):
    path = tmp_path / "scores.csv"
    write_scores([{"data": "toy", "seed": 3, "score": 1.23456789}], path)
    assert read_scores(path) == [{"data": "toy", "seed": "3", "score": "1.2346"}]
    assert [file.name for file in tmp_path.iterdir()] == ["scores.csv"]
