"""Build the wheel; check that it has the whole package and nothing else, and that it imports.

Usage: python tools/check_wheel.py
"""

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PIP = [sys.executable, "-m", "pip"]
IMPORT = "import sk_deltauq; print(sk_deltauq.__file__, sk_deltauq.__version__)"


def build(folder: Path) -> Path:
    """Return the path of a new wheel in `folder`."""
    command = [*PIP, "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, ROOT]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def check_contents(wheel: Path) -> int:
    """Return the number of files; exit with an error message if any is missing or foreign."""
    names = zipfile.ZipFile(wheel).namelist()
    top = {name.split("/")[0] for name in names}
    if {name for name in top if not name.endswith(".dist-info")} != {"sk_deltauq"}:
        sys.exit(f"The wheel should have the folder sk_deltauq only, but it has {sorted(top)}.")
    source = [*(ROOT / "sk_deltauq").rglob("*.py"), ROOT / "sk_deltauq" / "py.typed"]
    missing = {path.relative_to(ROOT).as_posix() for path in source} - set(names)
    if missing:
        sys.exit(f"The wheel lacks {sorted(missing)}.")
    if not any(name.endswith(".dist-info/licenses/LICENSE") for name in names):
        sys.exit("The wheel lacks the licence.")
    return len(names)


def check_import(wheel: Path, folder: Path) -> str:
    """Return path and version of the package, imported from the wheel and not from the source."""
    site = folder / "site"
    command = [*PIP, "install", "--quiet", "--no-deps", "--target", site, wheel]
    subprocess.run(command, check=True)
    path, version = subprocess.run(
        [sys.executable, "-c", IMPORT],
        cwd=folder,  # not the repository: its folder would be imported
        env=os.environ | {"PYTHONPATH": str(site)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    if not Path(path).is_relative_to(site):
        sys.exit(f"The package was imported from {path}, not from the wheel.")
    return version


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name).resolve()
        wheel = build(temporary)
        n_files = check_contents(wheel)
        version = check_import(wheel, temporary)
        print(f"{wheel.name}: {n_files} files, all in sk_deltauq; it imports, version {version}")
