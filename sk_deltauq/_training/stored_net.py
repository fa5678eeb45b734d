"""A trained net as plain values and arrays, for pickle and for files, and back.

A network is made again by its method and its `NetworkSpec`, then the stored values replace the
initial weights. So nothing of torch or skorch is stored, and a user's module is made by the
user's own factory. The optimizer waits until training continues.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from skorch.exceptions import DeviceWarning
from torch import nn

from sk_deltauq._host import plain_torch
from sk_deltauq._networks.heads import CategoricalHead, GaussianHead
from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._training.arrays import to_arrays, to_tensors
from sk_deltauq._training.method import Method
from sk_deltauq._training.net import StackedNet, make_net
from sk_deltauq._training.settings import TrainingSettings

_HEADS: dict[str, Any] = {"categorical": CategoricalHead, "gaussian": GaussianHead}


def describe_net(net: StackedNet) -> dict[str, Any]:
    """Return all that prediction and further training need, without objects of torch."""
    head = net.criterion_
    (kind,) = (kind for kind, cls in _HEADS.items() if type(head) is cls)
    optimizer = net._optimizer_state or to_arrays(net.optimizer_.state_dict())
    return {
        "head": kind,
        "head_arguments": head.arguments,
        "head_values": to_arrays(dict(head.state_dict())),
        "network_values": describe_network(net.module_),
        "optimizer": optimizer,
        "batch_size": net.batch_size,
        "history": [_keep_plain(record) for record in net.history],
    }


def rebuild_net(
    state: Mapping[str, Any], method: Method, spec: NetworkSpec, settings: TrainingSettings
) -> StackedNet:
    """Make the net that `describe_net` described.

    Raises
    ------
    ValueError
        If the user's module does not have the values that were stored.
    """
    settings = replace(settings, device=_find_device(settings.device))
    with plain_torch(gradients=True):
        network = rebuild_network(state["network_values"], method, spec)
        head = _HEADS[state["head"]](**state["head_arguments"], n_members=len(spec.members))
        _set_values(head, state["head_values"])
        optimizer = state["optimizer"]
        net = make_net(network, head, settings, state["batch_size"], optimizer_state=optimizer)
    net.history.extend({**record, "batches": []} for record in state["history"])
    net.module_.eval()
    return net


def describe_network(network: Network) -> dict[str, np.ndarray]:
    """Return the weights and the buffers."""
    return to_arrays(dict(network.state_dict()))


def rebuild_network(
    values: Mapping[str, np.ndarray], method: Method, spec: NetworkSpec
) -> Network:
    """Make the network that `describe_network` described."""
    # The generators draw initial weights that the stored values replace.
    spec = replace(spec, generators=[torch.Generator() for _ in spec.members])
    with plain_torch(gradients=True):
        network = method.network(spec)
        _set_values(network, values)
        method.finish(network)
    return network


def _set_values(module: nn.Module, values: Mapping[str, np.ndarray]) -> None:
    """Set parameters and buffers; what a method draws becomes a buffer of the network."""
    tensors = to_tensors(dict(values))
    for name in tensors.keys() - module.state_dict().keys():
        if "." not in name:
            module.register_buffer(name, tensors[name])
    try:
        module.load_state_dict(tensors)
    except RuntimeError as error:
        raise ValueError(
            "The stored weights do not fit the network. With a module of your own, pass the "
            f"module of the fit: {error}"
        ) from error


def _keep_plain(record: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the numbers of one epoch; callbacks may have recorded other things."""
    return {key: v for key, v in record.items() if isinstance(v, bool | int | float | str)}


def _find_device(device: str) -> str:
    """Return the device or, where there is no GPU, the CPU."""
    if torch.device(device).type != "cuda" or torch.cuda.is_available():
        return device
    warnings.warn(
        f"The model was fitted with device={device!r}, which is not available. It is on the CPU.",
        DeviceWarning,
        stacklevel=2,
    )
    return "cpu"
