"""Where a run may look for its data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Sources:
    """Where to look, in the order of `load`.

    Attributes
    ----------
    data_dir : Path, default=None
        A folder that must hold every set asked for: nothing else is then looked at.
    cache_dir : Path, default=None
        OpenML's cache; None is the one that openml itself would use.
    offline : bool, default=False
        Whether to leave the network alone.
    timeout : float, default=20.0
        Seconds that a server may be silent.
    """

    data_dir: Path | None = None
    cache_dir: Path | None = None
    offline: bool = False
    timeout: float = 20.0


ANYWHERE = Sources()
