"""Sequential optimisation of expensive functions, and fitted regressors as BoTorch models.

It needs BoTorch: ``pip install 'sk-deltauq[optimize]'``. BoTorch is imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sk_deltauq.optimize._minimize import minimize
from sk_deltauq.optimize._optimizer import Optimizer
from sk_deltauq.optimize._surrogate import surrogate

if TYPE_CHECKING:
    from sk_deltauq.optimize._botorch_model import BoTorchModel

__all__ = ["BoTorchModel", "Optimizer", "minimize", "surrogate"]


def __getattr__(name: str) -> Any:
    """Import `BoTorchModel` on first use: its base class is a class of BoTorch."""
    if name != "BoTorchModel":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sk_deltauq.optimize._dependencies import require_botorch

    require_botorch("BoTorchModel")
    from sk_deltauq.optimize._botorch_model import BoTorchModel

    return BoTorchModel
