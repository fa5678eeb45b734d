import dataclasses

import numpy as np
import pytest

from benchmarks_uci.datasets import DATASETS, load

SHAPES = {"diabetes": (442, 10), "alcohol": (178, 12), "nuclei": (569, 10)}


def test_every_set_has_its_shape():
    assert {name: load(name).X.shape for name in DATASETS} == SHAPES


@pytest.mark.parametrize("name", DATASETS)
def test_set_is_complete_and_read_only(name):
    dataset = load(name)
    assert dataset.y.shape == dataset.X.shape[:1]
    assert np.isfinite(dataset.X).all()
    assert len(np.unique(dataset.y)) > 100
    assert not any(array.flags.writeable for array in (dataset.X, dataset.y))
    assert "sklearn.datasets.load_" in dataset.source
    with pytest.raises(dataclasses.FrozenInstanceError):
        dataset.y = None


@pytest.mark.parametrize("name", DATASETS)
def test_target_is_not_among_the_features(name):
    dataset = load(name)
    assert not (dataset.y[:, np.newaxis] == dataset.X).all(axis=0).any()


@pytest.mark.parametrize("name", DATASETS)
def test_set_is_the_same_each_time(name):
    first, second = load(name), load(name)
    assert np.array_equal(first.X, second.X)
    assert np.array_equal(first.y, second.y)
