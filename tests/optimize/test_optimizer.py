"""Asking and telling: proposals, pending points, failures, files and bad input."""

import copy
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge

from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines
from sk_deltauq.optimize import Optimizer, surrogate
from sk_deltauq.optimize._acquisition import ACQUISITIONS
from sk_deltauq.optimize._optimizer import NAMES
from tests.optimize._helpers import BOUNDS, bowl, quick

ROOT = Path(__file__).parents[2]


def make(bounds=BOUNDS, **settings):
    return Optimizer(bounds, **{"surrogate": quick(), "random_state": 0, **settings})


def run(optimizer, n, f=bowl):
    for _ in range(n):
        [x] = optimizer.ask()
        optimizer.tell(x, f(x))
    return optimizer


def distances(X, bounds=BOUNDS):
    """Largest distance in any coordinate of the unit cube, for each pair of different rows."""
    U = X / np.ptp(bounds, axis=1)
    pairs = np.abs(U[:, None] - U).max(axis=2)
    return pairs[np.triu_indices(len(X), 1)]


def test_names_of_acquisition_functions():
    assert tuple(ACQUISITIONS) == NAMES


@pytest.mark.long
def test_it_finds_the_minimum():
    optimizer = run(Optimizer(BOUNDS, random_state=0), 14)
    assert optimizer.y_best_ < 5.01
    assert optimizer.y_best_ == bowl(optimizer.x_best_) == optimizer.y_.min()


def test_proposals_approach_the_minimum():
    optimizer = run(make(n_initial=5), 10)
    assert optimizer.y_best_ == bowl(optimizer.x_best_) == optimizer.y_.min()
    assert optimizer.y_best_ < optimizer.y_[:5].min() - 0.01


def test_maximising():
    optimizer = run(make(n_initial=5, maximize=True), 10, f=lambda x: -bowl(x))
    assert optimizer.y_best_ == -bowl(optimizer.x_best_) == optimizer.y_.max()
    assert optimizer.y_best_ > optimizer.y_[:5].max() + 0.01


@pytest.mark.parametrize("acquisition", NAMES)
def test_every_acquisition_function_with_pending_points(acquisition):
    optimizer = make(acquisition=acquisition, n_initial=6)
    optimizer.tell(X := optimizer.ask(6), bowl(X))
    proposed = optimizer.ask(2)
    assert (optimizer.pending_ == proposed).all()
    assert ((proposed >= 0) & (proposed <= [1, 10])).all()
    assert distances(np.vstack([X, proposed])).min() > 1e-6
    again = make(acquisition=acquisition, n_initial=6)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(2), proposed)


def test_an_acquisition_function_of_ones_own():
    from botorch.acquisition import PosteriorMean

    seen = []

    def greedy(situation):
        seen.append(situation)
        return PosteriorMean(situation.model)

    optimizer = run(make(acquisition=greedy, n_initial=5), 6)
    [situation] = seen
    assert situation.told.shape == (5, 2)
    np.testing.assert_allclose(situation.values.mean(), 0, atol=1e-12)
    assert situation.values.argmax() == optimizer.y_[:5].argmin()
    assert situation.pending is None


def test_proposals_do_not_change_numpys_or_torchs_random_state(global_state_is_kept):
    run(make(n_initial=4), 5)


def test_data_in_hand_replace_the_initial_design():
    optimizer = make(n_initial=6)
    X = np.random.default_rng(0).uniform(size=(6, 2)) * [1, 10]
    optimizer.tell(X, bowl(X))
    [x] = optimizer.ask()
    other = make(n_initial=6)
    other.tell(X, -bowl(X))
    assert (other.ask()[0] != x).any()  # the values decide, not a design
    np.testing.assert_array_equal(optimizer.X_, X)
    estimator = optimizer.estimator_
    assert estimator.predict(X).shape == (6,)
    estimator.fit(X, -bowl(X))  # a copy: the search does not follow
    again = make(n_initial=6)
    again.tell(X, bowl(X))
    again.ask()
    np.testing.assert_array_equal(optimizer.ask(), again.ask())


