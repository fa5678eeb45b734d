import os
import socket
from unittest import mock

import pytest

from benchmarks_uci.datasets import SETS, Sources, openml
from tests.benchmarks_uci.datasets import _folders
from tests.benchmarks_uci.datasets.openml_server import ServedSet, Server


@pytest.fixture(scope="session")
def openml_client(tmp_path_factory):
    """The real openml, which creates folders in the home directory when it is imported."""
    home = tmp_path_factory.mktemp("home")
    names = "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENML_CACHE_DIR"
    with mock.patch.dict(os.environ, {name: str(home / name) for name in names}):
        return pytest.importorskip("openml")


@pytest.fixture
def loopback_only(monkeypatch):
    """Fail the test if it connects to another machine."""
    connect = socket.socket.connect
    look_up = socket.getaddrinfo

    def connect_to_loopback(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] != "127.0.0.1":
            pytest.fail(f"this test used the network: {address}")
        return connect(self, address)

    def look_up_loopback(host, *args, **kwargs):
        if host != "127.0.0.1":
            pytest.fail(f"this test looked for {host}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", connect_to_loopback)
    monkeypatch.setattr(socket, "getaddrinfo", look_up_loopback)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(openml_client, loopback_only, monkeypatch):
    """A loopback server in place of OpenML, with the Boston set; each request has one try."""
    with Server([served("boston", nominal=("CHAS", "RAD"))]) as server:
        monkeypatch.setattr(openml, "SERVER", server.api)
        monkeypatch.setattr(openml, "TRIES", 1)
        yield server


@pytest.fixture
def sources(tmp_path):
    return Sources(cache_dir=tmp_path / "cache")


def served(name, nominal=(), **changes):
    """A set of the registry as OpenML serves it, from the copy in this repository."""
    spec = SETS[name]
    columns = [*spec.features, spec.openml_target]
    rows = [[f"{value:g}" for value in row] for row in _folders.rows(name)]
    categories = {
        column: sorted({row[columns.index(column)] for row in rows}) for column in nominal
    }
    values = {
        "number": spec.openml_id,
        "name": name,
        "columns": columns,
        "rows": rows,
        "nominal": categories,
    }
    return ServedSet(**{**values, **changes})
