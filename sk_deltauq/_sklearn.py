"""The one door to names of scikit-learn that are underscored or have moved between versions."""

from __future__ import annotations

from sklearn.metrics._scorer import _BaseScorer as BaseScorer
from sklearn.utils._metadata_requests import MetadataRequest, MethodMetadataRequest
from sklearn.utils._param_validation import HasMethods, Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight as check_sample_weight

__all__ = [
    "BaseScorer",
    "HasMethods",
    "Interval",
    "MetadataRequest",
    "MethodMetadataRequest",
    "Options",
    "StrOptions",
    "check_sample_weight",
]
