"""Comparisons of searches against counts by hand, and the committed ones against their file."""

import csv
import re
from collections import defaultdict

import numpy as np

from benchmarks_uci.analysis.frame import make_frame, split_runs
from benchmarks_uci.optimisation.problems import LARGE, PAPER
from benchmarks_uci.optimisation.report import RESULTS, write_large, write_sections
from benchmarks_uci.optimisation.study import STUDY

# AUC of each design; the Gaussian process lacks one design, and one function.
AUC = {
    ("branin", "deltauq"): [0.9, 0.5, 0.4],
    ("branin", "gp"): [0.7, 0.6],
    ("ackley-2", "deltauq"): [0.2, 0.4, 0.3],
    ("ackley-2", "gp"): [0.5, 0.5],
    ("beale", "deltauq"): [0.1, 0.1, 0.1],
    ("branin", "plain"): [0.1, 0.2, 0.3],
    ("ackley-2", "plain"): [0.1, 0.1, 0.1],
    ("beale", "plain"): [0.4, 0.4, 0.4],
    ("levy-20", "plain"): [0.9],  # no function of the paper
    ("levy-20", "deltauq"): [0.1],
}


def make_run():
    records = [
        {
            **{"protocol": "search", "preset": "default", "data": data, "method": method},
            **{"split": split, "status": "done", "auc": auc},
        }
        for (data, method), values in AUC.items()
        for split, auc in enumerate(values)
    ]
    [(_, run)] = split_runs(make_frame(records, STUDY))
    return run


def test_methods_are_compared_on_the_designs_and_functions_that_both_finished():
    _, text = write_sections(make_run(), "search")
    lines = text.splitlines()
    (gp,) = [line for line in lines if "Better than GP" in line]
    # Branin: .7 against .65; Ackley: .3 against .5.
    assert "on 1 of 2 functions, mean difference -0.075" in gp
    assert "starting designs of both: 2)" in gp
    (plain,) = [line for line in lines if "Better than one plain net" in line]
    assert "on 2 of 3 functions, mean difference +0.100" in plain
    assert "starting designs of both: 3)" in plain
    (means,) = [line for line in lines if "Mean AUC" in line]
    assert "over 3 of the paper's 20 functions" in means
    assert "deltauq 0.333" in means
    assert "gp" not in means


def test_the_large_searches_come_from_the_committed_file():
    with (RESULTS / "search-default.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["data"] in LARGE]
    found = defaultdict(dict)
    for row in rows:
        found[row["data"], row["split"]][row["method"]] = row
    text = write_large()
    for (data, _), cell in found.items():
        row = next(line for line in text.splitlines() if line.startswith(f"| {data} "))
        assert len(re.findall(r"[0-9.]+ \([0-9.]+ s\)", row)) == len(cell)
        assert f"{float(cell['deltauq']['auc']):.2f} (" in row
    assert all(f"| {name} " not in text for name in PAPER)
    for other, title in (("plain", "one plain net"), ("gp", "GP")):
        both = [cell for cell in found.values() if {"deltauq", other} <= cell.keys()]
        n_better = sum(float(c["deltauq"]["auc"]) > float(c[other]["auc"]) for c in both)
        assert f"higher AUC than {title} on {n_better} of {len(both)} functions" in text
        ratios = [
            float(c[other]["step_seconds"]) / float(c["deltauq"]["step_seconds"]) for c in both
        ]
        ratio = np.exp(np.mean(np.log(ratios)))
        assert f"A step of {title} takes {ratio:.1f} times as long" in text
