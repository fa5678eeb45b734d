r"""
Why anchors work: the spectrum of the tangent kernel
====================================================

Delta-UQ moves the origin of the inputs to a training row, the anchor :math:`c`. Why should another
origin change the function that a network learns? This example draws figure 1 of the paper
[Thiagarajan2022]_.

A wide network trains like a kernel method. Its kernel is the neural tangent kernel,
:math:`k(x, x') = \nabla_w f(x) \cdot \nabla_w f(x')`: the scalar product of the gradients of two
outputs with respect to all weights. The Fourier spectrum of the kernel says which frequencies the
network learns easily. A flatter spectrum means more fine structure.
"""

# %%
# Three ways to feed one network
# ------------------------------
# No network is trained here: the kernel needs the initial weights only. We compare
#
# - a plain network, with the input :math:`x`;
# - an anchor ensemble: all members have the same initial weights, and each has its own anchor. The
#   input is :math:`x - c`;
# - Delta-UQ: one network for all anchors. The input is :math:`[c, x - c]`.
#
# The kernel is computed with ``torch.func``, and is an average over eight random initial weights.

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn
from torch.func import functional_call, grad, vmap

x = torch.linspace(-2, 2, 65)[:-1, None]
anchors = torch.tensor([0.0, 0.6, 1.2, 1.8])
inputs_of = {
    "plain network": lambda c: x,
    "anchor ensemble": lambda c: x - c,
    "Delta-UQ": lambda c: torch.cat([c.expand_as(x), x - c], dim=1),
}


def compute_kernel(inputs, n_draws=8):
    """Compute the tangent kernel between the middle row and every row."""
    kernel = np.zeros(len(inputs))
    for seed in range(n_draws):
        torch.manual_seed(seed)  # the same weights for every anchor
        net = nn.Sequential(nn.Linear(inputs.shape[1], 128), nn.ReLU())
        net.extend([nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 1)])
        weights = {name: value.detach() for name, value in net.named_parameters()}
        gradient = grad(lambda w, row, net=net: functional_call(net, w, (row,)).squeeze())
        parts = vmap(gradient, in_dims=(None, 0))(weights, inputs)
        flat = torch.cat([part.flatten(1) for part in parts.values()], dim=1)  # (row, weight)
        kernel += (flat @ flat[len(inputs) // 2]).numpy() / n_draws
    return kernel


def compute_spectrum(kernel):
    """Compute the share of each frequency; the window hides the ends of the domain."""
    power = np.abs(np.fft.rfft(np.hanning(len(kernel)) * kernel)) ** 2
    return power / power.sum()


# %%
# The second row of the picture has sines and cosines of the inputs as additional features, which
# many networks use to learn fine structure (``embedding`` in this package).


def add_sines(inputs):
    angles = torch.cat([2**k * torch.pi * inputs for k in range(3)], dim=1)
    return torch.cat([inputs, angles.sin(), angles.cos()], dim=1)


# %%
# The picture
# -----------

fig, axes = plt.subplots(2, 3, figsize=(9, 5), sharex=True, sharey=True, layout="constrained")
for row, embed in zip(axes, [None, add_sines], strict=True):
    for ax, (name, make_inputs) in zip(row, inputs_of.items(), strict=True):
        name += ", with sines" if embed else ""
        spectra = []
        for c in anchors[:1] if name.startswith("plain") else anchors:
            inputs = make_inputs(c)
            spectra.append(compute_spectrum(compute_kernel(embed(inputs) if embed else inputs)))
            ax.semilogy(
                spectra[-1][:11], ".-", color=plt.cm.plasma(float(c) / 2), label=f"{c:.1f}"
            )
        ax.set_title(name, fontsize="medium")
        if len(spectra) > 1:
            ax.legend(title="anchor", fontsize="small")
            ratio = np.exp(np.ptp(np.log(spectra), axis=0)[2:11].mean())
            print(f"{name}: the anchors differ by a factor of {ratio:.1f}")
fig.supxlabel("frequency (periods per domain)")
fig.supylabel("share of the power")
fig.suptitle("Spectra of the tangent kernel: each anchor has its own")
plt.show()

# %%
# What to conclude
# ----------------
# - Another anchor gives another kernel, although the weights are the same. The printed factors
#   compare the largest with the smallest share, averaged over the frequencies 2 to 10.
# - Delta-UQ has a different spectrum for each anchor too, with a single network.
# - With sines, an anchor far from the middle has less power at high frequencies. Its kernel is
#   smoother.
# - So the predictions of one network for several anchors come from several kernels. Where there
#   are training rows, all of them fit the targets. Elsewhere they differ, and the spread of the
#   predictions is the epistemic uncertainty.
# - The low frequencies, which carry almost all power, hardly differ. One network is less diverse
#   than an ensemble of independent networks. This is a reason for ``n_members=5``.
