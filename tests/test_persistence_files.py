"""Files of `save`: invalid content, no code, other processes, and other devices."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch

from sk_deltauq import DeltaUQClassifier, load
from sk_deltauq._storage.files import read_file, write_file
from tests._helpers import assert_same_predictions, classifier, predict_all, regressor
from tests._persistence_data import LABELS, N, X, Y, target


@pytest.fixture
def path(tmp_path):
    regressor().fit(X, Y).save(tmp_path / "model.safetensors")
    return tmp_path / "model.safetensors"


def change_file(path, function):
    """Change the content of a file, and write it with the correct checksum."""
    content, arrays = read_file(path)
    function(content, arrays)
    write_file(path, content, arrays)


def test_load_rejects_unknown_classes(path):
    change_file(path, lambda content, arrays: content["objects"][0].__setitem__(0, "os.system"))
    with pytest.raises(ValueError, match=r"class 'os\.system', which this version"):
        load(path)


def test_load_rejects_objects_that_are_no_models(path):
    change_file(path, lambda content, arrays: content.update(model={"object": 1}))
    with pytest.raises(ValueError, match=r"holds an object of <class .*, no model of sk_deltauq"):
        load(path)
    change_file(path, lambda content, arrays: content.update(model=[1]))
    with pytest.raises(ValueError, match="holds an object of <class 'list'>"):
        load(path)


@pytest.mark.parametrize(
    "function",
    [
        lambda content, arrays: arrays.clear(),
        lambda content, arrays: content["objects"].pop(),
        lambda content, arrays: content["objects"][0].pop(),
    ],
)
def test_load_rejects_incomplete_files(path, function):
    change_file(path, function)
    with pytest.raises(ValueError, match=r"model\.safetensors does not hold what this version"):
        load(path)


def test_load_rejects_arrays_of_another_shape(path):
    def shorten(content, arrays):
        arrays.update({n: a[:-1] for n, a in arrays.items() if a.ndim == 3})

    change_file(path, shorten)
    with pytest.raises(ValueError, match="The stored weights do not fit the network"):
        load(path)


@pytest.mark.parametrize("model", [regressor(n_members=3), classifier()], ids=["reg", "clf"])
def test_the_file_holds_no_code_and_little_text(model, tmp_path):
    model.fit(X, target(model)).save(tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
    content = header["__metadata__"]["content"]
    assert "torch" not in content
    assert "skorch" not in content
    assert len(content) < 20_000


def test_another_process_predicts_the_same_and_keeps_the_global_state(path, global_state_is_kept):
    load(path).predict(X)
    code = f"""if True:
        import sys
        import numpy as np
        import sk_deltauq
        assert "safetensors" not in sys.modules
        before = "torch._dynamo" in sys.modules
        model = sk_deltauq.load({str(path)!r})
        X = np.random.default_rng(0).normal(size=({N}, 3))
        mean, std = model.predict(X, return_std=True)
        assert ("torch._dynamo" in sys.modules) == before
        model.partial_fit(np.ones((2, 3)), np.ones(2))
        sys.stdout.buffer.write(np.concatenate([mean, std]).tobytes())
    """
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True)
    assert done.returncode == 0, done.stderr.decode()
    expected = np.concatenate(load(path).predict(X, return_std=True))
    np.testing.assert_array_equal(np.frombuffer(done.stdout), expected)


def test_without_a_gpu_the_model_is_loaded_on_the_cpu(tmp_path, monkeypatch):
    model = DeltaUQClassifier(max_iter=2, random_state=0).fit(X, LABELS)
    settings = model._trained_.settings
    vars(model._trained_)["settings"] = type(settings)(**{**vars(settings), "device": "cuda:0"})
    model.save(tmp_path / "model")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.warns(UserWarning, match=r"device='cuda:0', which is not available.* on the CPU"):
        loaded = load(tmp_path / "model")
    assert_same_predictions(predict_all(loaded, X), predict_all(model, X))
