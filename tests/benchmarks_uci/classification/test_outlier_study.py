import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from benchmarks_uci.classification import outlier_study
from benchmarks_uci.classification.metrics import SOURCES
from benchmarks_uci.classification.protocols import leave_out_class
from tests.benchmarks_uci.classification._helpers import toy_set


class Distant:
    """Its outlier score is the distance from the training mean, or its reverse, or constant."""

    def fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        return self

    def outlier_score(self, X, kind):
        factor = {"combined": 1, "energy": -1}.get(kind, 0)
        return factor * np.linalg.norm(X - self.mean_, axis=1)


@pytest.fixture(scope="module")
def dataset():
    return toy_set(n_features=13)


def test_a_record_has_all_scores(dataset):
    split = leave_out_class(dataset, 0)
    found = outlier_study.fit_and_score(Distant(), "combined", 0, split, dataset)
    assert {*outlier_study.STUDY.metrics} <= {*found}
    assert {*found} <= {*outlier_study.STUDY.metrics, *outlier_study.STUDY.curves}
    for source in SOURCES:
        assert found[f"combined_{source}"] == [found[f"auroc_{source}"]]
        assert found[f"energy_{source}"][0] == pytest.approx(1 - found[f"auroc_{source}"])
        assert found[f"logit_std_{source}"] == [0.5]


def test_the_left_out_class_is_the_outlier(dataset):
    split = leave_out_class(dataset, 1)
    found = outlier_study.fit_and_score(Distant(), "combined", 1, split, dataset)
    y, X = dataset.y[split.test], dataset.X[split.test]
    is_out = ~np.isin(y, dataset.y[split.train])
    scores = Distant().fit(dataset.X[split.train], None).outlier_score(X, "combined")
    assert found["auroc_class"] == pytest.approx(roc_auc_score(is_out, scores))


@pytest.mark.parametrize("name", outlier_study.PEERS)
def test_peers_rank_far_rows_higher(dataset, name):
    model = outlier_study.PEERS[name].make("default", 60, 0)
    split = leave_out_class(dataset, 0)
    found = outlier_study.fit_and_score(model, "own", 0, split, dataset)
    assert found["auroc_class"] > 0.8
    assert not {*found} & {*outlier_study.STUDY.curves}


def test_the_study_names_existing_things():
    study = outlier_study.STUDY
    assert {*study.references, *study.defaults["methods"].split(",")} <= {*study.methods}
    assert {*study.overview, *study.costs} <= {*study.metrics}
