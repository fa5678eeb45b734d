"""What a situation hands to the runner: training rows, keywords of `fit`, and test rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

N_TEST = 400
Z90 = 1.6448536269514722  # 95 % quantile of the standard normal distribution


@dataclass(frozen=True)
class Problem:
    """Rows of one situation and one seed."""

    X: Any  # an array or a data frame
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    fit: Mapping[str, Any] = field(default_factory=dict)  # keywords of `fit`
    # Width of the 90 % interval of the true distribution, for each test row
    ideal_width: np.ndarray | None = None
    # Test rows that the situation is about: a mask with the shape of `y_test`
    focus: np.ndarray | None = None
