"""The training of deep ensembles: members side by side, and adversarial examples."""

import pytest
import torch

from sk_deltauq._methods.ensemble import Ensemble
from sk_deltauq._networks.heads import GaussianHead
from tests._helpers import assert_stacked_is_alone, make_spec


@pytest.mark.parametrize("epsilon", [0.0, 0.005])
@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("hold_out", [False, True])
def test_a_stack_equals_its_members_trained_separately(kind, hold_out, epsilon):
    settings = {"embedding": "periodic", "sizes": (8, 8)}
    assert_stacked_is_alone(Ensemble(epsilon), kind=kind, hold_out=hold_out, **settings)


def test_an_adversarial_step_is_its_definition_by_autograd():
    """x' = x + epsilon sign(d loss / d x), and the gradient of loss(x) + loss(x')."""
    x = torch.randn(1, 3, 6, generator=torch.Generator().manual_seed(1))
    target = (x[:, :1].clone(), torch.linspace(0.5, 1.5, 6)[None])
    step_size = torch.tensor([[0.1], [0.0], [0.3]])
    method = Ensemble(adversarial_epsilon=0.1)
    network = method.network(make_spec(3, 2, [0], embedding="sinusoidal", sizes=(8,)))
    network.register_buffer("adversarial_step", step_size)
    head = GaussianHead(1, noise="heteroscedastic", nll_beta=0.0, n_members=1)
    seen = []
    hook = network.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    found, outputs = method.step(network, head, ((x,), target))
    hook.remove()
    gradients = [p.grad.clone() for p in network.parameters()]

    leaf = x.clone().requires_grad_()
    clean = head(network(leaf), target)
    (slope,) = torch.autograd.grad(clean, leaf)
    adversarial = x + step_size * slope.sign()
    torch.testing.assert_close(seen[1], adversarial)
    assert torch.equal(seen[1][0, 1], x[0, 1]), "a step of zero leaves the feature alone"
    loss = head(network(x), target) + head(network(adversarial), target)
    torch.testing.assert_close(found, loss.detach())
    torch.testing.assert_close(outputs, network(x))
    expected = torch.autograd.grad(loss, list(network.parameters()))
    torch.testing.assert_close(gradients, list(expected))
    assert head(network(adversarial), target) > clean


def test_a_step_without_adversarial_examples_has_the_gradient_of_the_loss():
    x = torch.randn(1, 3, 6, generator=torch.Generator().manual_seed(1))
    target = (x[:, :1].clone(), torch.linspace(0.5, 1.5, 6)[None])
    network = Ensemble().network(make_spec(3, 1, [0]))
    network.register_buffer("adversarial_step", None)
    head = GaussianHead(1, noise=None, nll_beta=0.0, n_members=1)
    loss, _ = Ensemble().step(network, head, ((x,), target))
    gradients = [p.grad.clone() for p in network.parameters()]
    expected = head(network(x), target)
    torch.testing.assert_close(loss, expected.detach())
    expected = torch.autograd.grad(expected, list(network.parameters()))
    torch.testing.assert_close(gradients, list(expected))
