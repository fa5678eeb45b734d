"""Rare and unseen levels of categories: how they are found, and the variance that they add."""

import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning

from sk_deltauq import DeltaUQRegressor, UncertaintyWarning, load
from sk_deltauq._rarity import RareLevels, find_levels
from sk_deltauq._validation import scale_to_tensor

N = 60


def make_one_hot(counts):
    return np.eye(len(counts))[np.repeat(np.arange(len(counts)), counts)]


def find_in_blocks(*blocks):
    return find_levels(np.column_stack(blocks).astype(np.float32))


RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(N, 2))
BLOCK = make_one_hot([30, 27, 3])
OTHER = RNG.permutation(make_one_hot([40, 20]))
FLAG = np.arange(N) % 30 == 0


def test_a_one_hot_block_is_a_group():
    levels = find_in_blocks(NUMBERS, BLOCK, OTHER, NUMBERS)
    assert levels.columns.tolist() == [2, 3, 4, 5, 6]
    assert levels.groups.tolist() == [0, 0, 0, 1, 1]
    x = torch.from_numpy(np.column_stack([NUMBERS, BLOCK, OTHER]).astype(np.float32))
    assert levels.count_rows(x).tolist() == [30, 27, 3, 40, 20]


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_a_flag_beside_a_block_is_not_in_its_group(place):
    """Even if the flag and the level beside it are never set in the same row."""
    flag = (np.arange(N) == N - 1)[:, None]
    blocks = [*np.hsplit(BLOCK, 3)]
    if place in (0, 3):
        blocks.insert(place, flag)
        expected = [0, 0, 0]
        expected.insert(place, -1)
        assert find_in_blocks(*blocks).groups.tolist() == expected
    else:  # a column in between splits the block
        blocks.insert(place, NUMBERS[:, :1])
        assert set(find_in_blocks(*blocks).groups) == {-1}


def test_a_constant_column_does_not_split_a_group():
    """Its level is in no training row."""
    levels = find_in_blocks(BLOCK[:, :1], np.zeros(N), BLOCK[:, 1:])
    assert levels.columns.tolist() == [0, 2, 3]
    assert levels.groups.tolist() == [0, 0, 0]


def test_the_rarer_value_of_a_flag_is_the_level():
    for flag, on in ((FLAG, 1), (~FLAG, 0)):
        levels = find_in_blocks(flag[:, None], NUMBERS)
        assert (levels.on.tolist(), levels.off.tolist()) == ([on], [1 - on])
        assert levels.groups.tolist() == [-1]
    # A block without its first level, as drop="first" makes it
    assert find_in_blocks(BLOCK[:, 1:]).groups.tolist() == [-1, -1]


def test_columns_of_numbers_and_small_tables_have_no_levels():
    assert find_in_blocks(NUMBERS) is None
    assert find_in_blocks(NUMBERS, np.arange(N) % 3) is None
    assert find_in_blocks(np.zeros((N, 2))) is None
    assert find_levels(BLOCK[:20].astype(np.float32)) is None
    late = np.r_[np.zeros(1500), np.arange(500)][:, None]  # two values in the first rows only
    assert find_in_blocks(late, np.arange(2000) % 2).columns.tolist() == [1]


def test_the_variances_of_the_levels_of_a_row_are_added():
    levels = find_in_blocks(BLOCK, OTHER, FLAG)
    variances = np.array([[0.0, 0], [0, 1], [2, 3], [0, 0], [5, 0], [7, 8]])
    unseen = np.array([[10.0, 20], [30, 40]])
    rows = [
        ([1, 0, 0, 1, 0, 0], [0, 0]),
        ([0, 1, 0, 1, 0, 0], [0, 1]),
        ([0, 0, 1, 0, 1, 0], [7, 3]),
        ([0, 0, 0, 1, 0, 1], [17, 28]),
        ([0, 0, 0, 0, 0, 0], [40, 60]),
        ([9, 9, 9, 9, 9, 9], [14, 12]),  # these are no levels, but their variance is bounded
    ]
    x = torch.tensor([row for row, _ in rows], dtype=torch.float32)
    rare = RareLevels(levels, variances, unseen)
    np.testing.assert_array_equal(rare(x), [expected for _, expected in rows])
    twice = rare.scale(np.array([2.0, 1.0]))
    np.testing.assert_array_equal(twice(x), rare(x) * torch.tensor([2, 1]))


# Fitted models

N_LEVELS = 50


def draw_table(seed, n_targets=1):
    """Draw rows with a number and a long-tailed category that has large effects."""
    rng = np.random.default_rng(seed)
    n = 300
    effects = rng.normal(size=(N_LEVELS, n_targets))
    frequencies = 1 / np.arange(1, N_LEVELS + 1) ** 1.3

    def draw(kinds):
        number = rng.normal(size=len(kinds))
        y = effects[kinds] + number[:, None] + 0.3 * rng.normal(size=(len(kinds), n_targets))
        return kinds, number, y[:, 0] if n_targets == 1 else y

    training = draw(rng.choice(N_LEVELS, size=n, p=frequencies / frequencies.sum()))
    counts = np.bincount(training[0], minlength=N_LEVELS)
    return training, draw(np.tile(np.arange(N_LEVELS), 20)), counts


def to_array(kinds, number):
    return np.column_stack([np.eye(N_LEVELS)[kinds], number])


def to_frame(kinds, number):
    return pd.DataFrame({"kind": [f"kind {kind}" for kind in kinds], "number": number})


PARAMS = {"hidden_layer_sizes": (30,), "max_iter": 40, "tol": 0, "random_state": 0}


