import hashlib
import pickle

import numpy as np
import pytest

from benchmarks_uci.engine.study import Split, Task
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci._helpers import toy_dataset


def test_hash_is_computed_from_the_ranks_in_canonical_order():
    dataset = toy_dataset(n_rows=10)
    rank = {row: i for i, row in enumerate(dataset.order.tolist())}
    split = Split("a split", np.array([4, 1, 7]), np.array([0, 9]))
    text = "train:" + "".join(f" {rank[row]}" for row in (4, 1, 7))
    text += ", test:" + "".join(f" {rank[row]}" for row in (0, 9))
    assert split.hash(dataset) == hashlib.sha256(text.encode()).hexdigest()[:12]


def test_study_is_pickled_by_reference():
    assert pickle.loads(pickle.dumps(STUDY)) is STUDY


def test_unknown_preset_is_refused():
    with pytest.raises(ValueError, match="one of default, paper, refined, got 'papr'"):
        STUDY.make(Task("random80", "papr", "boston", "deltauq", 0), 100)
