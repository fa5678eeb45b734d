"""Seeds, random streams, and torch's global random state."""

import numpy as np
import pytest
import torch

from sk_deltauq._host import Stream, draw_seed, numpy_rng, seed_torch, torch_generators


def test_int_gives_the_same_seed_and_a_random_state_gives_new_seeds():
    assert draw_seed(3) == draw_seed(3) != draw_seed(4)
    state = np.random.RandomState(0)
    assert draw_seed(state) != draw_seed(state)


def test_none_gives_random_seeds_and_keeps_numpys_global_state():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    assert draw_seed(None) != draw_seed(None)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_streams_and_paths_give_different_random_numbers():
    draws = [
        numpy_rng(0, stream, *path).integers(2**62)
        for stream in Stream
        for path in [(), (0,), (1,), (0, 1)]
    ]
    assert len(set(draws)) >= len(Stream) * 3, "only () and (0,) may coincide"


def test_generator_of_a_member_does_not_depend_on_other_members():
    together = torch_generators(5, Stream.WEIGHTS, range(3))
    (alone,) = torch_generators(5, Stream.WEIGHTS, [2])
    assert torch.equal(torch.rand(4, generator=together[2]), torch.rand(4, generator=alone))


@pytest.mark.parametrize("fail", [False, True])
def test_seed_torch_restores_the_global_state(fail):
    torch.manual_seed(1)
    before = torch.get_rng_state()
    draws = []
    for _ in range(2):
        try:
            with seed_torch(0):
                draws.append(torch.rand(3))
                if fail:
                    raise RuntimeError("in the block")
        except RuntimeError:
            assert fail
    assert torch.equal(*draws)
    assert torch.equal(before, torch.get_rng_state())
