"""The tool that runs the stages of `make check`."""

import shutil

import pytest

from tools import run_stages

MAKEFILE = "good:\n\t@echo fine\nbad:\n\t@exit 3\n"


@pytest.fixture(autouse=True)
def _makefile(tmp_path, monkeypatch):
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (tmp_path / "Makefile").write_text(MAKEFILE, "utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("MAKE", "MAKEFLAGS", "MAKELEVEL"):
        monkeypatch.delenv(name, raising=False)


def test_every_stage_runs_and_its_time_is_printed(capfd):
    assert run_stages.run(["good", "good"]) == 0
    printed = capfd.readouterr().out
    assert printed.count("fine\n") == 2
    assert printed.count(" s  good\n") == 2


def test_the_first_failure_ends_the_run_and_is_named(capfd):
    assert run_stages.run(["bad", "good"]) != 0
    printed = capfd.readouterr().out
    assert "FAILED: bad" in printed
    assert "fine" not in printed
