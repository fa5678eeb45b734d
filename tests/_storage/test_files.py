"""Files are written completely or not at all, and damaged files are rejected."""

import json
import os
import pickle

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from sk_deltauq._storage import files
from sk_deltauq._storage.files import read_file, write_file

ARRAYS = {"0": np.arange(6.0).reshape(2, 3), "1": np.array(7, np.int32), "2": np.zeros((0, 2))}
CONTENT = {"a": [1, 0.1, "\u00e9"], "b": None}


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.safetensors"
    write_file(path, CONTENT, ARRAYS)
    return path


def test_read_returns_the_written_values(path):
    content, arrays = read_file(str(path))
    assert content == CONTENT
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array, strict=True)
        assert arrays[name].flags.writeable


def test_other_programs_can_read_the_arrays(path):
    np.testing.assert_array_equal(load_file(path)["0"], ARRAYS["0"])


def test_the_file_has_usual_permissions(path, tmp_path):
    (tmp_path / "other").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode


def test_changed_bytes_are_detected(path):
    whole = path.read_bytes()
    for position in range(0, len(whole), 7):
        changed = bytearray(whole)
        changed[position] ^= 1
        path.write_bytes(changed)
        with pytest.raises(ValueError, match=r"model\.safetensors"):
            read_file(path)


@pytest.mark.parametrize("fraction", [0.0, 0.001, 0.3, 0.9, 0.999])
def test_truncated_files_are_detected(path, fraction):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(fraction * len(whole))])
    with pytest.raises(ValueError, match=r"is no complete file of model\.save.*truncated"):
        read_file(path)


@pytest.mark.parametrize("length", [0x280, 0x480, 0x2F80])
def test_a_truncated_file_is_not_reported_as_a_pickle(path, length):
    """The first byte is 0x80, like the first byte of a pickle."""
    whole = path.read_bytes()
    path.write_bytes(length.to_bytes(8, "little") + whole[8:200])
    with pytest.raises(ValueError, match="truncated"):
        read_file(path)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_the_error_about_a_pickle_names_joblib(path, protocol):
    path.write_bytes(pickle.dumps(CONTENT, protocol))
    with pytest.raises(ValueError, match=r"looks like a pickle: joblib\.load"):
        read_file(path)


def test_errors_about_other_files_name_their_format(path):
    path.write_bytes(pickle.dumps(CONTENT))
    with pytest.raises(ValueError, match=r"looks like a pickle: joblib\.load"):
        read_file(path)
    path.write_bytes(b"PK\x03\x04" + bytes(100))
    with pytest.raises(ValueError, match=r"looks like a zip archive: skops\.io\.load"):
        read_file(path)
    save_file(ARRAYS, path)
    with pytest.raises(ValueError, match="a safetensors file of another program"):
        read_file(path)


@pytest.mark.parametrize("version", [files.FORMAT_VERSION + 1, 99])
def test_files_of_newer_formats_are_rejected(path, version, monkeypatch):
    monkeypatch.setattr(files, "FORMAT_VERSION", version)
    monkeypatch.setattr(files, "_package_version", lambda: "9.7")
    write_file(path, CONTENT, ARRAYS)
    monkeypatch.undo()
    with pytest.raises(ValueError, match=rf"version '{version}'.* of sk_deltauq 9\.7.*Update"):
        read_file(path)


def test_a_missing_file_raises_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_file(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        write_file(tmp_path / "none" / "model", CONTENT, ARRAYS)


@pytest.mark.parametrize("fails", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_file_and_nothing_else(path, fails, monkeypatch):
    before = path.read_bytes()

    def fail(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, fails, fail)
    with pytest.raises(OSError, match="No space left"):
        write_file(path, {"other": 1}, {})
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == [path.name]


def test_the_checksum_covers_texts_names_types_and_shapes():
    def compute(metadata, arrays):
        return files._compute_checksum(metadata, arrays)

    one = compute({"a": "b"}, ARRAYS)
    assert compute({"a": "b"}, dict(reversed(ARRAYS.items()))) == one
    others = [
        compute({"a": "c"}, ARRAYS),
        compute({"a": "b"}, {**ARRAYS, "0": ARRAYS["0"].reshape(3, 2)}),
        compute({"a": "b"}, {**ARRAYS, "0": ARRAYS["0"].view(np.int64)}),
        compute({"a": "b"}, {"3": ARRAYS["0"], "1": ARRAYS["1"], "2": ARRAYS["2"]}),
    ]
    assert len({one, *others}) == 5


def test_the_header_is_readable_text(path):
    data = path.read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    assert header["__metadata__"]["format"] == "sk_deltauq model"
    assert json.loads(header["__metadata__"]["content"]) == CONTENT
