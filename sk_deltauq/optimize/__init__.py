"""Sequential optimisation of expensive functions, and fitted regressors as BoTorch models.

It needs BoTorch: ``pip install 'sk-deltauq[optimize]'``. BoTorch is imported on first use.
"""

from typing import TYPE_CHECKING

from sk_deltauq._lazy import import_on_use

if TYPE_CHECKING:
    from sk_deltauq.optimize._botorch_model import BoTorchModel
    from sk_deltauq.optimize._minimize import minimize
    from sk_deltauq.optimize._optimizer import Optimizer
    from sk_deltauq.optimize._surrogate import surrogate
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "_botorch_model": ("BoTorchModel",),
            "_minimize": ("minimize",),
            "_optimizer": ("Optimizer",),
            "_surrogate": ("surrogate",),
        },
    )

__all__ = ["BoTorchModel", "Optimizer", "minimize", "surrogate"]
