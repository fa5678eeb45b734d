from pathlib import Path

import pytest
from click.testing import CliRunner

from benchmarks_uci import datasets
from benchmarks_uci.commands.fetch import fetch
from benchmarks_uci.datasets import Sources, embedded


def invoke(*args):
    return CliRunner().invoke(fetch, [str(arg) for arg in args])


def test_table_of_available_sets():
    result = invoke("--data", "wine,boston", "--data-dir", embedded.FOLDER)
    assert result.exit_code == 0, result.output
    headers, _, *rows = result.stdout.splitlines()
    assert " ".join(headers.split()) == "set rows features source content hash licence"
    assert rows[0].split()[:3] == ["wine", "1599", "11"]
    assert rows[1].split()[:3] == ["boston", "506", "13"]
    for text in (embedded.FOLDER / "wine.csv.gz", "ec99a7ea4ec7, as expected", "CC BY 4.0"):
        assert str(text) in rows[0]


def test_a_missing_set_does_not_stop_the_others():
    result = invoke("--data", "boston,yacht,wine,naval", "--data-dir", embedded.FOLDER)
    assert result.exit_code == 3
    assert [row.split()[0] for row in result.stdout.splitlines()[2:]] == ["boston", "wine"]
    assert "2 of 4 sets are missing" in result.stderr
    assert [row.split()[0] for row in result.stderr.splitlines()[-2:]] == ["yacht:", "naval:"]


def test_wrong_data_are_more_serious_than_missing_data(tmp_path):
    lines = (embedded.FOLDER / "wine.csv.gz").read_bytes()
    (tmp_path / "wine.csv.gz").write_bytes(lines[: len(lines) // 2])
    result = invoke("--data", "yacht,wine,naval", "--data-dir", tmp_path)
    assert result.exit_code == 4
    assert result.stdout == ""
    assert "truncated" in result.stderr
    assert "3 of 3 sets are missing" in result.stderr


@pytest.mark.parametrize(
    ("args", "variables", "expected"),
    [
        ((), {}, Sources()),
        (
            ("--cache-dir", "cache", "--offline"),
            {},
            Sources(cache_dir=Path("cache"), offline=True),
        ),
        (
            (),
            {"SK_DELTAUQ_DATA_DIR": "/", "SK_DELTAUQ_OFFLINE": "1"},
            Sources(data_dir=Path("/"), offline=True),
        ),
    ],
)
def test_sources_from_options_and_variables(monkeypatch, args, variables, expected):
    asked = {}

    def load(name, sources):
        asked[name] = sources
        raise datasets.DataUnavailable(f"{name}: nowhere")

    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setattr(datasets, "load", load)
    assert invoke(*args).exit_code == 3
    assert asked == dict.fromkeys(datasets.NAMES, expected)


def test_the_old_option_timeout_is_accepted_with_a_note():
    result = invoke("--data", "wine", "--data-dir", embedded.FOLDER, "--timeout", 5)
    assert result.exit_code == 0
    assert "--timeout has no effect any more" in result.stderr


@pytest.mark.parametrize(
    ("args", "texts"),
    [
        (("--data", "bosten"), ["no set 'bosten'", "mean 'boston'", "yacht"]),
        (("--data-dir", "nowhere"), ["--data-dir", "'nowhere' does not exist"]),
        (("--timeout", "0"), ["--timeout", "1<=x"]),
        (("--timeout", "nan"), ["--timeout", "nan"]),
    ],
)
def test_mistakes_are_explained(args, texts):
    result = invoke(*args)
    assert result.exit_code == 2
    message = " ".join(result.stderr.split())
    assert [text for text in texts if text not in message] == []
