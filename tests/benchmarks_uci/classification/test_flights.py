"""The flights: the join with the weather, the classes, and the check of the rows."""

import numpy as np
import pytest

from benchmarks_uci.classification import flights
from benchmarks_uci.datasets import DataCorrupt, DataUnavailable, Sources

FLIGHTS = """\
month,day,sched_dep_time,sched_arr_time,dep_delay,arr_delay,distance,origin,time_hour
6,3,1745,2015,4,15,700,JFK,h2
1,1,515,819,2,-10,1400,EWR,h1
1,1,600,700,0,14,200,LGA,h1
1,1,600,700,0,NA,200,EWR,h1
1,2,600,700,0,3,200,EWR,h3
"""
WEATHER = """\
origin,time_hour,temp,dewp,humid,wind_speed,precip,visib
EWR,h1,39,26,59,10,0,10
LGA,h1,40,25,58,NA,0,10
JFK,h2,75,60,70,5,0.1,8
JFK,h2,76,61,71,6,0.2,9
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "flights.csv").write_text(FLIGHTS)
    (tmp_path / "weather.csv").write_text(WEATHER)
    return tmp_path


def test_flights_have_the_weather_of_their_hour(folder):
    dataset = flights.read_folder(folder)
    # Left out: a flight without weather, one with a gap in the weather, one without its delay
    np.testing.assert_array_equal(
        dataset.X,
        [
            [2, 315, 499, 1400, 1, 1, 0, 0, 39, 26, 59, 10, 0, 10],
            [4, 1065, 1215, 700, 0, 0, 1, 0, 75, 60, 70, 5, 0.1, 8],
        ],
    )
    assert [flights.CLASSES[label] for label in dataset.y] == ["early", "late"]
    assert dataset.month.tolist() == [1, 6]


def test_the_classes_meet_at_their_limits(folder):
    lines = [f"1,1,600,700,0,{delay},200,EWR,h1" for delay in (-10, -9, 14, 15)]
    (folder / "flights.csv").write_text("\n".join([FLIGHTS.splitlines()[0], *lines]))
    assert sorted(flights.read_folder(folder).y) == [0, 1, 1, 2]


def test_the_order_of_the_lines_does_not_matter(folder):
    before = flights.read_folder(folder)
    head, *lines = FLIGHTS.splitlines()
    (folder / "flights.csv").write_text("\n".join([head, *lines[::-1]]))
    after = flights.read_folder(folder)
    np.testing.assert_array_equal(after.X, before.X)
    assert after.content_hash == before.content_hash
    (folder / "flights.csv").write_text(FLIGHTS.replace("515", "516"))
    assert flights.read_folder(folder).content_hash != before.content_hash


def test_other_rows_are_an_error(folder):
    with pytest.raises(DataCorrupt, match=r"not the expected data.*found [0-9a-f]{64}, expected"):
        flights.load("flights", Sources(data_dir=folder))


def test_what_is_missing_is_named(folder, monkeypatch):
    (folder / "flights.csv").write_text(FLIGHTS.replace("dep_delay,arr_delay", "a,b"))
    with pytest.raises(DataCorrupt, match=r"flights.csv has no column dep_delay, arr_delay\.$"):
        flights.load("flights", Sources(data_dir=folder))
    (folder / "flights.csv").write_text(FLIGHTS)
    (folder / "weather.csv").unlink()
    with pytest.raises(DataUnavailable, match=r"none of the files weather.csv, weather.csv.zip"):
        flights.load("flights", Sources(data_dir=folder))
    monkeypatch.setattr(flights, "PACKAGE", "a_package_that_nobody_has")
    with pytest.raises(DataUnavailable, match="pip install a_package_that_nobody_has"):
        flights.load("flights")
    with pytest.raises(ValueError, match="no data set 'trains'; there is flights"):
        flights.load("trains")
