"""The seasons: which flights train and test, and the scores of each season."""

import numpy as np
import pytest

from benchmarks_uci.classification import metrics, natural_study, report
from benchmarks_uci.classification.flights import DatedSet
from benchmarks_uci.engine.study import Split
from sk_deltauq.baselines import DeepEnsembleClassifier
from tests.benchmarks_uci.classification.test_report import make_records

TINY = {"hidden_layer_sizes": (8,), "n_members": 1, "max_iter": 20, "random_state": 0}


def make_set(n_rows):
    rng = np.random.default_rng(0)
    month = np.sort(rng.integers(1, 13, n_rows))
    X = rng.standard_normal((n_rows, 3)) + month[:, None] / 6
    y = np.clip(np.round(X[:, 0] - month / 6 + rng.standard_normal(n_rows) / 3), -1, 1).astype(int)
    return DatedSet("made up", X, y + 1, month, "a test", "no hash")


def test_splits_train_on_the_first_season():
    dataset = make_set(12_000)
    split = natural_study.split_seasons(dataset, 3)
    season = natural_study.find_season(dataset.month)
    assert set(season[split.train]) == {0}
    assert np.bincount(season[split.test]).tolist() == [600] * 4
    assert len(split.train) == 1500
    assert len(np.unique([*split.train, *split.test])) == 1500 + 2400
    again, other = (natural_study.split_seasons(dataset, seed) for seed in (3, 4))
    np.testing.assert_array_equal(again.train, split.train)
    assert not np.array_equal(other.train, split.train)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_of_each_season():
    dataset = make_set(800)
    season = natural_study.find_season(dataset.month)
    winter = np.flatnonzero(season == 0)
    split = Split("s", train=winter[::2], test=np.r_[winter[1::2], np.flatnonzero(season > 0)])
    model = DeepEnsembleClassifier(**TINY)
    found = natural_study.fit_and_score(model, split, dataset)
    assert set(found) == set(metrics.NATURAL)
    for number, name in enumerate(metrics.SEASONS):
        rows = split.test[season[split.test] == number]
        X, y = dataset.X[rows], dataset.y[rows]
        assert found[f"accuracy_{name}"] == pytest.approx(model.score(X, y))
        proba = model.predict_proba(X)[np.arange(len(y)), y]
        assert found[f"nll_{name}"] == pytest.approx(-np.log(proba).mean(), rel=1e-4)
        sets = model.predict_set(X, coverage=0.9)
        assert found[f"coverage_{name}"] == pytest.approx(sets[np.arange(len(y)), y].mean())


def test_the_table_has_a_column_for_each_season():
    study = report.STUDIES["natural"]
    values = {("flights", "deltauq"): 0.25, ("flights", "mlp"): 1.0}
    table = report.write_natural(make_records(study, "natural", values), ["nll", "coverage"])
    lines = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()[:4]]
    assert lines[0][1:5] == [f"NLL, {season}" for season in metrics.SEASONS]
    # The mean of two splits is half above the first; methods are in the order of the study.
    assert lines[2] == ["mlp", *["1.500"] * 8]
    assert lines[3] == ["deltauq", *["0.750"] * 8]
