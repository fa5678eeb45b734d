import pytest
from benchmarks_uci.report import markdown, read, readme, write_compact
from benchmarks_uci.report.contents import contents
from click.testing import CliRunner
from tests.benchmarks_uci.analysis._helpers import record, records, write_folder

from benchmarks_uci import methods
from benchmarks_uci.commands.report import report


def invoke(*args):
    return CliRunner().invoke(report, [str(arg) for arg in args])


@pytest.fixture
def folder(tmp_path):
    return write_folder(records(), tmp_path / "results")


@pytest.fixture
def committed(tmp_path, monkeypatch):
    """A README and committed results, in place of the real ones."""
    write_compact(records(), tmp_path / "committed")
    text = tmp_path / "README.md"
    text.write_text(
        "<!-- results random80-paper: begin -->\n<!-- results random80-paper: end -->\n"
    )
    monkeypatch.setattr(readme, "RESULTS", tmp_path / "committed")
    monkeypatch.setattr(readme, "README", text)
    return text


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ((), ["NLL, random80, preset paper", "paper: Delta-UQ", "average rank"]),
        (("--format", "markdown"), ["| boston", "**1.00**"]),
        (("--format", "html"), ["<table>", "<b>1.00</b>"]),
        (("--metric", "crps"), ["CRPS, random80, preset paper"]),
    ],
)
def test_tables_are_printed(folder, args, expected):
    result = invoke(folder, *args)
    assert result.exit_code == 0, result.output
    assert [text for text in expected if text not in result.stdout] == []


def test_pages_and_compact_results_are_written(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(methods, "ALL", {})
    folder = write_folder(records(("wine",), n_splits=2), tmp_path / "results")
    out, compact = tmp_path / "new" / "out", tmp_path / "compact"
    result = invoke(folder, "--out", out, "--compact", compact)
    assert result.exit_code == 0, result.output
    plots = {f"random80-paper-{n}.{f}" for n in ("calibration", "ranks") for f in ("png", "svg")}
    assert {path.name for path in out.iterdir()} == {"report.md", "report.html", *plots}
    assert result.stdout.count("wrote ") == 6 + 2
    # The compact form gives the same report.
    assert markdown.page(contents(read(compact))) == (out / "report.md").read_text()


@pytest.mark.parametrize(
    ("args", "code", "expected"),
    [
        (("nowhere",), 1, "there is no file or folder 'nowhere'"),
        (("--check",), 2, "--check goes with --readme"),
        (("--metric", "mse"), 2, "'mse' is not one of 'nll'"),
        (("--format", "latex"), 2, "'latex' is not one of 'plain'"),
    ],
)
def test_mistakes_are_told(args, code, expected):
    result = invoke(*args)
    assert result.exit_code == code
    assert expected in " ".join(result.stderr.split())


def test_mixed_settings_are_told(tmp_path):
    write_folder([record(), record(split=1, settings_id="0" * 12)], tmp_path)
    result = invoke(tmp_path)
    assert result.exit_code == 1
    assert "Error: random80/paper/boston/deltauq" in result.stderr


def test_readme_is_written_and_checked(committed):
    before = committed.read_text()
    checked = invoke("--readme", "--check")
    assert checked.exit_code == 1
    assert "+| boston" in checked.stdout
    assert "report --readme mends it" in checked.stderr
    assert committed.read_text() == before
    assert invoke("--readme").stdout == "README written.\n"
    assert "| boston" in committed.read_text()
    checked = invoke("--readme", "--check")
    assert (checked.exit_code, checked.stdout) == (0, "The README agrees with the results.\n")


def test_readme_without_results_is_an_error(committed):
    (readme.RESULTS / "random80-paper.csv").unlink()
    result = invoke("--readme")
    assert result.exit_code == 1
    assert "there is no file or folder" in result.stderr


def test_readme_without_markers_is_an_error(committed):
    committed.write_text("# Title\n")
    for args in (["--readme"], ["--readme", "--check"]):
        result = invoke(*args)
        assert result.exit_code == 1
        assert "should hold a pair of lines" in result.stderr
