import math

import pytest
import torch

from sk_deltauq._networks.mlp import EMBEDDINGS
from tests._helpers import embed

M, D, N = 2, 3, 5
WAVES = {"alternating": 3, "sinusoidal": 3, "periodic": 4}


def embedded(name, members=range(M)):
    generators = [torch.Generator().manual_seed(member) for member in members]
    x = torch.randn(len(members), D, N, generator=torch.Generator().manual_seed(7))
    embedding = embed(name, D, generators, members)
    return embedding, x, embedding(x).detach()


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_width_is_as_announced_and_the_input_comes_first(name):
    embedding, x, out = embedded(name)
    assert out.shape == (M, embedding.n_outputs, N)
    assert torch.equal(out[:, :D], x)


@pytest.mark.parametrize("name", WAVES)
def test_waves_are_sines_and_cosines_feature_by_feature(name):
    embedding, x, out = embedded(name, members=[0, 2])
    n_frequencies = WAVES[name]
    frequencies = embedding.frequencies.detach().expand(M, D, n_frequencies, 1)
    for m in range(M):
        for d in range(D):
            for j in range(n_frequencies):
                angle = frequencies[m, d, j, 0] * x[m, d]
                row = D + d * n_frequencies + j
                torch.testing.assert_close(out[m, row], angle.sin())
                torch.testing.assert_close(out[m, row + D * n_frequencies], angle.cos())


def test_sinusoidal_frequencies_are_octaves_and_not_learnt():
    embedding, *_ = embedded("sinusoidal")
    expected = torch.tensor([math.pi / 4, math.pi / 2, math.pi])
    torch.testing.assert_close(embedding.frequencies[:, 0], expected)
    assert not list(embedding.parameters())


@pytest.mark.parametrize("members", [[0, 1, 2], [3], [2], [0, 0, 1, 1]])
def test_every_other_member_sees_waves(members):
    embedding, _, out = embedded("alternating", members)
    waves = embedded("sinusoidal", members)[2]
    for network, member in enumerate(members):
        expected = waves[network, D:] if member in (0, 2) else torch.zeros_like(out[network, D:])
        torch.testing.assert_close(out[network, D:], expected)
    assert not any(p.requires_grad for p in embedding.parameters())


def test_periodic_frequencies_are_learnt_and_differ_between_members():
    embedding, x, _ = embedded("periodic")
    embedding(x).sum().backward()
    assert embedding.frequencies.grad.abs().min() > 0
    assert not torch.equal(embedding.frequencies[0], embedding.frequencies[1])
