"""What a fit of networks leaves behind: all that prediction, storage and the next fit need."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from sk_deltauq._networks.mlp import Network, NetworkSpec
from sk_deltauq._predictor import NetworkComponents, Predictor
from sk_deltauq._training.method import Method
from sk_deltauq._training.net import StackedNet
from sk_deltauq._training.settings import TrainingSettings
from sk_deltauq._training.stored_net import (
    describe_net,
    describe_network,
    rebuild_net,
    rebuild_network,
)


@dataclass(frozen=True)
class TrainedNet:
    """What a fit leaves behind, and what the next one may continue."""

    net: StackedNet
    method: Method
    kept: dict[str, Any]  # what the method drew, by the name of the fitted attribute
    seed: int
    n_calls: int  # of `fit` and `partial_fit`
    fixed: dict[str, Any]  # parameters that cannot change while training continues
    spec: NetworkSpec  # without the generators of the initial weights
    settings: TrainingSettings
    refined: Network | None = None  # networks that trained on, for the predicted means
    held_out: str | None = None  # which rows the networks held out, see `identify_hold_out`

    def __getstate__(self) -> dict[str, Any]:
        state = {f.name: getattr(self, f.name) for f in fields(self)}
        return {
            **state,
            "spec": replace(self.spec, members=list(range(self.net.module_.core.n_members))),
            "settings": replace(self.settings, net_params={}),  # `fixed` has them
            "net": describe_net(self.net),
            "refined": self.refined and describe_network(self.refined),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        net_params = dict(state["fixed"].get("net_params") or {})
        settings = replace(state["settings"], net_params=net_params)
        method, spec = state["method"], state["spec"]
        net, refined = rebuild_net(state["net"], method, spec, settings), state.get("refined")
        if refined is not None:
            refined = rebuild_network(refined, method, spec).eval().to(net.device)
        vars(self).update(state, settings=settings, net=net, refined=refined)

    def predictor(self, **scales) -> Predictor:
        """Return what prediction needs; `scales` are the scalers and the calibration."""
        network, head = self.net.module_, self.net.criterion_
        return Predictor(
            module=NetworkComponents(network, head, self.refined),
            n_components=network.n_components,
            width=network.core.width,
            # Not the parameter `device`: skorch moves a model from a GPU to the CPU if it is
            # unpickled on a machine without GPU.
            device=self.net.device,
            ddof=self.method.ddof,
            inflation=self.kept.get("_inflation_"),
            **scales,
        )
