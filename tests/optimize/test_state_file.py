"""Files of an optimisation: stored states, and files of other settings."""

import copy
import json
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import torch

from sk_deltauq import baselines
from tests.optimize._helpers import bowl, make, quick, run

ROOT = Path(__file__).parents[2]


def test_stored_optimisation_continues_with_the_same_proposals(tmp_path):
    path = tmp_path / "state.json"
    whole = run(make(n_initial=5), 9)
    run(make(n_initial=5, path=path), 4)
    again = make(n_initial=5, path=path)
    assert len(again.y_) == 4
    run(again, 3)
    [x] = again.ask()  # the process ends before the value is known
    last = make(n_initial=5, path=path, random_state=None)
    np.testing.assert_array_equal(last.pending_, [x])
    last.tell(x, bowl(x))
    run(last, 1)
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
def test_optimisation_continues_with_the_same_proposals_after_a_kill(tmp_path):
    path = tmp_path / "state.json"
    script = f"""
        import os, signal
        from tests.optimize._helpers import bowl, make
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
def test_invalid_files_raise_and_stay_unchanged(tmp_path, content, message):
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
        ({"bounds": [(0, 1), (0, 10.5)]}, r"bounds is .*10\.0.* there, .*10\.5.* here"),
        (
            {"bounds": [(0, 1), (0, 1)]},
            r"bounds is .*10\.0.* there",
        ),  # the stored points are outside
        ({"surrogate": quick().set_params(max_iter=9)}, "surrogate.max_iter is 8 there, 9 here"),
        ({"surrogate": quick().set_params(max_iter=np.int64(9))}, "max_iter is 8 there, 9 here"),
        ({"surrogate": None}, "'recommended' here"),
        ({"surrogate": baselines.DeepEnsembleRegressor()}, "'DeepEnsembleRegressor' here"),
        ({"random_state": 1}, "another random_state"),
        ({"acquisition": "ucb"}, "acquisition is 'log_ei' there"),
    ],
)
def test_file_with_other_settings_raises(tmp_path, changed, message):
    run(make(path=tmp_path / "state.json"), 2)
    with pytest.raises(ValueError, match=message):
        make(path=tmp_path / "state.json", **changed)


def test_file_with_another_optimizer_of_the_network_raises(tmp_path):
    def make_surrogate(optimizer):
        return quick().set_params(net_params={"optimizer": optimizer})

    path = tmp_path / "state.json"
    run(make(path=path, surrogate=make_surrogate(torch.optim.AdamW)), 2)
    assert len(make(path=path, surrogate=make_surrogate(torch.optim.AdamW)).y_) == 2
    with pytest.raises(ValueError, match=r"AdamW.* there, .*SGD.* here"):
        make(path=path, surrogate=make_surrogate(torch.optim.SGD))


def test_file_without_a_later_parameter_is_read(tmp_path):
    path = tmp_path / "state.json"
    run(make(path=path), 2)
    content = json.loads(path.read_text())
    del content["settings"]["surrogate"]["widening"]
    path.write_text(json.dumps(content))
    assert len(make(path=path).y_) == 2


def test_file_stores_only_the_name_of_the_recommended_surrogate(tmp_path):
    """Its parameters may change with the package. A stored optimisation stays readable."""
    path = tmp_path / "state.json"
    make(path=path, surrogate=None)
    assert json.loads(path.read_text())["settings"]["surrogate"] == "recommended"


def test_generator_as_random_state_continues_a_file(tmp_path):
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
