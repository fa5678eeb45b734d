"""Python values as JSON and arrays, and back.

JSON has no tuples, arrays or objects. Such a value becomes a dict with one key that names the
kind: `{"tuple": [1, 2]}`, `{"array": "0"}`. A dict becomes `{"dict": {...}}`, so nothing is
ambiguous. Objects stand in a list of their own and are named by number, so an object that is in
two places stays one object.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np

from sk_deltauq._storage.classes import find_class, find_name

# Kinds of NumPy types that the file format has: bool, int, unsigned int, float.
_NATIVE_KINDS = "biuf"

_BUILTINS = {cls.__name__: cls for cls in (bool, float, int, object, str)}


class NotStorable(ValueError):
    """A value has no place in a file."""


class Encoder:
    """Encodes values, and collects their arrays and objects.

    `given` maps the `id` of an object to the parameter with which the user hands it back.
    """

    def __init__(self, given: Mapping[int, str]):
        self.arrays: dict[str, np.ndarray] = {}
        self.objects: list[Any] = []
        self._given = given
        self._names: dict[int, Any] = {}  # by id, of arrays and objects that have been met
        self._kept: list[Any] = []  # so that no id is used twice
        self._path: list[str] = []

    def encode(self, value: Any) -> Any:
        """Return JSON for a value.

        Raises
        ------
        NotStorable
            If the value, or a part of it, cannot be stored. The message names the part.
        """
        if id(value) in self._given:
            return {"given": self._given[id(value)]}
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if kind is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if kind is list:
            return self._encode_items(value)
        if kind is tuple:
            return {"tuple": self._encode_items(value)}
        if kind is dict:
            return self._encode_dict(value)
        if isinstance(value, np.ndarray) and kind in (np.ndarray, np.memmap):
            return self._encode_array(value)
        if isinstance(value, np.generic):
            return {"scalar": [value.dtype.str, value.tobytes().hex()]}
        if isinstance(value, np.random.RandomState):
            return self._encode_random_state(value)
        if (name := _name_known(value)) is not None:
            return name
        return {"object": self._encode_object(value)}

    def _encode_items(self, values) -> list[Any]:
        return [self._encode_part(value, f"[{i}]") for i, value in enumerate(values)]

    def _encode_part(self, value, step: str):
        self._path.append(step)
        encoded = self.encode(value)
        self._path.pop()
        return encoded

    def _encode_dict(self, value: dict):
        if all(type(key) is str for key in value):
            return {"dict": {k: self._encode_part(v, f"[{k!r}]") for k, v in value.items()}}
        return {
            "pairs": [[self.encode(k), self._encode_part(v, f"[{k!r}]")] for k, v in value.items()]
        }

    def _encode_array(self, value: np.ndarray):
        if id(value) not in self._names:
            self._kept.append(value)
            self._names[id(value)] = self._describe_array(value)
        return self._names[id(value)]

    def _describe_array(self, value: np.ndarray):
        if value.dtype.hasobject:
            items = self._encode_items(value.ravel().tolist())
            return {"objects": [list(value.shape), items]}
        number = str(len(self.arrays))
        if value.dtype.kind in _NATIVE_KINDS and value.dtype.isnative and value.itemsize <= 8:
            # The order of the axes in memory is kept: other orders round differently.
            axes = np.argsort([-step for step in value.strides], kind="stable").tolist()
            self.arrays[number] = np.ascontiguousarray(value.transpose(axes)).reshape(
                [value.shape[axis] for axis in axes]
            )
            return {"array": number} if axes == sorted(axes) else {"array": number, "axes": axes}
        data = np.frombuffer(value.tobytes(), dtype=np.uint8)
        self.arrays[number] = data
        return {"bytes": [number, value.dtype.str, list(value.shape)]}

    def _encode_random_state(self, value: np.random.RandomState):
        state: Any = value.get_state(legacy=False)
        if state["bit_generator"] != "MT19937":
            raise self._refuse(value)
        return {"random_state": self.encode(state)}

    def _encode_object(self, value) -> int:
        if id(value) in self._names:
            return self._names[id(value)]
        name = find_name(type(value))
        if name is None:
            raise self._refuse(value)
        number = len(self.objects)
        self.objects.append(None)  # first, because the object may refer to itself
        self._kept.append(value)
        self._names[id(value)] = number
        state = {k: self._encode_part(v, f".{k}") for k, v in (value.__getstate__() or {}).items()}
        self.objects[number] = [name, state]
        return number

    def _refuse(self, value) -> NotStorable:
        place = "".join(self._path).removeprefix(".")
        what = repr(value) if isinstance(value, type) else f"an object of {type(value)}"
        return NotStorable(f"{place} is {what}")


def _name_known(value) -> Any:
    """Return JSON for functions and types that have a name in NumPy, SciPy, torch or Python."""
    if isinstance(value, np.ufunc):
        for module in ("numpy", "scipy.special"):
            if getattr(import_module(module), value.__name__, None) is value:
                return {"ufunc": [module, value.__name__]}
    elif isinstance(value, np.dtype) and not value.hasobject and value.names is None:
        return {"dtype": value.str}
    elif isinstance(value, type):
        if _BUILTINS.get(value.__name__) is value:
            return {"type": value.__name__}
        if issubclass(value, np.generic):
            return {"scalar_type": value.__name__}
        if getattr(import_module("torch.optim"), value.__name__, None) is value:
            return {"optimizer": value.__name__}
    return None


class Decoder:
    """Makes values from JSON, arrays and objects; the reverse of `Encoder`.

    `given` has the objects of the user by the name of the parameter.
    """

    def __init__(self, objects: list[Any], arrays: Mapping[str, np.ndarray], given: Mapping):
        self._objects, self._arrays, self._given = objects, arrays, given
        self._made: dict[int, Any] = {}

    def decode(self, item: Any) -> Any:
        """Return the value.

        Raises
        ------
        ValueError
            If this version does not know the kind of a value, or an object of the user is missing.
        """
        if isinstance(item, list):
            return [self.decode(i) for i in item]
        if not isinstance(item, dict):
            return item
        kind = next(iter(item))
        if kind == "array":
            return self._make_array(**item)
        if kind not in self._KINDS:
            raise ValueError(f"The file holds a value of an unknown kind, {kind!r}.")
        return self._KINDS[kind](self, item[kind])

    def _make_array(self, array: str, axes=None):
        stored = self._arrays[array]
        return stored if axes is None else stored.transpose(np.argsort(axes))

    def _make_objects(self, item):
        shape, items = item
        values = np.empty(len(items), dtype=object)
        for i, part in enumerate(items):
            values[i] = self.decode(part)
        return values.reshape(shape)

    def _make_from_bytes(self, item):
        number, dtype, shape = item
        return self._arrays[number].view(np.dtype(dtype)).reshape(shape)

    def _make_random_state(self, item):
        made = np.random.RandomState()
        made.set_state(self.decode(item))
        return made

    def _make_object(self, number: int):
        if number not in self._made:
            name, state = self._objects[number]
            cls = find_class(name)
            made = self._made[number] = cls.__new__(cls)
            state = {key: self.decode(value) for key, value in state.items()}
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                vars(made).update(state)
        return self._made[number]

    def _make_ufunc(self, item):
        module, name = item
        if module in ("numpy", "scipy.special"):
            found = getattr(import_module(module), name, None)
            if isinstance(found, np.ufunc):
                return found
        raise ValueError(f"The file names a function that is not known here, {module}.{name}.")

    def _make_scalar_type(self, name: str):
        found = getattr(np, name, None)
        if isinstance(found, type) and issubclass(found, np.generic):
            return found
        raise ValueError(f"The file names a type that NumPy does not have, {name!r}.")

    def _find_optimizer(self, name: str):
        optim = import_module("torch.optim")
        found = getattr(optim, name, None)
        if isinstance(found, type) and issubclass(found, optim.Optimizer):
            return found
        raise ValueError(f"The file names an optimizer that torch.optim does not have, {name!r}.")

    def _find_given(self, name: str):
        return self._given[name]

    _KINDS = {
        "bytes": _make_from_bytes,
        "dict": lambda self, item: {key: self.decode(v) for key, v in item.items()},
        "dtype": lambda self, item: np.dtype(item),
        "float": lambda self, item: float(item),
        "given": _find_given,
        "object": _make_object,
        "objects": _make_objects,
        "optimizer": _find_optimizer,
        "pairs": lambda self, item: {self.decode(k): self.decode(v) for k, v in item},
        "random_state": _make_random_state,
        "scalar": lambda self, item: np.frombuffer(bytes.fromhex(item[1]), dtype=item[0])[0],
        "scalar_type": _make_scalar_type,
        "tuple": lambda self, item: tuple(self.decode(i) for i in item),
        "type": lambda self, item: _BUILTINS[item],
        "ufunc": _make_ufunc,
    }
