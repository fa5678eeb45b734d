"""Scores of images, the networks of the study, and its table."""

import numpy as np
import pytest
import torch
from sklearn.metrics import roc_auc_score

from benchmarks_uci.classification import image_study, metrics, report
from benchmarks_uci.classification.variants import ConvNet
from benchmarks_uci.engine.study import Split
from sk_deltauq import DeltaUQClassifier
from tests.benchmarks_uci.classification.test_report import make_records


@pytest.fixture(scope="module")
def dataset():
    pytest.importorskip("PIL")
    return image_study.load("digits")


def test_photographs_are_strange_to_digits(dataset):
    assert dataset.strange.shape == (image_study.N_PHOTOS, 64)
    assert 0 <= dataset.strange.min() < dataset.strange.max() <= 16
    again = image_study.load("digits")
    np.testing.assert_array_equal(again.strange, dataset.strange)


def test_digits_are_strange_to_clothes(monkeypatch, dataset):
    monkeypatch.setattr(image_study.fashion, "load", lambda sources: dataset)
    monkeypatch.setattr(image_study.sets, "load", lambda name, sources: {"mnist5k": dataset}[name])
    found = image_study.load("fashion")
    assert found.name == "fashion"
    assert found.strange is dataset.X


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_scores_of_a_convolutional_network(dataset):
    model = DeltaUQClassifier(module=ConvNet((4, 4)), n_anchors=3, max_iter=5, random_state=0)
    rows = np.random.default_rng(0).permutation(len(dataset.X))
    split = Split("s", train=rows[:200], test=rows[200:300])
    strange = dataset.strange[:50]
    found = image_study.fit_and_score(model, split, dataset, strange)
    assert set(found) == set(metrics.IMAGES)
    X, y = dataset.X[split.test], dataset.y[split.test]
    assert found["accuracy"] == pytest.approx(model.score(X, y))
    scores = model.outlier_score(np.concatenate([X, strange]), kind="distance")
    expected = roc_auc_score(np.repeat([0, 1], [100, 50]), scores)
    assert found["auroc_distance"] == pytest.approx(expected)


@pytest.mark.parametrize(("in_features", "n_channels"), [(64, 1), (128, 2), (784, 1), (1568, 2)])
def test_anchors_are_a_second_channel(in_features, n_channels):
    network = ConvNet()(in_features, 7)
    assert network[1].in_channels == n_channels
    assert network(torch.zeros(3, in_features)).shape == (3, 7)


def test_rows_that_are_no_images_are_an_error():
    with pytest.raises(ValueError, match=r"must be a square image.* it has 13"):
        ConvNet()(13, 2)


def test_the_table_has_a_row_for_each_set_and_method():
    study = report.STUDIES["images"]
    values = {("digits", "deltauq-conv"): 0.25, ("digits", "deepensemble"): 1.0}
    lines = report.write_images(make_records(study, "images", values)).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[:4]]
    assert cells[0][:3] == ["set", "method", "accuracy"]
    # The mean of two splits is half above the first; methods are in the order of the study.
    assert cells[2] == ["digits", "deepensemble", *["1.500"] * 9]
    assert cells[3] == ["digits", "deltauq-conv", *["0.750"] * 9]
