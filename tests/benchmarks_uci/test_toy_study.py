"""The engine, the analysis and the commands work for a study that is not the regression study."""

import numpy as np
import pytest
from click.testing import CliRunner

from benchmarks_uci.analysis.frame import make_frame
from benchmarks_uci.commands.report import make_report
from benchmarks_uci.commands.run import make_run
from benchmarks_uci.engine.records import read
from tests.benchmarks_uci.toy_study import STUDY, draw_starts


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = {"run": make_run(STUDY), "report": make_report(STUDY)}

    def call(name, *args):
        result = CliRunner().invoke(commands[name], args, catch_exceptions=False)
        assert result.exit_code == 0, result.output
        return result.output

    return call


def test_a_run_is_stored_and_continued(invoke):
    assert "8 fits in" in invoke("run", "--jobs", "1")
    before = read("results", STUDY)
    again = invoke("run", "--jobs", "1", "--splits", "3")
    assert "4 fits in" in again  # of 12
    assert [record for record in read("results", STUDY) if record["split"] < 2] == before
    assert "regret" in again.splitlines()[0]


@pytest.mark.long
def test_processes_import_the_study(invoke):
    invoke("run", "--jobs", "2", "--results", "two")
    invoke("run", "--jobs", "1", "--results", "one")
    one, two = (
        [(r["regret"], r["progress"]) for r in read(name, STUDY)] for name in ("one", "two")
    )
    assert one == two


def test_scores_equal_the_search():
    record = {"protocol": "starts", "preset": "default", "data": "hills", "split": 1}
    dataset = STUDY.load("hills", None)
    split = draw_starts(dataset)[1]
    model = STUDY.methods["nearest-1"].make("default", 3, 0)
    found = STUDY.score(None, model, split, dataset)
    # By hand: follow the nearest neighbour of the best row seen.
    seen = split.train.tolist()
    for _ in range(4):
        nearest = [
            seen[np.argmin(np.linalg.norm(dataset.X[seen] - row, axis=1))] for row in dataset.X
        ]
        predicted = [-np.inf if i in seen else dataset.y[near] for i, near in enumerate(nearest)]
        seen.append(int(np.argmax(predicted)))
    assert found["regret"] == dataset.y.max() - dataset.y[seen].max()
    frame = make_frame([{**record, "method": "nearest-1", "status": "done", **found}], STUDY)
    assert dict(zip(frame["score"], frame["value"], strict=True)) == {
        "regret": found["regret"],
        "steps": 4,
    }


def test_a_report_has_tables_tests_and_plots(invoke, tmp_path):
    pytest.importorskip("matplotlib")
    invoke("run", "--jobs", "1", "--splits", "all")
    printed = invoke("report", "--out", "report", "--compact", "compact")
    assert "regret, starts, preset default" in printed
    assert {path.name for path in (tmp_path / "report").iterdir()} == {
        "report.md",
        *(
            f"starts-default-{plot}.{fmt}"
            for plot in ("progress", "ranks")
            for fmt in ("png", "svg")
        ),
    }
    page = (tmp_path / "report" / "report.md").read_text()
    for text in ("### Paired differences", "signed-rank test", "nearest-3: 3 neighbours."):
        assert text in page
    assert invoke("report", "compact") == printed.partition("wrote")[0]