def test_the_initial_design_counts_pending_points():
    optimizer = make(n_initial=6)
    design = optimizer.ask(6)
    np.testing.assert_array_equal(make().ask(6), design)
    assert distances(design).min() > 0.05
    seventh = optimizer.ask()  # without a value no surrogate can be fitted
    assert distances(np.vstack([design, seventh])).min() > 1e-6


def test_equal_values_say_nothing():
    optimizer = make(n_initial=2)
    run(optimizer, 4, f=lambda x: 1.0)
    with pytest.raises(NotFittedError, match="two different values"):
        _ = optimizer.estimator_


def test_differences_that_float64_cannot_square_say_nothing():
    optimizer = run(make(n_initial=2), 4, f=lambda x: 1e-200 * x[0])
    with pytest.raises(NotFittedError, match="two different values"):
        _ = optimizer.estimator_


def test_values_of_any_scale_give_the_same_proposals():
    X = np.random.default_rng(0).uniform(size=(8, 2)) * [1, 10]
    proposals = []
    for scale in (1.0, 2.0**-40, 2.0**40):
        optimizer = make()
        optimizer.tell(X, bowl(X) * scale)
        proposals.append(optimizer.ask())
    np.testing.assert_allclose(proposals[1], proposals[0], rtol=1e-3)
    np.testing.assert_allclose(proposals[2], proposals[0], rtol=1e-3)


# Pending points, failures, duplicates


def test_told_points_are_not_pending():
    optimizer = make(n_initial=4)
    X = optimizer.ask(4)
    optimizer.tell(X[2], 1.0)
    np.testing.assert_array_equal(optimizer.pending_, X[[0, 1, 3]])
    optimizer.tell(X[0] + 1e-9, 2.0)  # written and read with fewer digits
    assert len(optimizer.pending_) == 2


def test_a_proposal_is_never_a_told_point():
    """Also where the acquisition function has its maximum at a told point."""
    from botorch.acquisition import PosteriorMean

    optimizer = make(acquisition=lambda s: PosteriorMean(s.model), n_initial=4)
    run(optimizer, 12, f=lambda x: float(x[0]))  # the best points are on the edge
    assert distances(optimizer.X_).min() > 1e-6


def test_failures_are_kept_and_avoided():
    optimizer = Optimizer(BOUNDS, random_state=0, n_initial=8)
    run(optimizer, 16, f=lambda x: np.nan if x[0] < 0.5 else bowl(x))
    failed = np.isnan(optimizer.y_)
    assert failed[:8].sum() >= 3
    # The minimum is on the side that fails.
    assert failed[12:].sum() <= 2
    assert optimizer.y_best_ == np.nanmin(optimizer.y_)


def test_a_failure_may_be_told_again():
    optimizer = make(n_initial=4)
    X = optimizer.ask(2)
    optimizer.tell(X, [np.nan, 1.0])
    optimizer.tell(X[0], 3.0)
    assert optimizer.y_.tolist() == [3.0, 1.0]
    assert optimizer.y_best_ == 1.0


def test_the_same_point_with_another_value():
    optimizer = make()
    optimizer.tell([0.5, 5], 1.0)
    optimizer.tell([0.5, 5], 1.0)  # told twice, as after a kill
    assert len(optimizer.y_) == 1
    with pytest.raises(ValueError, match=r"has the value 1.0 already.*2.0.*noisy=True.*tell NaN"):
        optimizer.tell([[0.1, 1], [0.5, 5]], [3.0, 2.0])
    assert optimizer.y_.tolist() == [1.0]  # nothing of the call is stored
    optimizer.tell([0.5, 5], np.nan)
    optimizer.tell([0.5, 5], 2.0)
    assert optimizer.y_.tolist() == [2.0]


