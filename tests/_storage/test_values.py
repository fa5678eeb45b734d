"""Values as JSON and arrays, and back: the same type, the same bits, the same order in memory."""

import json
import math

import numpy as np
import pytest
import torch
from scipy.special import boxcox1p

from sk_deltauq._conformal import FoldScores
from sk_deltauq._storage.values import Decoder, Encoder, NotStorable


def roundtrip(value, given=None):
    encoder = Encoder({id(v): name for name, v in (given or {}).items()})
    text = json.dumps(encoder.encode(value), allow_nan=False)
    objects = json.loads(json.dumps(encoder.objects, allow_nan=False))
    return Decoder(objects, encoder.arrays, given or {}).decode(json.loads(text))


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 0, -7, 2**70, 0.1, -0.0, math.inf, -math.inf, "", "a\u00e9\n"),
        *((), (1, (2.5, "x")), [], [1, [None]], {}, {"a": (1,), "b": {"array": 2}}),
        *({1: "x", (2, "b"): 3.0}, {None: 0, True: 1}),
        *(np.float64(0.1), np.float32(0.1), np.int64(-3), np.uint8(4), np.bool_(True)),
        *(np.str_("wood"), np.datetime64("2024-02-29", "D"), np.dtype("<f4"), np.float32, float),
    ],
    ids=repr,
)
def test_values_keep_their_type_and_bits(value):
    found = roundtrip(value)
    assert type(found) is type(value)
    assert found == value
    assert repr(found) == repr(value)  # 0.0 equals -0.0


def test_nan_is_stored():
    assert math.isnan(roundtrip(math.nan))
    assert np.isnan(roundtrip(np.float32(np.nan)))


ARRAYS = [
    *(np.arange(6.0), np.arange(6, dtype=">i4"), np.array(3.5), np.zeros((0, 3), np.float32)),
    *(np.array([True, False]), np.array(["ash", "b"]), np.array([b"x", b"yz"])),
    *(np.array(["ash", None, 3, math.inf, True], dtype=object), np.array([], dtype=object)),
    *(np.array([["a", 1], ["b", 2]], dtype=object), np.array([1 + 2j]), np.array([np.nan, -0.0])),
    *(np.array(["2024-01-01"], dtype="datetime64[s]"), np.array([0.1], dtype=np.float16)),
    np.array([1, 2], dtype=np.uint64),
]


@pytest.mark.parametrize("value", ARRAYS, ids=lambda value: f"{value.dtype} {value.shape}")
def test_arrays_keep_type_shape_and_bits(value):
    found = roundtrip([value])[0]
    assert (found.dtype, found.shape) == (value.dtype, value.shape)
    assert found.tolist() == value.tolist() or np.isnan(value[0])
    if not value.dtype.hasobject:
        assert found.tobytes() == value.tobytes()


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (0, 2, 1)])
def test_arrays_keep_the_order_of_their_axes_in_memory(axes):
    value = np.arange(24.0).reshape(2, 3, 4).transpose(axes)
    found = roundtrip(value)
    np.testing.assert_array_equal(found, value)
    assert found.strides == value.strides


def test_views_are_stored_without_the_rest_of_their_array():
    encoder = Encoder({})
    encoder.encode(np.arange(1000.0)[::100])
    assert encoder.arrays["0"].shape == (10,)


def test_memory_mapped_arrays_become_plain_arrays(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(5.0))
    found = roundtrip(np.load(tmp_path / "a.npy", mmap_mode="r"))
    assert type(found) is np.ndarray
    np.testing.assert_array_equal(found, np.arange(5.0))


def test_shared_arrays_and_objects_stay_shared():
    array = np.arange(3.0)
    scores = FoldScores(None, array, array)
    encoder = Encoder({})
    encoder.encode([scores, array, scores])
    assert (len(encoder.arrays), len(encoder.objects)) == (1, 1)
    first, alone, second = roundtrip([scores, array, scores])
    assert first is second
    assert first.scores is first.cumulative is alone


def test_a_loaded_random_state_continues_the_sequence():
    state = np.random.RandomState(3)
    state.normal(size=5)  # normals are drawn in pairs, so one is left over
    expected = np.random.RandomState()
    expected.set_state(state.get_state())
    np.testing.assert_array_equal(roundtrip(state).normal(size=4), expected.normal(size=4))
    with pytest.raises(NotStorable, match="RandomState"):
        roundtrip(np.random.RandomState(np.random.PCG64(1)))


@pytest.mark.parametrize("value", [np.log1p, boxcox1p, torch.optim.SGD], ids=str)
def test_known_functions_and_optimizers_are_stored_by_name(value):
    assert roundtrip(value) is value


class Own:
    pass


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": [1, Own()]}, "['a'][1] is an object of"),
        ((Own,), "[0] is <class"),
        ([lambda: 0], "[0] is an object of <class 'function'>"),
        ([np.median], "[0] is an object of"),
        ([{1, 2}], "[0] is an object of <class 'set'>"),
        ([torch.zeros(2)], "[0] is an object of <class 'torch.Tensor'>"),
        (np.array([Own()]), "[0] is an object of"),
        ([FoldScores(Own(), np.zeros(1), np.zeros(1))], "[0].components is an object of"),
        ([np.random.default_rng(0)], "[0] is an object of"),
        ([torch.nn.Linear, torch.optim.lr_scheduler.StepLR], "[0] is <class"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_the_error_about_other_values_names_their_place(value, place):
    with pytest.raises(NotStorable) as error:
        roundtrip(value)
    assert str(error.value).startswith(place)


def test_objects_of_the_user_are_passed_again():
    own = Own()
    assert roundtrip([own, (own,)], given={"module": own}) == [own, (own,)]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        ({"eval": "1"}, "unknown kind, 'eval'"),
        ({"ufunc": ["os", "system"]}, "not known here, os.system"),
        ({"ufunc": ["numpy", "load"]}, "not known here, numpy.load"),
        ({"optimizer": "lr_scheduler"}, "does not have, 'lr_scheduler'"),
        ({"scalar_type": "load"}, "does not have, 'load'"),
        ({"object": 0}, "class 'os.system', which this version"),
    ],
)
def test_unknown_names_are_rejected(item, message):
    decoder = Decoder([["os.system", {}]], {}, {})
    with pytest.raises(ValueError, match=message):
        decoder.decode([item])


def test_bytes_cannot_become_objects():
    for item in ({"scalar": ["|O", "00" * 8]}, {"bytes": ["0", "|O", [1]]}):
        with pytest.raises((ValueError, TypeError)):
            Decoder([], {"0": np.zeros(8, np.uint8)}, {}).decode(item)
