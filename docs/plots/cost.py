"""Plot how the cost grows, from the results of `python -m benchmarks_uci speed`."""

import json

import matplotlib.pyplot as plt
from tables import RESULTS  # beside conf.py, which puts its folder on the path

from benchmarks_uci.speed.curves import Curve, plot

text = (RESULTS / "speed-cpu.json").read_text(encoding="utf-8")
curves = [Curve(**entry) for entry in json.loads(text)["curves"]]
plot(curves, plt.figure(figsize=(12.4, 2.8), layout="constrained"))
