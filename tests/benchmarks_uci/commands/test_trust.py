import pytest

from benchmarks_uci.trust import report, results, runner, uci
from benchmarks_uci.trust.cases import CASES


def test_a_quick_run_of_one_situation(invoke, tmp_path):
    out = tmp_path / "scores.csv"
    result = invoke("trust", "--quick", "--only", "weighted", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "| situation" in result.stdout
    rows = results.read(out)
    assert len(rows) == len([c for c in runner.select_quick(CASES) if c.situation == "weighted"])
    assert {row["seed"] for row in rows} == {1000}


@pytest.mark.long
def test_a_quick_run_of_every_situation(invoke, tmp_path):
    out = tmp_path / "scores.csv"
    result = invoke("trust", "--quick", "--out", str(out))
    assert result.exit_code == 0, result.output
    assert "| situation" in result.stdout
    assert "CRPS / CRPS of BayesianRidge" in result.stdout
    rows = results.read(out)
    assert len(rows) == len(runner.select_quick(CASES))
    assert {row["seed"] for row in rows} == {1000}


def test_a_part_is_measured_again_and_the_rest_is_kept(invoke, monkeypatch, tmp_path):
    out = tmp_path / "scores.csv"

    def measure(coverage, only):
        row = {"method": "deltauq", "seed": 1, "available": 1, "warned": 0, "coverage": coverage}
        monkeypatch.setattr(
            runner,
            "run_case",
            lambda case, quick: [{"situation": case.situation, "cell": "", **row}],
        )
        return invoke("trust", "--only", only, "--out", str(out))

    assert measure(0.5, "weighted,bootstrap").exit_code == 0
    result = measure(0.9, "bootstrap")
    assert result.exit_code == 0, result.output
    assert "0.90 (0.90 to 0.90)" in result.stdout
    found = {row["situation"]: row["coverage"] for row in results.read(out)}
    assert found == {"weighted": 0.5, "bootstrap": 0.9}


def test_the_report_of_the_committed_results_fits_nothing(invoke, monkeypatch):
    monkeypatch.setattr(runner, "run_case", None)
    result = invoke("trust", "--report")
    assert result.exit_code == 0
    expected = report.write_report(report.read_committed()), uci.write_report()
    assert result.stdout.strip() == "\n\n".join(expected).strip()


def test_wrong_options_are_explained_at_once(invoke, tmp_path):
    result = invoke("trust", "--only", "repeatd")
    assert result.exit_code == 2
    assert "Did you mean 'repeated'?" in result.stderr
    result = invoke("trust", "--out", "nowhere/scores.csv")
    assert result.exit_code == 2
    assert "no folder 'nowhere'" in result.stderr
    other = tmp_path / "notes.csv"
    other.write_text("a,b\n")
    result = invoke("trust", "--only", "bootstrap", "--out", str(other))
    assert result.exit_code == 2
    assert "its columns differ" in " ".join(result.stderr.split())
