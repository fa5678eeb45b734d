"""What the tests of OpenML's client and of its cache share."""

import pytest

from benchmarks_uci.datasets import SETS
from benchmarks_uci.datasets.openml_cache import Entry

BOSTON = SETS["boston"]
PAGE = "<!DOCTYPE html><html><br>Please log in to this network</html>"
XHTML = "<html xmlns='http://www.w3.org/1999/xhtml'><body>Please log in</body></html>"


def files(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def fails(kind, get, *texts):
    """Call what must fail, and check that the message has the texts."""
    with pytest.raises(kind) as raised:
        get()
    message = str(raised.value)
    assert [text for text in texts if text not in message] == [], message
    return raised.value


def fill(sources, served_set, server):
    entry = Entry.of(sources.cache_dir, served_set.number)
    entry.folder.mkdir(parents=True)
    entry.description.write_text(served_set.description(server.base))
    (entry.folder / "dataset.arff").write_text(served_set.arff)
    return entry
