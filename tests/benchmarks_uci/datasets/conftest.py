import functools
import os
import socket
from unittest import mock

import pytest

from benchmarks_uci.datasets import SETS, Sources, openml, openml_cache, openml_session
from benchmarks_uci.datasets.openml_cache import Entry
from tests.benchmarks_uci.datasets import _folders
from tests.benchmarks_uci.datasets.openml_server import ServedSet, Server


@pytest.fixture(scope="session")
def openml_client(tmp_path_factory):
    """The real client, which makes folders in the home directory when it is imported."""
    home = tmp_path_factory.mktemp("home")
    names = "HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "OPENML_CACHE_DIR"
    with mock.patch.dict(os.environ, {name: str(home / name) for name in names}):
        return pytest.importorskip("openml")


@pytest.fixture
def loopback_only(monkeypatch):
    """Make any connection to another machine an error that no code takes for a lost network."""
    connect = socket.socket.connect
    look_up = socket.getaddrinfo

    def refuse_others(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and address[0] != "127.0.0.1":
            pytest.fail(f"this test used the network: {address}")
        return connect(self, address)

    def look_up_no_others(host, *args, **kwargs):
        if host != "127.0.0.1":
            pytest.fail(f"this test looked for {host}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", refuse_others)
    monkeypatch.setattr(socket, "getaddrinfo", look_up_no_others)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


@pytest.fixture
def server(openml_client, loopback_only, monkeypatch):
    """A stand-in for OpenML, with Boston and all its quirks on it; one try a request."""
    with Server([served("boston", nominal=("CHAS", "RAD"))]) as server:
        monkeypatch.setattr(openml_cache, "SERVER", server.api)
        monkeypatch.setattr(openml_session, "TRIES", 1)
        monkeypatch.setattr(openml, "_silent_since", {})
        yield server


@pytest.fixture
def sources(tmp_path):
    return Sources(cache_dir=tmp_path / "cache", timeout=5)


@pytest.fixture
def cached(server, sources):
    """The entry of Boston in a filled cache, whose server is gone."""
    openml.download(SETS["boston"], sources)
    server.close()
    server.asked.clear()
    return Entry.of(sources.cache_dir, 531)


def served(name, nominal=(), **changes):
    """A set of the registry as OpenML serves it, from the copy in this repository."""
    spec = SETS[name]
    columns = [*spec.features, spec.openml_target]
    rows = _rows(name)
    categories = {
        column: sorted({row[columns.index(column)] for row in rows}) for column in nominal
    }
    return ServedSet(
        **{
            **{"number": spec.openml_id, "name": name, "columns": columns, "rows": rows},
            **{"nominal": categories},
            **changes,
        }
    )


@functools.cache
def _rows(name):
    return [[f"{value:g}" for value in row] for row in _folders.rows(name)]
