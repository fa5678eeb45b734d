"""How the cost grows, from the figures that `python -m benchmarks_uci speed` left."""

import json
from pathlib import Path

import matplotlib.pyplot as plt

from benchmarks_uci.speed.curves import Curve, plot

root = next(
    parent for parent in Path.cwd().resolve().parents if (parent / "pyproject.toml").exists()
)
text = (root / "benchmarks_uci" / "results" / "speed-cpu.json").read_text(encoding="utf-8")
curves = [Curve(**entry) for entry in json.loads(text)["curves"]]
plot(curves, plt.figure(figsize=(12.4, 2.8), layout="constrained"))
