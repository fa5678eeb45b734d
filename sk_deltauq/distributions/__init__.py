"""Predictive distributions: equal-weight mixtures over the components of a model.

A component is an anchor, an ensemble member, a dropout mask or a draw of the weights. Arrays are
ordered ``(component, sample, output)`` or ``(component, sample, class)``. Sums over components are
computed in chunks of rows, which takes about 20 MB in addition to the arguments and the result.
"""

from typing import TYPE_CHECKING

from sk_deltauq._lazy import import_on_use

if TYPE_CHECKING:
    from sk_deltauq.distributions._categorical_mixture import CategoricalMixture
    from sk_deltauq.distributions._normal_mixture import NormalMixture
    from sk_deltauq.distributions._transformed import TransformedMixture
else:
    __getattr__, __dir__ = import_on_use(
        __name__,
        {
            "_categorical_mixture": ("CategoricalMixture",),
            "_normal_mixture": ("NormalMixture",),
            "_transformed": ("TransformedMixture",),
        },
    )

__all__ = ["CategoricalMixture", "NormalMixture", "TransformedMixture"]
