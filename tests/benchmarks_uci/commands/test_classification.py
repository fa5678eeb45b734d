import tomllib

import pytest

from benchmarks_uci.classification import shift_study, strengths
from benchmarks_uci.engine.records import read


@pytest.mark.parametrize(
    ("study", "methods", "shown"),
    [("shift", "mlp,deltauq-batch", "NLL, severity 5"), ("outliers", "lof,mlp", "AUROC, shifted")],
)
def test_a_study_runs_and_reports(invoke, study, methods, shown):
    options = ["--data", "wine", "--preset", "quick", "--splits", "1", "--jobs", "1"]
    done = invoke("classification", study, "run", *options, "--methods", methods)
    assert done.exit_code == 0, done.output
    assert shown in done.output
    reported = invoke("classification", study, "report", "--compact", "compact")
    assert reported.exit_code == 0, reported.output
    again = invoke("classification", study, "report", "compact")
    assert again.output == reported.output.partition("wrote")[0]


def test_results_can_be_read(invoke):
    options = ["--data", "wine", "--preset", "quick", "--splits", "1", "--jobs", "1"]
    invoke("classification", "shift", "run", *options, "--methods", "mlp")
    [record] = read("results", shift_study.STUDY)
    assert record["status"] == "done"
    assert len(record["nll_by_shift"]) == 8
    assert len(record["ece_by_severity"]) == 6


def test_two_classes_are_left_out_of_the_outliers(invoke):
    options = ["--data", "breast_cancer,wine", "--preset", "quick", "--splits", "1", "--jobs", "1"]
    done = invoke("classification", "outliers", "run", *options, "--methods", "forest")
    assert "Left out: breast_cancer: breast_cancer has 2 classes" in done.output


def test_strengths_are_printed_as_toml(invoke, monkeypatch):
    monkeypatch.setattr(strengths, "choose_strengths", lambda dataset: {"noise": 1.0})
    done = invoke("classification", "strengths", "--data", "wine")
    assert tomllib.loads(done.stdout) == {"wine": {"noise": 1.0}}


def test_an_unknown_set_is_named(invoke):
    failed = invoke("classification", "shift", "run", "--data", "iris")
    assert failed.exit_code == 2
    assert "no set 'iris'" in failed.output
