import pytest

from benchmarks_uci.report import fairness
from benchmarks_uci.report.fairness import (
    BASELINES,
    EXPLANATIONS,
    check,
    counts,
    exceptions,
    fairness_table,
)
from benchmarks_uci.report.reference import AVERAGE_RANK, published
from tests.benchmarks_uci.report._helpers import failed, record, records

PAPER = {c.method: c.nll for c in published() if c.protocol == "paper"}
NINE = sorted(set(PAPER["pbp"]) - {AVERAGE_RANK})


def shifted(method, shift):
    """Two splits a set whose mean is the paper's figure plus `shift`."""
    return [
        record(data, method, split, PAPER[method][data] + shift + sign * 0.01)
        for data in NINE
        for split, sign in enumerate((-1, 1))
    ]


def verdicts(found):
    return {v.data: v.fair for v in check(found)}


@pytest.mark.parametrize("method", ["mcdropout", "deepensemble", "bnn", "pbp"])
@pytest.mark.parametrize(("shift", "fair"), [(-3.0, True), (0.1, True), (5.0, False)])
def test_within_the_margin_of_a_figure_or_better(method, shift, fair):
    assert verdicts(shifted(method, shift)) == dict.fromkeys(NINE, fair)


def test_any_of_the_figures_will_do():
    # Deep ensembles on boston: 2.41 in their own paper, 6.11 in the table of Delta-UQ's.
    [one] = [v for v in check([record("boston", "deepensemble", 0, 6.0)]) if v.data == "boston"]
    assert sorted(one.figures.values()) == [2.41, 6.11, 6.11]
    assert one.fair
    assert not one.as_good_as_any


def test_every_method_with_a_published_figure_is_looked_at_but_delta_uq():
    with_figure = {column.method for column in published() if column.method}
    assert {*BASELINES} == {name for name in with_figure if not name.startswith("deltauq")}


def test_failed_or_missing_cell_is_not_fair():
    found = shifted("pbp", 0)
    found = [r for r in found if r["data"] != "wine"]
    place = next(i for i, r in enumerate(found) if r["data"] == "yacht")
    found[place] = failed("yacht", "pbp", 0)
    assert [data for data, fair in verdicts(found).items() if not fair] == ["wine", "yacht"]
    [sentence] = counts(found)
    assert "on 7 of 9 sets (7 wanted)" in sentence
    assert sentence.endswith("Not on wine, yacht.")


def test_exceptions_say_by_how_much_and_why(monkeypatch):
    assert exceptions(shifted("bnn", 0.1)) == []
    found = [r for r in shifted("bnn", 0) if r["data"] != "wine"]
    found += [record("wine", "bnn", i, 1.0 + 0.25) for i in range(2)]
    assert exceptions(found) == ["bnn on wine: 0.25 worse than published. Not explained."]
    monkeypatch.setitem(fairness.EXPLANATIONS, ("bnn", "wine"), "Bad luck.")
    assert exceptions(found) == ["bnn on wine: 0.25 worse than published. Bad luck."]
    found[-1] = failed("wine", "bnn", 1)
    [line] = exceptions(found)
    assert line.startswith("bnn on wine: 0.25 worse than published (1/2).")
    found[-2] = failed("wine", "bnn", 0)
    assert exceptions(found) == ["bnn on wine: not run to its end. Bad luck."]


def test_explanations_are_of_baselines_with_published_figures():
    figures = {(column.method, data) for column in published() for data in column.nll}
    assert EXPLANATIONS.keys() <= figures


def test_table_shows_every_figure():
    table = fairness_table(shifted("bnn", 0.0))
    assert [row[1] for row in table.rows] == NINE
    row = table.rows[0]
    assert row[0] == "bnn"
    assert row[2] == ("3.12 (paper: BNN); 3.12 (Variational inference, random80 (naval: turbine))")
    assert row[3:] == ["3.120 ± 0.010", "yes"]


def test_methods_without_published_figures_are_left_out():
    assert check(records(methods=("deltauq", "marginal"))) == []
