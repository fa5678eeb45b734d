import importlib.util
import io
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks_uci import datasets
from benchmarks_uci.commands.run import _with_progress
from benchmarks_uci.engine import runner
from benchmarks_uci.engine.execute import run_task
from benchmarks_uci.engine.records import read
from benchmarks_uci.engine.store import Store
from benchmarks_uci.engine.study import Task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci import _runs
from tests.benchmarks_uci._runs import without_seconds

QUICK = ("--data", "boston", "--methods", "marginal", "--jobs", "1")


def table(result):
    """What is printed, without times."""
    assert result.exit_code == 0, result.output
    lines = re.sub(r"\d+ fits in \d+ s\.", "", result.stdout).splitlines()
    # The column of the seconds is the last one.
    return [re.sub(r"[\d.]+ ± [\d.]+\s*$", "", line) for line in lines]


@pytest.mark.parametrize("command", [(), ("run",)])
def test_prints_a_table_and_keeps_the_results(invoke, command):
    result = invoke(*command, *QUICK, "--splits", "2")
    assert result.exit_code == 0, result.output
    assert re.search(r"^boston +marginal ", result.stdout, re.MULTILINE)
    assert "2/2 boston marginal split" in result.stderr
    assert [r["split"] for r in read("results", STUDY)] == [0, 1]


def test_a_second_run_does_only_missing_tasks(invoke, monkeypatch):
    first = invoke(*QUICK, "--splits", "2")
    monkeypatch.setitem(runner.run.__kwdefaults__, "run_task", None)
    again = invoke(*QUICK, "--splits", "2")
    assert table(first) == table(again)
    assert "2 fits, 0 to do" in again.stderr
    assert "0 fits in" in again.stdout


def test_a_run_starts_from_compact_results(invoke, monkeypatch):
    first = invoke(*QUICK, "--splits", "2")
    assert invoke("report", "results", "--compact", "committed").exit_code == 0
    monkeypatch.setitem(runner.run.__kwdefaults__, "run_task", None)
    again = invoke(*QUICK, "--splits", "2", "--results", "new", "--known", "committed")
    assert table(first) == table(again)
    assert "2 fits, 0 to do" in again.stderr
    assert [r["nll"] for r in read("new", STUDY)] == [r["nll"] for r in read("results", STUDY)]


def test_known_folder_without_results_is_an_error(invoke):
    Path("committed").mkdir()
    result = invoke(*QUICK, "--known", "committed")
    assert result.exit_code == 1
    assert "the folder 'committed' is empty" in result.stderr


def test_a_terminal_shows_a_bar_with_the_remaining_time(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    records = [_runs.a_record(Task("random80", "default", "boston", "mlp", i)) for i in range(2)]
    assert list(_with_progress(STUDY, iter(records), 2)) == records
    assert re.search(r"fits: 100%.* 2/2 \[\d\d:\d\d<\d\d:\d\d", sys.stderr.getvalue())


def test_all_splits(invoke):
    assert "20 fits, 20 to do" in invoke(*QUICK, "--splits", "all").stderr


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("--splits", "0"), "x>=1"),
        (("--splits", "some"), "'some'"),
        (("--jobs", "two"), "'two'"),
        (("--protocol", "random90"), "'random80', 'development', 'hl90'"),
        (("--engine", "dask"), "need each other"),
        (("--scheduler", "tcp://127.0.0.1:1"), "need each other"),
        (("--engine", "dask", "--scheduler", "tcp://127.0.0.1:1"), "--jobs needs"),
    ],
)
def test_wrong_options_are_explained(invoke, args, expected):
    result = invoke(*QUICK, *args)
    assert result.exit_code == 2
    assert expected in " ".join(result.stderr.split())


def test_an_unavailable_set_is_an_error_unless_all_are_requested(invoke, monkeypatch):
    def load(name, sources):
        if name != "boston":
            raise datasets.DataUnavailable(f"{name}: no network.")
        return real(name, sources)

    real = datasets.load
    monkeypatch.setattr(datasets, "load", load)
    result = invoke(*QUICK, "--data", "boston,kin8nm")
    assert result.exit_code == 3
    assert "Error: kin8nm: no network." in result.stderr
    result = invoke(*QUICK, "--data", "all", "--splits", "1")
    assert result.exit_code == 0, result.output
    assert result.stdout.count("Left out: ") == 8
    assert "Left out: kin8nm: kin8nm: no network." in result.stdout
    assert "1 fits, 1 to do" in result.stderr


def test_results_of_other_settings_are_an_error_and_kept(invoke):
    invoke(*QUICK, "--splits", "1")
    (record,) = read("results", STUDY)
    other = {**record, "settings_id": "other", "settings": {"class": "Another"}}
    Store("results", STUDY).write(other)
    result = invoke(*QUICK, "--splits", "2")
    assert result.exit_code == 1
    assert "setting class is 'Another' there, 'MarginalGaussian' here" in result.stderr
    assert "results/random80/default/boston/marginal/00.json" in result.stderr
    assert read("results", STUDY) == [other]


