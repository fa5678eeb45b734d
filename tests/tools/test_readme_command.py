"""The tool that reads commands from the README."""

import pytest

from tools import readme_command


@pytest.fixture
def readme(tmp_path, monkeypatch):
    path = tmp_path / "README.md"
    monkeypatch.setattr(readme_command, "README", path)
    return path


def test_lines_that_end_with_a_backslash_are_one_command(readme):
    readme.write_text("<!-- command: run -->\n```bash\nmake a && \\\nmake b\n```\n", "utf-8")
    assert readme_command.command("run") == "make a && make b"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```bash\nmake\n```\n", "it has 0"),
        ("<!-- command: run -->\n```bash\nmake\n```\n" * 2, "it has 2"),
        (
            "<!-- command: run -->\n```bash\nmake a\nmake b\n```\n",
            "must be one line, but it has 2",
        ),
    ],
)
def test_invalid_blocks_are_errors(readme, text, message):
    readme.write_text(text, "utf-8")
    with pytest.raises(SystemExit, match=message):
        readme_command.command("run")


@pytest.mark.parametrize(("name", "last"), [("run", "benchmarks_uci"), ("test", "pytest")])
def test_the_readme_has_both_commands(name, last):
    command = readme_command.command(name)
    assert command.startswith("python3.11 -m venv .venv && ")
    assert f"python -m {last}" in command.rpartition("&&")[2]
