"""The import of BoTorch, which is optional and slow."""

from __future__ import annotations

import importlib.util


def require_botorch(caller: str) -> None:
    """Check that BoTorch is installed, without importing it.

    Raises
    ------
    ImportError
        If BoTorch is not installed. The message names the caller and the extra to install.
    """
    try:
        found = importlib.util.find_spec("botorch") is not None
    except ValueError:  # a module without a spec, such as None in `sys.modules`
        found = False
    if not found:
        raise ImportError(
            f"{caller} needs BoTorch, which is not installed. Install it with: "
            "pip install 'sk-deltauq[optimize]'"
        )