@pytest.fixture(scope="module", params=[(1, to_array), (5, to_frame)], ids=["array", "frame"])
def fitted(request):
    n_members, convert = request.param
    (kinds, number, y), (new_kinds, new_number, new_y), counts = draw_table(0)
    model = DeltaUQRegressor(**PARAMS, n_members=n_members).fit(convert(kinds, number), y)
    return model, convert(new_kinds, new_number), new_y, counts[new_kinds]


def test_rare_and_unseen_levels_have_a_larger_epistemic_part(fitted):
    model, X, y, counts = fitted
    epistemic = model.predict_uncertainty(X).epistemic
    common = np.median(epistemic[counts > 10])
    assert (counts == 0).sum() >= 40
    assert np.median(epistemic[counts == 0]) > 3 * common
    assert np.median(epistemic[(counts > 0) & (counts <= 3)]) > 1.5 * common
    lower, upper = model.predict_interval(X).T
    inside = (lower <= y) & (y <= upper)
    assert inside[counts <= 3].mean() > 0.85
    assert 0.8 < inside[counts > 10].mean() < 0.97


def test_only_the_epistemic_part_of_rare_rows_grows(fitted):
    model, X, _, counts = fitted
    encoded = X if model.encoder_ is None else model.encoder_.transform(X)
    added = model._rarity_(scale_to_tensor(encoded, model.x_scaler_)).numpy()[:, 0]
    assert (added[counts > 10] == 0).all()
    assert (added[counts <= 10] > 0).all()
    of_counts = [np.unique(added[counts == count].round(9)) for count in (0, 1, 2)]
    assert [len(values) for values in of_counts] == [1, 1, 1]
    assert np.diff(np.ravel(of_counts)).max() < 0  # more rows, less variance
    wide, rarity = model.predict_uncertainty(X), model._rarity_
    try:
        model._rarity_ = None
        narrow = model.predict_uncertainty(X)
    finally:
        model._rarity_ = rarity
    np.testing.assert_array_equal(wide.aleatoric, narrow.aleatoric)
    expected = narrow.epistemic**2 + added * model.y_scaler_.scale_**2
    np.testing.assert_allclose(wide.epistemic**2, expected, rtol=1e-6)


def test_the_distribution_has_the_predicted_standard_deviations(fitted):
    model, X, *_ = fitted
    dist, parts = model.predict_dist(X), model.predict_uncertainty(X)
    np.testing.assert_allclose(dist.std, parts.total, rtol=1e-5)
    np.testing.assert_allclose(dist.epistemic, parts.epistemic, rtol=1e-4)
    np.testing.assert_allclose(dist.aleatoric, parts.aleatoric, rtol=1e-6)


def test_files_pickles_and_torch_modules_predict_the_same(fitted, tmp_path):
    model, X, *_ = fitted
    expected = model.predict_uncertainty(X).epistemic
    model.save(tmp_path / "model.safetensors")
    for copied in (load(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(copied.predict_uncertainty(X).epistemic, expected)
    encoded = X if model.encoder_ is None else model.encoder_.transform(X)
    torch_epistemic = model.to_torch()(torch.from_numpy(encoded)).epistemic
    np.testing.assert_allclose(torch_epistemic, expected, rtol=1e-6)


def test_gradients_are_finite_without_noise():
    (kinds, number, y), *_ = draw_table(0)
    X = to_array(kinds, number)
    model = DeltaUQRegressor(**{**PARAMS, "max_iter": 5}, noise=None, widening=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    rows = torch.tensor(X[:20], requires_grad=True)
    out = model.to_torch()(rows)
    (out.std + out.component_stds.sum(dim=0)).sum().backward()
    assert torch.isfinite(rows.grad).all()


def test_each_target_has_its_own_variance():
    (kinds, number, y), (new_kinds, new_number, _), counts = draw_table(1, n_targets=2)
    y = np.column_stack([100 * y[:, 0], number])  # the second target ignores the category
    model = DeltaUQRegressor(**PARAMS).fit(to_array(kinds, number), y)
    added = model._rarity_(
        scale_to_tensor(to_array(new_kinds, new_number), model.x_scaler_)
    ).numpy()
    unseen = counts[new_kinds] == 0
    assert (added[unseen, 0] > 10 * added[unseen, 1]).all()


@pytest.mark.parametrize("params", [{"calibrate": False}, {"early_stopping": False}])
def test_without_calibration_no_variance_is_added(params):
    (kinds, number, y), *_ = draw_table(0)
    model = DeltaUQRegressor(**{**PARAMS, "max_iter": 2}, **params)
    with pytest.warns((ConvergenceWarning, UncertaintyWarning)):
        model.fit(to_array(kinds, number), y)
    assert model._rarity_ is None


def test_numbers_and_common_levels_add_no_variance():
    X = np.random.default_rng(0).normal(size=(80, 3))
    model = DeltaUQRegressor(max_iter=2, random_state=0)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, X[:, 0])
    assert model._rarity_ is None
    with pytest.warns(ConvergenceWarning):
        model.fit(np.column_stack([X, X[:, 0] > 0]), X[:, 0])
    assert (model._rarity_.variances == 0).all()


def test_partial_fit_keeps_the_rare_levels_of_fit():
    (kinds, number, y), *_ = draw_table(0)
    X = to_array(kinds, number)
    first = DeltaUQRegressor(random_state=0)
    with pytest.warns(UncertaintyWarning):
        first.partial_fit(X, y)
    assert first._rarity_ is None
    model = DeltaUQRegressor(**{**PARAMS, "max_iter": 5}).fit(X, y)
    found = model._rarity_
    assert model.partial_fit(X, y)._rarity_ is found
