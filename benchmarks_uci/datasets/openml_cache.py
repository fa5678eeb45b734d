"""The folder in which openml keeps what it has downloaded, read and filled without openml.

openml deletes the folder of a data set when it fails to complete it, never verifies what lies
there, and unpickles what it finds beside the data. So it is only ever given copies: the cache
itself is looked at, checked and written here.
"""

from __future__ import annotations

import configparser
import contextlib
import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit
from xml.etree import ElementTree

from benchmarks_uci.datasets.errors import DataCorrupt, DataUnavailable
from benchmarks_uci.datasets.sources import Sources

# Of all servers this one, whatever openml is set to: the ids of the registry are its ids.
SERVER = "https://www.openml.org/api/v1/xml"

_DESCRIPTION = "description.xml"
_NAMESPACE = "{http://openml.org/openml}"


@dataclass(frozen=True)
class Entry:
    """The place of one data set in a cache, whether it is filled or not."""

    folder: Path

    @classmethod
    def of(cls, root: Path, openml_id: int) -> Entry:
        host = urlsplit(SERVER).netloc.split(".")
        return cls(root.joinpath(*reversed(host), "datasets", str(openml_id)))

    @property
    def description(self) -> Path:
        return self.folder / _DESCRIPTION

    def data_file(self) -> Path | None:
        """The rows of a complete entry, None of an incomplete one."""
        # ARFF first: its checksum stands in the description, parquet has none.
        for name in ("dataset.arff", f"dataset_{self.folder.name}.pq"):
            files = self.description, self.folder / name
            if all(map(os.path.isfile, files)):
                return files[1]
        return None

    def copy_to(self, other: Entry, name: str) -> None:
        """Copy the data of the set called `name`, and nothing else, once they are verified."""
        data_file = self.data_file()
        content = data_file.read_bytes()
        described = self._described(name)
        if data_file.suffix == ".arff" and (expected := described["md5_checksum"]):
            # openml writes text, so on Windows the ends of lines are not those that were sent.
            found = [
                hashlib.md5(c).hexdigest() for c in (content, content.replace(b"\r\n", b"\n"))
            ]
            if expected not in found:
                raise DataCorrupt(
                    f"{name}: the cached file {data_file} has MD5 {found[0]}, its description "
                    f"says {expected}. {self.way_out()}"
                )
        other.folder.mkdir(parents=True)
        shutil.copyfile(self.description, other.description)
        (other.folder / data_file.name).write_bytes(content)

    def move_to(self, other: Entry) -> None:
        """Become the other entry, in one step, unless that was completed in the meantime."""
        keep = self.description, self.data_file()
        for file in self.folder.iterdir():
            if file not in keep:
                file.unlink()  # a pickle: to be rebuilt rather than trusted
        other.folder.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.replace(self.folder, other.folder)
        except OSError:
            if other.data_file():
                return
            os.replace(other.folder, self.folder.with_name("incomplete"))
            os.replace(self.folder, other.folder)

    def way_out(self) -> str:
        return f"Delete the folder {self.folder} and run again to download it anew."

    def _described(self, name: str) -> dict[str, str | None]:
        try:
            root = ElementTree.fromstring(self.description.read_bytes())
            if root.tag != f"{_NAMESPACE}data_set_description":
                raise ValueError(f"its root element is {root.tag}")
            found = {key: root.findtext(_NAMESPACE + key) for key in ("id", "md5_checksum")}
            if found["id"] != self.folder.name:
                raise ValueError(f"it describes data set {found['id']}")
        except (ElementTree.ParseError, ValueError) as error:
            raise DataCorrupt(
                f"{name}: the cached file {self.description} does not describe OpenML data set "
                f"{self.folder.name} ({error}). {self.way_out()}"
            ) from error
        return found


def root(sources: Sources) -> Path:
    """The folder that openml would use, found without importing it, or the one asked for."""
    chosen = sources.cache_dir or os.environ.get("OPENML_CACHE_DIR") or _configured()
    return Path(os.path.expanduser(chosen)).absolute()


@contextlib.contextmanager
def staging(name: str, root: Path):
    """Give a folder beside the entries of the cache, which is gone afterwards."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = tempfile.TemporaryDirectory(prefix=".download-", dir=root)
    except OSError as error:
        raise not_writable(name, root, error) from error
    with folder as path:
        yield Path(path)


def not_writable(name: str, root: Path, error: OSError) -> DataUnavailable:
    return DataUnavailable(
        f"{name}: cannot write to the OpenML cache {root} ({error.strerror or error}). Set "
        f"OPENML_CACHE_DIR or --cache-dir to a folder that can be written."
    )


def _configured() -> str:
    """Where the configuration file of openml says, or where openml looks without one."""
    linux = sys.platform == "linux"
    config_home = (
        os.environ.get("XDG_CONFIG_HOME", "~/.config") + "/openml" if linux else "~/.openml"
    )
    parser = configparser.RawConfigParser()
    with contextlib.suppress(OSError, configparser.Error, UnicodeDecodeError):
        # The file has no sections, which configparser insists on.
        parser.read_string("[it]\n" + Path(os.path.expanduser(config_home), "config").read_text())
    cache_home = os.environ.get("XDG_CACHE_HOME", "~/.cache") + "/openml" if linux else "~/.openml"
    return parser.get("it", "cachedir", fallback=cache_home)
