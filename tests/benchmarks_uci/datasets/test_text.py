import gzip

import numpy as np
import pytest

from benchmarks_uci.datasets import DataCorrupt, DataUnavailable
from benchmarks_uci.datasets.text import read_table


@pytest.fixture
def read(tmp_path):
    def read(content, file="set.csv"):
        path = tmp_path / file
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(path, "boston")

    return read


@pytest.mark.parametrize(
    "content",
    [
        "1,2.5\n-3,4e2\n",
        "a, b\n1, 2.5\n-3, 4e2\n",
        "1 2.5\n-3 4e2",
        "  1\t2.5 \r\n\r\n -3   4e2\r\n\r\n",
        '"a";"b"\n1;2.5\n-3;4e2\n',
        "\ufeffa,b\n1,2.5\n-3,4e2\n",
    ],
)
def test_equivalent_layouts(read, content):
    header, values = read(content)
    assert values.tolist() == [[1, 2.5], [-3, 400]]
    assert values.dtype == np.float64
    assert header == (("a", "b") if "b" in content else None)


def test_gzip(read):
    header, values = read(gzip.compress(b"a,b\n1,2\n"), "set.csv.gz")
    assert header == ("a", "b")
    assert values.tolist() == [[1, 2]]


def test_quoted_name_with_a_comma(read):
    assert read('"strength (MPa, megapascals)",b\n1,2')[0] == ("strength (MPa, megapascals)", "b")


def test_wrong_column_count_names_the_line(read):
    with pytest.raises(DataCorrupt, match=r"line 4 of .*set\.csv has 1 columns, expected 2"):
        read("a,b\n1,2\n\n3\n5,6\n")


def test_text_names_line_and_column(read):
    with pytest.raises(
        DataCorrupt, match=r"line 3 of .* has 'n/a' in column 2, expected a number"
    ):
        read("a,b\n1,2\n3,n/a\n")


def test_first_line_with_a_number_is_not_a_header(read):
    with pytest.raises(DataCorrupt, match=r"line 1 of .* has 'x' in column 2"):
        read("1,x\n1,2\n")


@pytest.mark.parametrize("file", ["set.csv", "set.csv.gz"])
@pytest.mark.parametrize("start", ["<!DOCTYPE html>", "<html>", '<?xml version="1.0"?>'])
def test_web_page(read, file, start):
    with pytest.raises(
        DataCorrupt, match=r"is a web page or XML, not data: .*download the file aga"
    ):
        read(f"{start}\n<body>502 Bad Gateway, please, try again</body>", file)


def test_gzipped_web_page(read):
    with pytest.raises(DataCorrupt, match="is a web page or XML"):
        read(gzip.compress(b"\n <html>"), "set.csv.gz")


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_empty_file(read, content):
    with pytest.raises(DataCorrupt, match="is empty"):
        read(content)


def test_header_without_rows(read):
    with pytest.raises(DataCorrupt, match="has no row of numbers; it begins with 'a,b'"):
        read("a,b\n")


@pytest.mark.parametrize("kept", [-1, -8, 20])
def test_truncated_gzip(read, kept):
    packed = gzip.compress("\n".join(f"{i},{i * i}" for i in range(99)).encode())
    with pytest.raises(DataCorrupt, match=r"cannot be unpacked .* truncated"):
        read(packed[:kept], "set.csv.gz")


def test_damaged_gzip(read):
    packed = bytearray(gzip.compress("\n".join(f"{i},{i * i}" for i in range(99)).encode()))
    packed[len(packed) // 2] ^= 0xFF
    with pytest.raises(DataCorrupt, match="cannot be unpacked"):
        read(bytes(packed), "set.csv.gz")


def test_text_file_named_gz(read):
    with pytest.raises(DataCorrupt, match="Not a gzipped file"):
        read("1,2\n", "set.csv.gz")


def test_binary_file(read):
    with pytest.raises(DataCorrupt, match="is not a text file"):
        read(gzip.compress(b"1,2\n"), "set.csv")


def test_folder_instead_of_a_file(tmp_path):
    (tmp_path / "set.csv").mkdir()
    with pytest.raises(DataUnavailable, match=r"cannot read .*set\.csv"):
        read_table(tmp_path / "set.csv", "boston")
