"""The state of an optimisation: evaluated points, their values, and pending points."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sk_deltauq.optimize._space import EQUAL, Space

# The seed of each random choice ends with its purpose.
SOBOL, FIT, SEARCH = range(3)


@dataclass(frozen=True)
class State:
    """All that proposals depend on, besides the settings. A change makes a new state."""

    X: np.ndarray  # (point, parameter), evaluated points
    y: np.ndarray  # (point,), NaN for failed evaluations
    pending: np.ndarray  # (point, parameter), asked for and not evaluated
    seed: int
    n_drawn: int = 0  # points of the Sobol sequence that were used

    @property
    def taken(self) -> np.ndarray:
        """All points that must not be proposed again."""
        return np.concatenate([self.X, self.pending])

    def draw_seed(self, *purpose: int) -> int:
        """Return a seed that depends on the seed of the optimisation and the number of values."""
        rng = np.random.default_rng([self.seed, len(self.y), *purpose])
        return int(rng.integers(2**31 - 1))

    def add_pending(self, x: np.ndarray, n_drawn: int | None = None) -> State:
        """Add a point that is asked for."""
        n_drawn = self.n_drawn if n_drawn is None else n_drawn
        return replace(self, pending=np.vstack([self.pending, x]), n_drawn=n_drawn)

    def add_value(self, x: np.ndarray, y: float, space: Space, *, noisy: bool) -> State:
        """Add an evaluated point, which is then not pending.

        A value replaces the failure of the same point. NaN replaces its value, unless the
        function is noisy.

        Raises
        ------
        ValueError
            If the point has another value already, and the function is not noisy.
        """
        waiting = self.pending[~space.find(x, self.pending)]
        state = replace(self, pending=waiting)
        known = np.flatnonzero(space.find(x, self.X, within=EQUAL))
        if noisy:
            known = known[np.isnan(self.y[known])]
        if not len(known):
            return replace(state, X=np.vstack([self.X, x]), y=np.append(self.y, y))
        before = float(self.y[known[0]])
        if before != y and not (np.isnan(before) or np.isnan(y)):
            raise ValueError(
                f"the point {x.tolist()} has the value {before} already, and now the value {y}. "
                "If values have noise, use Optimizer(..., noisy=True). To correct a value, tell "
                "NaN for the point first. Nothing of this call was stored."
            )
        values = self.y.copy()
        values[known[0]] = y
        return replace(state, y=values)

    def list_fit_rows(self, space: Space) -> np.ndarray:
        """Return which rows to fit: not the failures of points that also have a value."""
        failed = np.isnan(self.y)
        valid = self.X[~failed]
        return np.array(
            [
                not (is_failed and space.find(x, valid, within=EQUAL).any())
                for x, is_failed in zip(self.X, failed, strict=True)
            ],
            dtype=bool,
        )
