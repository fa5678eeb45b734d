"""Coverage of conformal intervals on simulated data: the cases, one small run, and the table."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from benchmarks_uci.intervals import simulated

CASES = [case for case in simulated.CASES if case.n_train + case.n_val <= 100]


@pytest.mark.filterwarnings("ignore")  # one epoch, and few rows
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_the_cases_hold_out_as_many_rows_as_they_say(case):
    rng = np.random.default_rng(0)
    (X, y), validation = simulated.draw(rng, case.n_train), simulated.draw(rng, case.n_val)
    options = dict(zip(("X_val", "y_val"), validation, strict=True)) if case.n_val else {}
    model = case.make(max_iter=1, random_state=0).fit(X, y, **options)
    assert model._conformity_.n_rows == case.n_held_out
    assert len(model._conformity_.folds) == case.n_folds


def test_a_record_has_the_coverage_before_and_after_conformalize():
    [case, *_] = simulated.CASES
    short = replace(case, make=partial(case.make, max_iter=20))
    found = simulated.measure(short, seed=3)
    rng = np.random.default_rng(simulated.FIRST_SEED + 3)
    train, kept = simulated.draw(rng, 40), simulated.draw(rng, 0)
    kept, (X, y) = simulated.draw(rng, 100), simulated.draw(rng, 2000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = case.make(max_iter=20, random_state=3).fit(*train)
    for key in ("after_fit", "after_conformalize"):
        lower, upper = model.predict_interval(X, 0.9, method="conformal").T
        assert found[key] == np.mean((lower <= y) & (y <= upper))
        model.conformalize(*kept)


def test_the_table_has_means_and_standard_errors():
    title = simulated.CASES[6].title
    values = [0.9, 0.92, 0.86]
    records = [{"case": title, "after_fit": v, "after_conformalize": "0.9"} for v in values]
    row = simulated.write_table(records).splitlines()[-1]
    assert [cell.strip() for cell in row.split("|")[1:-1]] == [
        "`X_val`, 80 + 20",
        "20",
        "1",
        f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / 3**0.5:.3f}",
        "0.900 ± 0.000",
    ]
