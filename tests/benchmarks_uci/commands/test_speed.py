import json

import pytest

from benchmarks_uci.speed import measure, memory, peers, results, training


def test_rows_are_printed_and_written(invoke, monkeypatch, tmp_path):
    # The real ones start new interpreters or take seconds.
    monkeypatch.setattr(memory, "measure_peak_in_new_process", lambda name, **settings: 1_000_000)
    monkeypatch.setattr(memory, "time_import", lambda statement: 0.5)
    monkeypatch.setattr(training, "search", lambda X, y, n_jobs: None)
    monkeypatch.setattr(peers, "PEERS", {})
    out = tmp_path / "speed.json"
    result = invoke("speed", "--quick", "--out", str(out))
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert written["environment"]["threads"] == 1
    assert list(written["results"]) == list(measure.MEASUREMENTS)
    found = [row for rows in written["results"].values() for row in rows]
    assert all(row["what"] in result.stdout for row in found)
    checks = [row for row in found if row["what"].startswith("largest difference")]
    assert len(checks) == 4
    assert all(row["met"] for row in checks)
    words = "predict with std", "peak memory", "fit, ", "five members", "GridSearchCV", "import"
    for word in words:
        assert any(word in row["what"] for row in found), word
    assert written["curves"] == []


def test_progress_names_the_measurement(invoke, monkeypatch):
    monkeypatch.setattr(measure, "run", lambda name, *settings: [])
    assert "measuring: import" in invoke("speed", "--only", "import").stderr


def test_only_the_given_measurements_run(invoke, monkeypatch):
    result = invoke("speed", "--quick", "--only", "prediction")
    assert result.exit_code == 0, result.output
    assert "predict with std" in result.stdout
    assert "import" not in result.stdout


def test_an_unknown_measurement_is_an_error(invoke):
    result = invoke("speed", "--only", "traning")
    assert result.exit_code == 2
    assert "Did you mean 'training'?" in result.stderr


def test_a_part_is_measured_again_and_the_rest_is_kept(invoke, monkeypatch, tmp_path):
    out = tmp_path / "speed.json"

    def measured(value, *options):
        result = [results.Result("what", "against", value, "s")]
        monkeypatch.setattr(measure, "run", lambda name, *settings: result)
        return invoke("speed", "--out", str(out), *options)

    measured(1.0, "--only", "training,import")
    measured(2.0, "--only", "prediction,import")
    written = json.loads(out.read_text())["results"]
    assert {name: rows[0]["value"] for name, rows in written.items()} == {
        "prediction": 2.0,
        "training": 1.0,
        "import": 2.0,
    }
    assert list(written) == ["prediction", "training", "import"]
    elsewhere = measured(3.0, "--only", "import", "--threads", "2")
    assert elsewhere.exit_code == 2
    assert "threads was 1, is 2" in " ".join(elsewhere.stderr.split())
    assert json.loads(out.read_text())["results"] == written
    assert measured(3.0, "--threads", "2").exit_code == 0  # nothing would be kept
    assert len(json.loads(out.read_text())["results"]) == len(measure.MEASUREMENTS)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"environment": {}, "results": []}'])
def test_another_file_is_not_overwritten(invoke, tmp_path, text):
    out = tmp_path / "notes.json"
    out.write_text(text)
    result = invoke("speed", "--only", "import", "--out", str(out))
    assert result.exit_code == 2
    assert "holds no figures of this command" in " ".join(result.stderr.split())
    assert out.read_text() == text


def test_cost_curves_are_plotted_and_written(invoke, tmp_path):
    pytest.importorskip("matplotlib")
    out, plot = tmp_path / "speed.json", tmp_path / "cost.svg"
    settings = "--only", "prediction", "--out", str(out), "--plot", str(plot)
    result = invoke("speed", "--quick", *settings)
    assert result.exit_code == 0, result.output
    assert plot.read_bytes().startswith(b"<?xml")
    curves = json.loads(out.read_text())["curves"]
    assert [curve["varied"] for curve in curves] == ["n_rows", "width"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--plot", "cost.gif"], "must end in .png or .svg"),
        (["--plot", "nowhere/cost.svg"], "no folder 'nowhere'"),
        (["--plot", "cost.svg", "--device", "cpu"], "--plot shows the CPU only"),
        (["--only", "training", "--device", "cpu"], "--only measures the CPU only"),
    ],
)
def test_wrong_options_are_explained_at_once(invoke, options, message):
    result = invoke("speed", *options)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_missing_folder_is_an_error(invoke):
    result = invoke("speed", "--out", "nowhere/speed.json")
    assert result.exit_code == 2
    assert "no folder 'nowhere'" in result.stderr


def test_a_device_is_compared_with_the_cpu(invoke, tmp_path):
    """The CPU against itself: the code is the same for every device."""
    out = tmp_path / "speed.json"
    result = invoke("speed", "--quick", "--device", "cpu", "--out", str(out))
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert written["environment"]["device"] == "cpu"
    found = written["results"]["cpu"]
    whats = [row["what"] for row in found]
    for word in ("predict with std on cpu", "fit on cpu", "fit of 20 members on cpu"):
        assert any(what.startswith(word) for what in whats), word
    differences = [row["value"] for row in found if "difference" in row["what"]]
    assert differences == [0, 0]


def test_a_missing_device_is_an_error(invoke):
    result = invoke("speed", "--device", "warp")
    assert result.exit_code == 2
    assert "torch cannot use 'warp' here" in result.stderr
