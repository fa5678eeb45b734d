"""Public names that are imported when they are first used (PEP 562).

torch, scikit-learn and skorch take seconds to import, and a script may use one name of many. A
package lists its names twice: in imports under `TYPE_CHECKING`, which type checkers and editors
read, and for `import_on_use`. A test compares the lists.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def import_on_use(
    package: str, names: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    names : mapping of str to sequence of str
        The names to import from each module, both relative to the package. The module "" is the
        package itself: its names are submodules.

    Returns
    -------
    getattr, dir : callable
        The functions of PEP 562. A name becomes an ordinary attribute when it is first used.
    """
    origins = {name: module for module, found in names.items() for name in found}

    def import_name(name: str) -> Any:
        if name not in origins:
            raise AttributeError(f"module {package!r} has no attribute {name!r}", name=name)
        module = origins[name]
        if module == "":
            value: Any = importlib.import_module(f"{package}.{name}")
        else:
            value = getattr(importlib.import_module(f"{package}.{module}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *origins})

    return import_name, list_names
