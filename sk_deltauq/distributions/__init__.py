"""Predictive distributions: equal-weight mixtures over the components of a model.

A component is an anchor, an ensemble member, a dropout mask or a draw of the weights. Arrays are
ordered ``(component, sample, output)`` or ``(component, sample, class)``. Sums over components are
computed in chunks of rows, which takes about 20 MB in addition to the arguments and the result.
"""

from sk_deltauq.distributions._categorical_mixture import CategoricalMixture
from sk_deltauq.distributions._normal_mixture import NormalMixture
from sk_deltauq.distributions._transformed import TransformedMixture

__all__ = ["CategoricalMixture", "NormalMixture", "TransformedMixture"]
