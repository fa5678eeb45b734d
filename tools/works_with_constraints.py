"""Print constraints.txt with the versions of constraints-works-with.txt added or in their place.

pip refuses two constraints files that name different versions of one package.

Usage: python tools/works_with_constraints.py
"""

from pathlib import Path

ROOT = Path(__file__).parents[1]


def read_pins(path: Path) -> dict[str, str]:
    """Return the pinned version of each package of a constraints file."""
    lines = path.read_text("utf-8").splitlines()
    pins = [line.partition("==") for line in lines if line and not line.startswith("#")]
    return {name: version for name, _, version in pins}


def constraints() -> list[str]:
    """Return the lines of the merged constraints file."""
    files = ("constraints.txt", "constraints-works-with.txt")
    first, second = (read_pins(ROOT / name) for name in files)
    return [f"{name}=={version}" for name, version in {**first, **second}.items()]


if __name__ == "__main__":
    print(*constraints(), sep="\n")