def test_near_points_may_have_different_values():
    """Data in hand on a logarithmic scale: only proposals keep away from other points."""
    optimizer = make([(1e-8, 1)], n_initial=5)
    X = np.logspace(-7, -3, 5)[:, np.newaxis]
    optimizer.tell(X, [5.0, 4.0, 3.0, 2.0, 1.0])
    assert optimizer.y_.tolist() == [5.0, 4.0, 3.0, 2.0, 1.0]
    [x] = optimizer.ask()
    assert np.abs(x - X).min() > 1e-6


def test_noisy_functions_may_have_several_values():
    optimizer = Optimizer(BOUNDS, noisy=True, random_state=0)
    optimizer.tell([[0.5, 5], [0.5, 5]], [1.0, 2.0])
    assert optimizer.y_.tolist() == [1.0, 2.0]
    assert optimizer._acquisition == "log_nei"
    assert optimizer._surrogates.alone.noise == "homoscedastic"


def test_a_failure_of_a_noisy_function():
    optimizer = Optimizer(BOUNDS, noisy=True, surrogate=quick(), random_state=0)
    optimizer.tell([0.5, 5], np.nan)
    optimizer.tell([0.5, 5], 1.0)  # evaluated again
    assert optimizer.y_.tolist() == [1.0]
    optimizer.tell([[0.5, 5], [0.1, 1], [0.9, 9]], [np.nan, 2.0, np.nan])
    np.testing.assert_array_equal(optimizer.y_, [1.0, np.nan, 2.0, np.nan])
    # The failure at a point with a value is not fitted: an optimiser without it predicts the same.
    other = Optimizer(BOUNDS, noisy=True, surrogate=quick(), random_state=0)
    other.tell([[0.5, 5], [0.1, 1], [0.9, 9]], [1.0, 2.0, np.nan])
    rows = optimizer._state.list_fit_rows(optimizer._space)
    assert rows.tolist() == [True, False, True, True]
    np.testing.assert_array_equal(optimizer.X_[rows], other.X_)


def test_the_points_of_a_batch_keep_apart():
    """The default surrogate for a single point is so sure that it would propose it again."""
    rng = np.random.default_rng(0)
    X = np.array(BOUNDS)[:, 0] + np.ptp(BOUNDS, axis=1) * rng.uniform(size=(12, 2))
    batches = {}
    for name, chosen in (("default", None), ("sure", surrogate())):
        optimizer = Optimizer(BOUNDS, surrogate=chosen, random_state=0)
        optimizer.tell(X, bowl(X))
        batches[name] = optimizer.ask(3)
    np.testing.assert_array_equal(batches["default"][0], batches["sure"][0])
    assert distances(batches["default"], BOUNDS).min() > 0.02
    assert distances(batches["sure"], BOUNDS).min() < 0.02
    again = Optimizer(BOUNDS, random_state=0)
    again.tell(X, bowl(X))
    np.testing.assert_array_equal(again.ask(), batches["default"][:1])
    np.testing.assert_array_equal(again.ask(2), batches["default"][1:])


# Integers


def test_integers_are_rounded():
    bounds = [(0, 1), (-3, 4)]
    optimizer = make(bounds, integers=[1], n_initial=5)
    run(optimizer, 8, f=lambda x: (x[0] - 0.5) ** 2 + x[1] ** 2)
    assert (optimizer.X_[:, 1] == np.round(optimizer.X_[:, 1])).all()
    assert distances(optimizer.X_, bounds).min() > 1e-6
    assert len(set(optimizer.X_[:, 1])) > 2


def test_a_space_of_integers_is_searched_to_its_end():
    optimizer = make([(0, 2), (0, 1)], integers=[0, 1], n_initial=3)
    run(optimizer, 6, f=lambda x: float(x[0] * 2 + x[1]))
    assert len(np.unique(optimizer.X_, axis=0)) == 6
    with pytest.raises(ValueError, match="all 6 points"):
        optimizer.ask()
    assert len(optimizer.pending_) == 0


