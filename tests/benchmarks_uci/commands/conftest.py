import socket

import pytest
from click.testing import CliRunner

from benchmarks_uci.__main__ import cli


@pytest.fixture
def invoke(monkeypatch, tmp_path):
    """Run the command line in this process, in an empty folder, where no network may be used."""

    def refuse(*args, **kwargs):
        raise AssertionError("this test used the network")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    monkeypatch.chdir(tmp_path)
    return lambda *args: CliRunner().invoke(cli, args)
