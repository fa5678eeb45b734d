import json
import socket

import pytest
from click.testing import CliRunner

from benchmarks_uci.__main__ import cli
from benchmarks_uci.speed import importing, measure, memory


@pytest.fixture
def invoke(monkeypatch):
    """Run the command line in this process, where any use of the network is an error."""

    def refuse(*args, **kwargs):
        raise AssertionError("this test used the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return lambda *args: CliRunner().invoke(cli, args)


QUICK = ("--splits", "1", "--jobs", "1", "--data", "alcohol", "--methods", "marginal,mlp")


@pytest.mark.parametrize("command", [(), ("run",)])
def test_run_prints_table_and_notes(invoke, command):
    result = invoke(*command, *QUICK)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert "NLL" in lines[0]
    assert lines[2].split()[:2] == ["alcohol", "marginal"]
    assert lines[3].split()[0] == "mlp"
    assert "with seed 0" in result.stdout
    assert "2 fits in" in lines[-1]


def test_run_logs_a_line_a_task_where_there_is_no_terminal(invoke):
    result = invoke(*QUICK)
    assert "2/2 alcohol marginal split 0: NLL" in result.stderr


def test_deltauq_runs_on_every_set(invoke, monkeypatch):
    from benchmarks_uci import methods

    def quick(random_state):
        return methods.DeltaUQRegressor(5, max_iter=2, random_state=random_state)

    monkeypatch.setitem(methods.METHODS, "deltauq", quick)
    result = invoke("--splits", "2", "--jobs", "1", "--methods", "deltauq")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("±") >= 3 * 6
    assert "Warning, nuclei, deltauq, 2 of 2 splits" in result.stdout


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--methods", "deltauk"), ["no method 'deltauk'", "mean 'deltauq'", "deltauq-5"]),
        (("--methods", "zzz"), ["no method 'zzz'", "There are: marginal, mlp"]),
        (("--data", "alcohol,Nuclea"), ["no set 'Nuclea'", "mean 'nuclei'", "diabetes"]),
        (("--data", ","), ["--data", "empty"]),
        (("--splits", "0"), ["--splits", "x>=1"]),
        (("--jobs", "two"), ["--jobs", "'two'"]),
        (("speed", "--out", "nowhere/speed.json"), ["--out", "no folder 'nowhere'"]),
        (("sped",), ["no command 'sped'", "mean 'speed'", "run, speed"]),
    ],
)
def test_mistakes_are_told(invoke, args, expected):
    result = invoke(*args)
    assert result.exit_code == 2
    message = " ".join(result.stderr.split())
    assert [text for text in expected if text not in message] == []


def test_help_names_the_commands(invoke):
    result = invoke("--help")
    assert result.exit_code == 0
    assert "run " in result.stdout
    assert "speed " in result.stdout


def test_speed_prints_its_rows_and_writes_them(invoke, monkeypatch, tmp_path):
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


def test_speed_says_what_it_measures(invoke, monkeypatch):
    monkeypatch.setattr(measure, "MEASUREMENTS", {"nothing": lambda quick: []})
    assert "measuring: nothing" in invoke("speed").stderr
