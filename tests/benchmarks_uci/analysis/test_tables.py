import pytest
from benchmarks_uci.report.tables import Table, all_metrics, score_table, summary
from tests.benchmarks_uci.analysis._helpers import failed, record, records


def column(table, header):
    """Cells below a header, by the names in the first column."""
    place = table.headers.index(header)
    return {row[0]: row[place] for row in table.rows}


def test_render_in_each_format():
    table = Table("t", ["a|b", "<c>"], [["x*y", "1"], ["z", "2"]], bold={(1, 1)})
    plain = table.render().splitlines()
    assert plain[0].split() == ["a|b", "<c>"]
    assert plain[-1].split() == ["z", "2"]
    markdown = table.render("markdown").splitlines()
    assert markdown[0].replace(" ", "") == r"|a\|b|\<c>|"
    assert markdown[2].replace(" ", "") == r"|x\*y|1|"
    assert markdown[3].replace(" ", "") == "|z|**2**|"
    html = table.render("html")
    assert "&lt;c&gt;" in html
    assert "<b>2</b>" in html
    assert "<c>" not in html
    with pytest.raises(ValueError, match=r"plain, markdown, html; got 'latex'"):
        table.render("latex")


def test_paper_stands_beside_ours():
    table = score_table(records(("boston", "yacht")))
    assert table.headers == [
        *("data", "deltauq", "paper: Delta-UQ", "mcdropout", "paper: MC dropout"),
        *("pbp", "paper: PBP"),
    ]
    ours = column(table, "paper: Delta-UQ")
    assert ours == {
        "boston": "2.58",
        "yacht": "0.66",
        "average rank": "2.00",
        "fit seconds, all sets": "",
    }


def test_other_published_figures_stand_beside_their_protocol():
    table = score_table(records(protocol="hl90"))
    assert table.headers == [
        *("data", "deltauq", "mcdropout", "MC dropout (grid search), hl90", "pbp", "PBP, hl90"),
    ]
    assert column(table, "PBP, hl90")["yacht"] == "1.63"


@pytest.mark.parametrize(("protocol", "metric"), [("gap", "nll"), ("random80", "rmse")])
def test_nothing_is_published_for_the_rest(protocol, metric):
    table = score_table(records(protocol=protocol), metric)
    assert table.headers == ["data", "deltauq", "mcdropout", "pbp"]


def test_best_and_ranks():
    scores = {"deltauq": (1.0, 3.0), "pbp": (2.0, 2.0), "bnn": (3.0, 1.0)}
    found = [
        record(data, method, 0, values[i], fit_seconds=1.5)
        for method, values in scores.items()
        for i, data in enumerate(("boston", "wine"))
    ]
    table = score_table(found)
    stressed = {(table.rows[i][0], table.headers[j]) for i, j in table.bold}
    # Every average rank is 2, so that all share the first place.
    assert stressed == {
        ("boston", "deltauq"),
        ("wine", "bnn"),
        *(("average rank", method) for method in scores),
    }
    assert column(table, "pbp") == {
        "boston": "2.000",
        "wine": "2.000",
        "average rank": "2.00",
        "fit seconds, all sets": "3.00",
    }


def test_failed_task_marks_its_cell_and_costs_the_rank():
    found = records(n_splits=3)
    place = next(i for i, r in enumerate(found) if r["method"] == "deltauq")
    found[place] = failed(found[place]["data"], "deltauq", found[place]["split"])
    table = score_table(found)
    cells = column(table, "deltauq")
    assert cells["boston"].endswith("(2/3, 1 failed)")
    assert cells["average rank"] == cells["fit seconds, all sets"] == "-"
    assert (0, table.headers.index("deltauq")) not in table.bold
    assert column(table, "mcdropout")["average rank"] == "1.00"


def test_seconds_are_not_ranked():
    table = score_table(records(), "fit_seconds")
    assert [row[0] for row in table.rows] == ["boston", "wine", "yacht"]
    assert table.bold == set()


def test_all_metrics_is_a_table_a_set():
    tables = all_metrics(records())
    assert [table.title for table in tables] == ["boston", "wine", "yacht"]
    for table in tables:
        assert [row[0] for row in table.rows] == ["deltauq", "mcdropout", "pbp"]
        assert len(table.headers) == 1 + 10
        assert column(table, "90 % coverage")["pbp"] == "0.900 ± 0.000"


def test_summary_names_each_set_once():
    table = summary([*records(("wine",), ("deltauq", "pbp"), 1), record("yacht", nll=-1.0)])
    assert [row[:2] for row in table.rows] == [
        ["wine", "deltauq"],
        ["", "pbp"],
        ["yacht", "deltauq"],
    ]
    assert table.headers[2:] == [
        "NLL",
        "RMSE",
        "CRPS",
        "90 % coverage",
        "mean width",
        "fit seconds",
    ]
    assert table.rows[2][2:] == ["-1.000", "2.00", "1.00", "0.900", "3.00", "0.25"]
    assert (0, 2) in table.bold


@pytest.mark.parametrize("table", [score_table, all_metrics, summary])
def test_table_is_of_one_run(table):
    with pytest.raises(ValueError, match=r"one protocol and preset, got .*'gap'"):
        table([*records(), *records(protocol="gap")])
