"""The state of an optimisation, and the file that holds it."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sk_deltauq._storage.files import replace_file
from sk_deltauq.optimize._space import Space

# The seed of each random choice ends with its purpose.
SOBOL, FIT, SEARCH = range(3)

_FORMAT, _VERSION = "sk_deltauq.optimize", 1


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

        Raises
        ------
        ValueError
            If the point has another value already, and the function is not noisy.
        """
        waiting = self.pending[~space.find(x, self.pending)]
        state, same = replace(self, pending=waiting), np.flatnonzero(space.find(x, self.X))
        if noisy or not len(same):
            return replace(state, X=np.vstack([self.X, x]), y=np.append(self.y, y))
        known = self.y[same[0]]
        if np.isnan(known):  # evaluated again, after a failure
            values = self.y.copy()
            values[same[0]] = y
            return replace(state, y=values)
        if known != y:
            raise ValueError(
                f"the point {x.tolist()} has the value {known} already, and now the value {y}. If "
                "values have noise, use Optimizer(..., noisy=True); else correct one of them in "
                "your data. Nothing of this call was stored."
            )
        return state


def write_state(path: Path, state: State, settings: dict[str, Any]) -> None:
    """Replace the file by one with this state, completely or not at all."""
    content = {
        "format": _FORMAT,
        "version": _VERSION,
        "settings": settings,
        "seed": state.seed,
        "n_drawn": state.n_drawn,
        "X": state.X.tolist(),
        "y": [None if np.isnan(y) else y for y in state.y.tolist()],
        "pending": state.pending.tolist(),
    }
    replace_file(path, json.dumps(content, indent=1).encode())


def read_state(path: Path, space: Space, settings: dict[str, Any]) -> State:
    """Read the state from a file, and check that it belongs to these settings.

    Raises
    ------
    ValueError
        If the file is damaged or of another program or version, or if its settings differ.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["format"] != _FORMAT:
            raise ValueError(f"its format is {content['format']!r}")
        if content["version"] > _VERSION:
            raise ValueError(f"its version is {content['version']}; update sk_deltauq")
        stored = content["settings"]
        X, pending = (_read_points(content[name], space) for name in ("X", "pending"))
        y = np.array([np.nan if v is None else v for v in content["y"]], dtype=float)
        state = State(X, y, pending, int(content["seed"]), int(content["n_drawn"]))
        if len(X) != len(y):
            raise ValueError("it has another number of points than of values")
        differing = [name for name in settings if settings[name] != stored[name]]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise ValueError(
            f"{path} holds no state of an optimisation with these bounds: {error!r}. It was not "
            "changed. Give another path, or delete the file to start afresh."
        ) from error
    if differing:
        listed = "; ".join(f"{k} is {stored[k]!r} there, {settings[k]!r} here" for k in differing)
        raise ValueError(
            f"{path} is of an optimisation with other settings: {listed}. It was not changed. "
            "Give the same settings, or another path."
        )
    return state


def _read_points(values: Any, space: Space) -> np.ndarray:
    """Return checked points `(point, parameter)`, which may be none."""
    return space.check_points(values) if values else np.empty((0, space.n_parameters))
