import math

import pytest
import torch

from sk_deltauq._torch.embeddings import EMBEDDINGS, N_FREQUENCIES

M, D, N = 2, 3, 5


def embed(name):
    generators = [torch.Generator().manual_seed(seed) for seed in range(M)]
    x = torch.randn(M, D, N, generator=torch.Generator().manual_seed(7))
    embedding = EMBEDDINGS[name](D, generators)
    return embedding, x, embedding(x)


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_width_is_as_announced_and_the_input_comes_first(name):
    embedding, x, out = embed(name)
    assert out.shape == (M, embedding.n_outputs, N)
    assert torch.equal(out[:, :D], x)


@pytest.mark.parametrize("name", ["sinusoidal", "periodic"])
def test_waves_are_sines_and_cosines_feature_by_feature(name):
    embedding, x, out = embed(name)
    frequencies = embedding.frequencies.detach().expand(M, D, N_FREQUENCIES, 1)
    for m in range(M):
        for d in range(D):
            for j in range(N_FREQUENCIES):
                angle = frequencies[m, d, j, 0] * x[m, d]
                row = D + d * N_FREQUENCIES + j
                torch.testing.assert_close(out[m, row], angle.sin())
                torch.testing.assert_close(out[m, row + D * N_FREQUENCIES], angle.cos())


def test_sinusoidal_frequencies_are_octaves_and_not_learnt():
    embedding, *_ = embed("sinusoidal")
    expected = torch.tensor([math.pi / 4, math.pi / 2, math.pi, 2 * math.pi])
    torch.testing.assert_close(embedding.frequencies[:, 0], expected)
    assert not list(embedding.parameters())


def test_periodic_frequencies_are_learnt_and_differ_between_members():
    embedding, _, out = embed("periodic")
    out.sum().backward()
    assert embedding.frequencies.grad.abs().min() > 0
    assert not torch.equal(embedding.frequencies[0], embedding.frequencies[1])