def test_more_points_than_a_space_of_integers_has():
    optimizer = make([(0, 3)], integers=[0])
    optimizer.tell([2], 1.0)
    with pytest.raises(ValueError, match="n is 4, but only 3 of the 4 points"):
        optimizer.ask(4)
    assert len(optimizer.pending_) == 0
    assert sorted(optimizer.ask(3).ravel()) == [0, 1, 3]


# Files


def test_a_stored_optimisation_continues_with_the_same_proposals(tmp_path):
    path = tmp_path / "state.json"
    whole = run(make(n_initial=5), 9)
    run(make(n_initial=5, path=path), 4)
    again = make(n_initial=5, path=path)
    assert len(again.y_) == 4
    run(again, 3)
    last = run(make(n_initial=5, path=path, random_state=None), 2)
    np.testing.assert_array_equal(last.X_, whole.X_)
    np.testing.assert_array_equal(last.y_, whole.y_)
    assert [file.name for file in tmp_path.iterdir()] == ["state.json"]


def test_failures_and_pending_points_are_stored(tmp_path):
    path = tmp_path / "state.json"
    optimizer = make(path=path)
    X = optimizer.ask(3)
    optimizer.tell(X[0], np.nan)
    again = make(path=path)
    np.testing.assert_array_equal(again.pending_, X[1:])
    assert np.isnan(again.y_).tolist() == [True]


