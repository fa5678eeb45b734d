"""The file that holds the state of an optimisation."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from sk_deltauq._storage.files import replace_file
from sk_deltauq.optimize._space import Space
from sk_deltauq.optimize._state import State

_FORMAT, _VERSION = "sk_deltauq.optimize", 1


@dataclass
class StateFile:
    """A file for the state of one `Optimizer`, with the settings that the state belongs to."""

    path: Path
    settings: dict[str, Any]  # as JSON has them
    # What this object read or wrote last; None before
    _content: bytes | None = field(default=None, init=False, repr=False)

    def read(self, space: Space) -> State | None:
        """Read the state, and check that it belongs to these settings; None without a file.

        Raises
        ------
        ValueError
            If the file is damaged or of another program or version, or if its settings differ.
        """
        if not self.path.exists():
            return None
        data = self.path.read_bytes()
        try:
            content = json.loads(data.decode())
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}")
            if content["version"] > _VERSION:
                raise ValueError(f"its version is {content['version']}; update sk_deltauq")
            differing = _list_differences(content["settings"], self.settings)
            state = None if differing else _make_state(content, space)
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise ValueError(
                f"{self.path} holds no complete state of an optimisation: {error!r}. It was not "
                "changed. Give another path, or restore the file."
            ) from error
        if state is None:
            raise ValueError(
                f"{self.path} is of an optimisation with other settings: {'; '.join(differing)}. "
                "It was not changed. Give the same settings, or another path. To keep the points, "
                'tell the entries "X" and "y" of the file to a new Optimizer.'
            )
        self._content = data
        return state

    def write(self, state: State) -> None:
        """Replace the file by one with this state, completely or not at all.

        Raises
        ------
        RuntimeError
            If another `Optimizer` wrote to the file. Its values would be lost.
        """
        if self.path.exists() and self.path.read_bytes() != self._content:
            raise RuntimeError(
                f"{self.path} was changed by another Optimizer or process, so it was not "
                "overwritten. Use one Optimizer for each file. Values that you told are kept in "
                "X_ and y_: tell them to an Optimizer that reads the file now."
            )
        content = {
            "format": _FORMAT,
            "version": _VERSION,
            "settings": self.settings,
            "seed": state.seed,
            "n_drawn": state.n_drawn,
            "X": state.X.tolist(),
            "y": [None if np.isnan(y) else y for y in state.y.tolist()],
            "pending": state.pending.tolist(),
        }
        data = json.dumps(content, indent=1).encode()
        replace_file(self.path, data)
        self._content = data


def _make_state(content: dict[str, Any], space: Space) -> State:
    X, pending = (_read_points(content[name], space) for name in ("X", "pending"))
    y = np.array([np.nan if v is None else v for v in content["y"]], dtype=float)
    if len(X) != len(y):
        raise ValueError("it has another number of points than of values")
    return State(X, y, pending, int(content["seed"]), int(content["n_drawn"]))


def _read_points(values: Any, space: Space) -> np.ndarray:
    """Return checked points `(point, parameter)`, which may be none."""
    return space.check_points(values) if values else np.empty((0, space.n_parameters))


def _is_estimator(setting: Any) -> bool:
    """Tell whether a setting describes an estimator; `net_params` is another dictionary."""
    return isinstance(setting, dict) and "class" in setting


def _list_differences(stored: dict[str, Any], now: dict[str, Any], of: str = "") -> list[str]:
    """Name the settings that differ.

    A parameter of a surrogate that the file lacks was added to the package later.
    """
    found = []
    for name, value in now.items():
        if of and name not in stored:
            continue
        before = stored[name]
        if _is_estimator(value) and _is_estimator(before):
            if value["class"] == before["class"]:
                found += _list_differences(before, value, of=f"{name}.")
                continue
            before, value = before["class"], value["class"]
        if before != value:
            found.append(f"{of}{name} is {before!r} there, {value!r} here")
    return found
