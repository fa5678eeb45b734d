import numpy as np
import pytest

from benchmarks_uci.classification import shift_study
from benchmarks_uci.classification.protocols import split_rows
from benchmarks_uci.classification.scores import score_probabilities
from benchmarks_uci.classification.shifts import Shifter, list_shifts, read_strengths
from tests.benchmarks_uci.classification._helpers import toy_set


class Nearest:
    """Probabilities by the distance from the class means."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.stack([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict_log_proba(self, X):
        logits = -((X[:, None] - self.means_) ** 2).sum(axis=2) / 2
        return logits - np.logaddexp.reduce(logits, axis=1, keepdims=True)


class WithSets(Nearest):
    def predict_set(self, X, coverage):
        assert coverage == 0.9
        return np.exp(self.predict_log_proba(X)) > 0.05


@pytest.fixture(scope="module")
def dataset():
    return toy_set(n_features=13)


def test_a_record_has_all_scores(dataset):
    split = split_rows(dataset, 0)
    found = shift_study.fit_and_score(Nearest(), 0, split, dataset)
    assert {*shift_study.STUDY.metrics} <= {*found}
    assert {*found} - {*shift_study.STUDY.metrics} == {*shift_study.STUDY.curves} - {"sets"}


def test_means_are_over_the_shifts(dataset):
    split = split_rows(dataset, 1)
    found = shift_study.fit_and_score(Nearest(), 1, split, dataset)
    model = Nearest().fit(dataset.X[split.train], dataset.y[split.train])
    shifter, by_name = Shifter(dataset, split.train, 1), {}
    for shift in list_shifts("tables"):
        rows = shifter.apply(dataset.X[split.test], shift, read_strengths()["wine"][shift.name])
        log_proba = model.predict_log_proba(rows)
        by_name[shift.name] = score_probabilities(
            dataset.y[split.test], log_proba, model.classes_
        )["nll"]
    assert found["nll_by_shift"] == pytest.approx([*by_name.values()])
    assert found["nll_5"] == pytest.approx(np.mean([*by_name.values()]))
    unseen = [by_name[shift.name] for shift in list_shifts("tables") if not shift.resembles]
    assert found["nll_unseen"] == pytest.approx(np.mean(unseen))
    assert found["nll_by_severity"][0] == found["nll"]
    assert found["nll_by_severity"][3] == found["nll_3"]
    assert found["nll_by_severity"][5] == found["nll_5"]


def test_sets_are_measured_where_a_model_predicts_them(dataset):
    split = split_rows(dataset, 0)
    found = shift_study.fit_and_score(WithSets(), 0, split, dataset)
    coverage, size, shifted, shifted_size = found["sets"]
    model = WithSets().fit(dataset.X[split.train], dataset.y[split.train])
    sets = model.predict_set(dataset.X[split.test], 0.9)
    assert coverage == sets[np.arange(len(sets)), dataset.y[split.test]].mean()
    assert size == sets.sum() / len(sets)
    assert shifted < coverage
    assert 0 < shifted_size <= 3


@pytest.mark.filterwarnings("ignore:.*(max_iter|rows|early)")
def test_variants_of_the_ablation_have_no_sets(dataset):
    split = split_rows(dataset, 0)
    for name in ("deltauq-naive", "deltauq-plain"):
        model = shift_study.STUDY.variants[name].make("quick", len(split.train), 0)
        found = shift_study.fit_and_score(model, 0, split, dataset)
        assert ("sets" in found) == (name == "deltauq-plain")


def test_the_study_names_existing_things():
    study = shift_study.STUDY
    assert {*study.references, *study.defaults["methods"].split(",")} <= {*study.methods}
    assert {*study.overview, *study.costs} <= {*study.metrics}
    assert study.metrics["accuracy_5"].loss(0.9) < study.metrics["accuracy_5"].loss(0.5)
    assert study.metrics["nll_5"].loss(0.9) > study.metrics["nll_5"].loss(0.5)