@pytest.mark.long
def test_after_a_kill_nothing_is_lost(tmp_path):
    path = tmp_path / "state.json"
    script = f"""
        import os, signal
        from tests.optimize.test_optimizer import make, bowl
        optimizer = make(n_initial=4, path={str(path)!r})
        for step in range(9):
            [x] = optimizer.ask()
            if step == 5:
                os.kill(os.getpid(), signal.SIGKILL)
            optimizer.tell(x, bowl(x))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == -9
    optimizer, whole = make(n_initial=4, path=path), run(make(n_initial=4), 7)
    np.testing.assert_array_equal(optimizer.X_, whole.X_[:5])
    [x] = optimizer.pending_
    optimizer.tell(x, bowl(x))
    np.testing.assert_array_equal(run(optimizer, 1).X_, whole.X_)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "JSONDecodeError"),
        ('{"format": "other"}', "format is 'other'"),
        ("[]", "holds no complete state"),
        (None, "version is 99"),
    ],
)
def test_other_files_are_not_changed(tmp_path, content, message):
    path = tmp_path / "state.json"
    if content is None:
        make(path=path)
        content = json.dumps({**json.loads(path.read_text()), "version": 99})
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        make(path=path)
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"maximize": True}, "maximize is False there, True here"),
        ({"bounds": [(0, 1), (0, 10.5)]}, "bounds is"),
        ({"bounds": [(0, 1), (0, 1)]}, "bounds is"),  # the stored points are outside
        ({"surrogate": quick().set_params(max_iter=9)}, "surrogate.max_iter is 8 there, 9 here"),
        ({"surrogate": quick().set_params(max_iter=np.int64(9))}, "max_iter is 8 there, 9 here"),
        ({"surrogate": None}, "'recommended' here"),
        ({"surrogate": baselines.DeepEnsembleRegressor()}, "'DeepEnsembleRegressor' here"),
        ({"random_state": 1}, "another random_state"),
        ({"acquisition": "ucb"}, "acquisition is 'log_ei' there"),
    ],
)
def test_a_file_with_other_settings(tmp_path, changed, message):
    run(make(path=tmp_path / "state.json"), 2)
    with pytest.raises(ValueError, match=message):
        make(path=tmp_path / "state.json", **changed)


def test_a_file_with_another_optimizer_of_the_network(tmp_path):
    def make_surrogate(optimizer):
        return quick().set_params(net_params={"optimizer": optimizer})

    path = tmp_path / "state.json"
    run(make(path=path, surrogate=make_surrogate(torch.optim.AdamW)), 2)
    assert len(make(path=path, surrogate=make_surrogate(torch.optim.AdamW)).y_) == 2
    with pytest.raises(ValueError, match=r"AdamW.* there, .*SGD.* here"):
        make(path=path, surrogate=make_surrogate(torch.optim.SGD))


def test_a_parameter_that_was_added_later_does_not_matter(tmp_path):
    path = tmp_path / "state.json"
    run(make(path=path), 2)
    content = json.loads(path.read_text())
    del content["settings"]["surrogate"]["widening"]
    path.write_text(json.dumps(content))
    assert len(make(path=path).y_) == 2


def test_the_recommended_surrogate_is_only_named(tmp_path):
    """Its parameters may change with the package. A stored optimisation stays readable."""
    path = tmp_path / "state.json"
    make(path=path, surrogate=None)
    assert json.loads(path.read_text())["settings"]["surrogate"] == "recommended"


def test_a_generator_as_random_state_continues_a_file(tmp_path):
    path, rng = tmp_path / "state.json", np.random.RandomState(0)
    run(make(path=path, random_state=rng), 2)
    assert len(make(path=path, random_state=rng).y_) == 2


def test_two_optimizers_do_not_overwrite_each_other(tmp_path):
    path = tmp_path / "state.json"
    first, second = make(path=path), make(path=path)
    first.tell([0.5, 5], 1.0)
    with pytest.raises(RuntimeError, match=r"changed by another Optimizer.*X_ and y_"):
        second.tell([0.1, 1], 2.0)
    assert second.y_.tolist() == [2.0]
    with pytest.raises(RuntimeError, match="changed by another"):
        second.ask()
    assert len(second.pending_) == 0
    copied = copy.deepcopy(first)
    first.tell([0.2, 2], 3.0)
    with pytest.raises(RuntimeError, match="changed by another"):
        copied.tell([0.3, 3], 4.0)
    assert make(path=path).y_.tolist() == [1.0, 3.0]


def test_values_stay_in_memory_if_the_file_cannot_be_written(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    optimizer = make(path=folder / "state.json")
    x = optimizer.ask()
    (folder / "state.json").unlink()
    folder.rmdir()
    with pytest.raises(OSError, match="state"):
        optimizer.tell(x, [1.0])
    assert optimizer.y_.tolist() == [1.0]
    with pytest.raises(OSError, match="state"):
        optimizer.ask()
    assert len(optimizer.pending_) == 0
    folder.mkdir()
    optimizer.ask()
    assert make(path=folder / "state.json").y_.tolist() == [1.0]


# Bad input


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"surrogate": DeltaUQClassifier()}, TypeError, "regressor of sk_deltauq.*Classifier"),
        ({"surrogate": Ridge()}, TypeError, "Ridge"),
        ({"surrogate": DeltaUQRegressor}, TypeError, r"the class .* Write DeltaUQRegressor\(\)"),
        ({"surrogate": DeltaUQRegressor(n_anchors=0)}, ValueError, "'n_anchors' parameter"),
        ({"surrogate": DeltaUQRegressor(target_transform="log")}, ValueError, "target_transform"),
        (
            {"surrogate": DeltaUQRegressor(categorical_features=[1])},
            ValueError,
            "categorical_features=None or 'from_dtype'",
        ),
        ({"surrogate": DeltaUQRegressor(warm_start=True)}, ValueError, "warm_start"),
        ({"acquisition": "ei"}, ValueError, "'auto', 'log_ei'.*got 'ei'"),
        ({"acquisition": np.array([1, 2])}, ValueError, "acquisition must be one of"),
        ({"maximize": "min"}, ValueError, "maximize must be True or False, got 'min'"),
        ({"noisy": "no"}, ValueError, "noisy must be True or False, got 'no'"),
        ({"integers": None}, ValueError, "integers must be a list of positions.*got None"),
        ({"integers": 1}, ValueError, "integers must be a list of positions.*got 1"),
        ({"n_initial": 1}, ValueError, "from 2 on, got 1"),
        ({"n_initial": 2.5}, ValueError, "got 2.5"),
        ({"bounds": [(1, 0)]}, ValueError, "lower < upper"),
        ({"integers": [5]}, ValueError, "got 5"),
    ],
)
def test_invalid_settings(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        ([0.5, 5], np.inf, "at most 1e\\+100 in size, got inf for point 0. Use NaN"),
        ([[0.5, 5], [0.1, 5]], [1.0, -1e200], "got -1e\\+200 for point 1"),
        ([0.5, 5], "1.5", "numbers, got '1.5'"),
        ([0.5, 5], None, "numbers, got None. Does your function return its value"),
        ([[0.5, 5], [0.1, 5]], [1.0, None], "numbers, got None"),
        ([0.5, 5], [1.0, 2.0], "one value for each of 1 points"),
        ([[0.5, 5], [0.1, 5]], 1.0, "each of 2 points"),
        ([0.5, 11], 1.0, "outside"),
        ([np.nan, 5], 1.0, "NaN"),
        ([0.5], 1.0, "2 numbers"),
    ],
)
def test_invalid_values_change_nothing(x, y, message):
    optimizer = make()
    optimizer.ask()
    with pytest.raises(ValueError, match=message):
        optimizer.tell(x, y)
    assert len(optimizer.y_) == 0
    assert len(optimizer.pending_) == 1


@pytest.mark.parametrize(
    ("x", "y"),
    [([[0.5, 5]], 1.0), ([0.5, 5], [[1.0]]), ([[0.5, 5], [0.1, 1]], [[1.0], [2.0]])],
    ids=["one", "one-cell", "column"],
)
def test_shapes_of_values(x, y):
    optimizer = make()
    optimizer.tell(x, y)
    assert optimizer.y_.tolist() == np.ravel(y).tolist()


@pytest.mark.parametrize("n", [0, -1, 1.5, True])
def test_invalid_numbers_of_points(n):
    with pytest.raises(ValueError, match="n must be"):
        make().ask(n)


def test_no_best_point_without_a_value():
    optimizer = make()
    for name in ("x_best_", "y_best_", "estimator_"):
        with pytest.raises(NotFittedError):
            getattr(optimizer, name)
    optimizer.tell([0.5, 5], np.nan)
    with pytest.raises(NotFittedError, match="No point has a value"):
        _ = optimizer.x_best_


def test_a_missing_botorch_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "botorch", None)
    with pytest.raises(ImportError, match=r"Optimizer needs BoTorch.*'sk-deltauq\[optimize\]'"):
        make()


@pytest.mark.long
def test_botorch_is_missing():
    code = """
        import sys
        sys.modules["botorch"] = None
        import sk_deltauq.optimize as optimize
        optimize.surrogate()
        for call in (lambda: optimize.Optimizer([(0, 1)]), lambda: optimize.BoTorchModel,
                     lambda: optimize.minimize(sum, [(0, 1)])):
            try:
                call()
            except ImportError as error:
                assert "pip install 'sk-deltauq[optimize]'" in str(error), error
            else:
                raise AssertionError("no error")
    """
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_other_methods_as_surrogates():
    small = {"hidden_layer_sizes": (16,), "max_iter": 5, "noise": None}
    for model in (
        baselines.DeepEnsembleRegressor(**small, n_members=1, early_stopping=False),
        baselines.MCDropoutRegressor(**small, n_masks=5, dropout=0.1),
        baselines.PBPRegressor(hidden_layer_sizes=(8,), max_iter=2),
    ):
        optimizer = run(make(surrogate=model, n_initial=5), 7)
        assert distances(optimizer.X_).min() > 1e-6


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"random_state": "a"}, ValueError, "random_state must be an int"),
        ({"random_state": -1}, ValueError, "random_state must be an int"),
        ({"path": 3}, TypeError, "path must be a str or path-like object, got int"),
        (
            {"path": "no-such-folder/state.json"},
            ValueError,
            "path must be in a folder that exists",
        ),
    ],
)
def test_invalid_seed_or_path(settings, error, message):
    with pytest.raises(error, match=message):
        make(**settings)
