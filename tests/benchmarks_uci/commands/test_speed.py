import json

from benchmarks_uci.speed import importing, measure, memory


def test_prints_its_rows_and_writes_them(invoke, monkeypatch, tmp_path):
    # Both would start new interpreters, which takes seconds.
    monkeypatch.setattr(memory, "peak_in_new_process", lambda dtype, n_rows: 1_000_000)
    monkeypatch.setattr(importing, "import_seconds", lambda statement: 0.5)
    out = tmp_path / "speed.json"
    result = invoke("speed", "--quick", "--out", str(out))
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert written["environment"]["threads"] == 1
    found = written["results"]
    assert all(row["what"] in result.stdout for row in found)
    checks = [row for row in found if row["what"].startswith("largest difference")]
    assert len(checks) == 2
    assert all(row["met"] for row in checks)
    for word in ("predict with std", "peak memory", "fit, ", "five members", "import"):
        assert any(word in row["what"] for row in found), word


def test_says_what_it_measures(invoke, monkeypatch):
    monkeypatch.setattr(measure, "MEASUREMENTS", {"nothing": lambda quick: []})
    assert "measuring: nothing" in invoke("speed").stderr


def test_a_folder_that_is_not_there_is_told(invoke):
    result = invoke("speed", "--out", "nowhere/speed.json")
    assert result.exit_code == 2
    assert "no folder 'nowhere'" in result.stderr


def test_a_device_is_measured_beside_the_cpu(invoke, tmp_path):
    """The CPU beside itself: the code is the same whatever the device."""
    out = tmp_path / "speed.json"
    result = invoke("speed", "--quick", "--device", "cpu", "--out", str(out))
    assert result.exit_code == 0, result.output
    written = json.loads(out.read_text())
    assert written["environment"]["device"] == "cpu"
    whats = [row["what"] for row in written["results"]]
    for word in ("predict with std on cpu", "fit on cpu", "fit of 20 members on cpu"):
        assert any(what.startswith(word) for what in whats), word
    differences = [row["value"] for row in written["results"] if "difference" in row["what"]]
    assert differences == [0, 0]


def test_a_device_that_is_not_there_is_told(invoke):
    result = invoke("speed", "--device", "warp")
    assert result.exit_code == 2
    assert "torch cannot use 'warp' here" in result.stderr