def test_failures_are_listed_and_repeated_only_on_request(invoke, monkeypatch):
    real = runner.run

    def run_with(run_task):
        def run(*args, **kwargs):
            return real(*args, **kwargs, run_task=run_task)

        monkeypatch.setattr(runner, "run", run)

    run_with(_runs.fails)
    first = invoke(*QUICK, "--splits", "2")
    run_with(None)
    second = invoke(*QUICK, "--splits", "2")
    for result in (first, second):
        assert result.exit_code == 1
        assert "Failed: random80/default/boston/marginal/1: ValueError: odd" in result.stderr
        assert "--retry-failed" in result.stderr
        assert "marginal" in result.stdout
    assert "split 1: failed: ValueError: odd" in first.stderr
    assert "2 fits, 0 to do" in second.stderr
    monkeypatch.setattr(runner, "run", real)
    third = invoke(*QUICK, "--splits", "2", "--retry-failed")
    assert third.exit_code == 0, third.output
    assert "2 fits, 1 to do" in third.stderr


def test_a_full_disk_is_an_error(invoke, monkeypatch):
    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = invoke(*QUICK)
    assert result.exit_code == 1
    assert "No space left on device" in result.stderr


SCRIPT = """
import sys
from benchmarks_uci import __main__
from benchmarks_uci.engine import runner
from tests.benchmarks_uci._runs import stop_at_split
runner.run.__kwdefaults__["run_task"] = stop_at_split
__main__.cli(sys.argv[1:])
"""
SPLITS = ("--data", "boston", "--methods", "marginal", "--splits", "all")


def start_and_stop(tmp_path, jobs, number):
    """Run until split 4, which never ends, and send a signal; the exit status and stderr."""
    command = [sys.executable, "-c", SCRIPT, "run", *SPLITS, "--jobs", str(jobs)]
    paths = (Path(runner.__file__).parents[2], os.environ.get("PYTHONPATH", ""))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths))}
    pipes = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=env, **pipes) as process:
        while process.poll() is None and not (
            (tmp_path / "waiting").exists() and len(list(tmp_path.glob("results/**/*.json"))) >= 4
        ):
            time.sleep(0.02)
        process.send_signal(number)
        stderr = process.communicate(timeout=60)[1]  # ends when its workers have ended, too
    assert 4 <= len(read(tmp_path / "results", STUDY)) < 20
    return process.returncode, stderr


def test_files_that_a_killed_run_did_not_finish_are_written_again(invoke, tmp_path):
    first = invoke(*QUICK, "--splits", "4")
    undisturbed = without_seconds(read("results", STUDY))
    files = sorted(tmp_path.glob("results/**/*.json"))
    files[0].write_bytes(files[0].read_bytes()[:500])
    files[1].rename(files[1].with_name(f".{files[1].name}.x1y2.tmp"))
    resumed = invoke(*QUICK, "--splits", "4")
    assert "4 fits, 2 to do" in resumed.stderr
    assert table(resumed) == table(first)
    assert without_seconds(read("results", STUDY)) == undisturbed
    assert list(tmp_path.rglob("*.tmp")) == []


@pytest.mark.long
def test_a_killed_run_continues_to_the_undisturbed_table(invoke, tmp_path):
    undisturbed = invoke(*SPLITS, "--jobs", "1", "--results", "undisturbed")
    status, _ = start_and_stop(tmp_path, 2, signal.SIGKILL)
    assert status == -signal.SIGKILL
    # As if it had also been killed while it wrote
    files = sorted(tmp_path.glob("results/**/*.json"))
    files[0].write_bytes(files[0].read_bytes()[:500])
    files[1].rename(files[1].with_name(f".{files[1].name}.x1y2.tmp"))
    resumed = invoke(*SPLITS, "--jobs", "1")
    assert f"20 fits, {20 - len(files) + 2} to do" in resumed.stderr
    assert table(resumed) == table(undisturbed)
    found = [without_seconds(read(name, STUDY)) for name in ("results", "undisturbed")]
    assert len(found[0]) == 20
    assert found[0] == found[1]
    assert list(tmp_path.rglob("*.tmp")) == []


def test_an_interrupt_keeps_finished_results_and_says_how_to_continue(invoke, monkeypatch):
    finished = []

    def interrupted(study, task, dataset):
        if len(finished) == 2:
            raise KeyboardInterrupt
        finished.append(task.split)
        return run_task(study, task, dataset)

    real = runner.run
    monkeypatch.setattr(runner, "run", lambda *a, **k: real(*a, **k, run_task=interrupted))
    result = invoke(*QUICK, "--splits", "4")
    assert result.exit_code == 130
    assert "run again to continue" in result.stderr
    assert [r["split"] for r in read("results", STUDY)] == sorted(finished)


@pytest.mark.long
def test_ctrl_c_keeps_finished_results_and_says_how_to_continue(tmp_path):
    status, stderr = start_and_stop(tmp_path, 1, signal.SIGINT)
    assert status == 130
    assert "run again to continue" in stderr
    assert "Traceback" not in stderr


def test_a_named_method_without_its_package_is_an_error(invoke, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    result = invoke("--data", "boston", "--methods", "ngboost")
    assert result.exit_code == 2
    assert "the method ngboost cannot run: ngboost is not installed" in result.stderr
    result = invoke("optimisation", "run", "--data", "branin", "--methods", "vbll")
    assert "botorch_community is not installed: pip install botorch." in result.stderr


def test_a_run_without_any_task_says_why(invoke):
    result = invoke("--data", "boston", "--methods", "deltauq-k1", "--preset", "refined")
    assert result.exit_code == 2
    assert "there is nothing to run. boston deltauq-k1: it has the presets" in result.stderr
    assert not Path("results").exists()


def test_a_study_without_sources_has_no_options_for_them(invoke):
    assert "--data-dir" not in invoke("optimisation", "run", "--help").stdout
    assert "ablations" not in invoke("optimisation", "run", "--help").stdout
    assert "--data-dir" in invoke("run", "--help").stdout
