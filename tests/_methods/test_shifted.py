"""Networks on shifted rows, and the training of anchor ensembles."""

import pytest
import torch
from torch import nn

from sk_deltauq._methods.shifted import Shifted
from sk_deltauq._networks.mlp import MLP, PlainNetwork
from sk_deltauq._networks.user_modules import UserModules
from tests._helpers import assert_stacked_is_alone, make_spec

M, D, P, N = 3, 2, 4, 5  # members, features, outputs, samples
ANCHORS = torch.tensor([[0.5, -1.0], [-0.3, 0.2], [1.0, 1.0]])


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("hold_out", [False, True])
def test_a_stack_equals_its_members_trained_separately(kind, hold_out):
    def set_anchors(network, members):
        network.set_anchors(ANCHORS[members])

    settings = {"embedding": "periodic", "sizes": (8, 8), "set_members": set_anchors}
    assert_stacked_is_alone(Shifted(), kind=kind, hold_out=hold_out, **settings)


@pytest.mark.parametrize("module", [None, nn.Linear])
@pytest.mark.parametrize("embedding", [None, "periodic"])
def test_each_member_sees_rows_that_are_shifted_by_its_anchor(module, embedding):
    spec, again = (make_spec(D, P, range(M), embedding=embedding) for _ in range(2))
    shifted = Shifted(module).network(spec)
    plain = PlainNetwork(MLP(again) if module is None else UserModules(again, module))
    shifted.set_anchors(ANCHORS)
    x = torch.randn(M, D, N, generator=torch.Generator().manual_seed(0))
    expected = plain(torch.stack([x[m] - ANCHORS[m][:, None] for m in range(M)]))
    assert torch.equal(shifted(x), expected)
    assert shifted.n_components == M
    assert torch.equal(shifted.components(x), expected[:, :, None])
    together = plain(torch.stack([x[0] - ANCHORS[m][:, None] for m in range(M)]))
    assert torch.equal(shifted.components(x[0], limit=1)[:, :, 0], together)
