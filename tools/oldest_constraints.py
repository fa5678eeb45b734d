"""Print constraints.txt with the lower bounds of pyproject.toml in place of the pinned versions.

torch keeps its pinned version: on Linux, pip would install gigabytes of CUDA for an older one.

Usage: python tools/oldest_constraints.py
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lower_bounds() -> dict[str, str]:
    """Return the lower bound of each dependency, and of pandas, which the tests need."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    dependencies = list(project["dependencies"])
    dependencies += [d for d in project["optional-dependencies"]["benchmark"] if "pandas" in d]
    bounds = {}
    for dependency in dependencies:
        match = re.fullmatch(r"([\w-]+)>=([\d.]+)", dependency)
        if match is None:
            raise ValueError(f"Write this dependency as name>=version: {dependency}")
        bounds[match[1]] = match[2]
    del bounds["torch"]
    return bounds


def constraints() -> list[str]:
    """Return the lines of the constraints file."""
    bounds = lower_bounds()
    pinned = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    oldest = [f"{name}=={bound}.*" for name, bound in bounds.items()]
    return oldest + [line for line in pinned if line.split("==")[0] not in bounds]


if __name__ == "__main__":
    print(*constraints(), sep="\n")
