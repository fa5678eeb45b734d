import pytest

from benchmarks_uci.analysis.frame import summarise
from benchmarks_uci.analysis.tables import (
    Table,
    escape,
    format_cells,
    format_range,
    overview,
    score_table,
    tabulate_sets,
    write_pipes,
)
from benchmarks_uci.regression.metrics import METRICS
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, make_run, record, records


def column(table, header):
    """Cells below a header, by the names in the first column."""
    place = table.headers.index(header)
    return {row[0]: row[place] for row in table.rows}


def scores(found, metric="nll"):
    return score_table(make_run(found), STUDY, metric)


def cell(values, metric="nll", n_failed=0, n_splits=None):
    """The text of one cell; another method has `n_splits` splits."""
    n_done = len(values)
    found = [record(split=i, **{metric: value}) for i, value in enumerate(values)]
    found += [failed(split=n_done + i) for i in range(n_failed)]
    found += [record(method="pbp", split=i) for i in range(n_splits or n_done)]
    summary = summarise(make_run(found), METRICS[metric])
    return format_cells(summary, METRICS[metric])["boston", "deltauq"]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (([1.0, 2.0, 4.0],), "2.333 ± 0.882"),
        (([1.0],), "1.000"),
        (([1.0, 1.0], "nll", 0, 3), "1.000 ± 0.000 (2/3)"),
        (([1.0, 1.0], "nll", 1, 3), "1.000 ± 0.000 (2/3, 1 failed)"),
        (([], "nll", 3, 3), "failed (3)"),
        (([0.000451, 0.000461], "rmse"), "0.000456 ± 0.000005"),
        (([12345.0, 12347.0], "rmse"), "12346 ± 1"),
        (([3.0, 4.0], "rmse"), "3.50 ± 0.50"),
        (([0.0], "rmse"), "0.000"),
    ],
)
def test_cell_has_digits_by_its_metric_and_says_what_is_missing(arguments, text):
    assert cell(*arguments) == text


@pytest.mark.parametrize(
    ("numbers", "text"), [([], ""), ([3], "3"), ([3, 3], "3"), ([10, 3, 5], "3 to 10")]
)
def test_a_range_has_its_ends(numbers, text):
    assert format_range(numbers) == text


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
    assert "<c>" not in html


def test_pipes_are_aligned():
    assert write_pipes(["a", "long"], [["b", "1"], ["cc", "-2.5"]]).splitlines() == [
        "| a   | long |",
        "| :-- | ---: |",
        "| b   |    1 |",
        "| cc  | -2.5 |",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("`x` &lt;", r"\`x\` \&lt;"),
        ("a <script> | b", r"a \<script> \| b"),
        ("*x*\n<y>", r"\*x\* \<y>"),
        ("__init__ and _y_", r"\_\_init\_\_ and \_y\_"),
        ("learning_rate_init=[1, 2]", "learning_rate_init=[1, 2]"),
        ("[here](x) [a][b]", r"[here]\(x) [a]\[b]"),
        ("a\\b", r"a\\b"),
    ],
)
def test_markdown_shows_text_as_it_is(text, expected):
    assert escape(text) == expected


def test_paper_is_beside_ours():
    table = scores(records(("boston", "yacht")))
    assert table.headers == [
        *("data", "deltauq", "paper: Delta-UQ", "mcdropout", "paper: MC dropout"),
        *("pbp", "paper: PBP"),
    ]
    assert column(table, "paper: Delta-UQ") == {
        "boston": "2.58",
        "yacht": "0.66",
        "average rank": "2.00",
        "fit seconds, all sets": "",
    }


def test_other_published_figures_are_beside_their_protocol():
    table = scores(records(protocol="hl90"))
    assert table.headers == [
        *("data", "deltauq", "mcdropout", "MC dropout (grid search), hl90", "pbp", "PBP, hl90"),
    ]
    assert column(table, "PBP, hl90")["yacht"] == "1.63"


@pytest.mark.parametrize(("protocol", "metric"), [("gap", "nll"), ("random80", "rmse")])
def test_nothing_is_published_for_the_rest(protocol, metric):
    table = scores(records(protocol=protocol), metric)
    assert table.headers == ["data", "deltauq", "mcdropout", "pbp"]


def test_best_and_ranks():
    nll = {"deltauq": (1.0, 3.0), "pbp": (2.0, 2.0), "bnn": (3.0, 1.0)}
    found = [
        record(data, method, 0, values[i], fit_seconds=1.5)
        for method, values in nll.items()
        for i, data in enumerate(("boston", "wine"))
    ]
    table = scores(found)
    # Every average rank is 2, so that all share the first place.
    assert {(table.rows[i][0], table.headers[j]) for i, j in table.bold} == {
        ("boston", "deltauq"),
        ("wine", "bnn"),
        *(("average rank", method) for method in nll),
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
    table = scores(found)
    cells = column(table, "deltauq")
    assert cells["boston"].endswith("(2/3, 1 failed)")
    assert cells["average rank"] == cells["fit seconds, all sets"] == "-"
    assert (0, table.headers.index("deltauq")) not in table.bold
    assert column(table, "mcdropout")["average rank"] == "1.00"


def test_seconds_are_not_ranked():
    table = scores(records(), "fit_seconds")
    assert [row[0] for row in table.rows] == ["boston", "wine", "yacht"]
    assert table.bold == set()


def test_all_scores_have_a_table_per_set():
    tables = tabulate_sets(make_run(records()), STUDY, [*METRICS])
    assert [table.title for table in tables] == ["boston", "wine", "yacht"]
    for table in tables:
        assert [row[0] for row in table.rows] == ["deltauq", "mcdropout", "pbp"]
        assert len(table.headers) == 1 + 10
        assert column(table, "90 % coverage")["pbp"] == "0.900 ± 0.000"


def test_overview_names_each_set_once():
    found = [*records(("wine",), ("deltauq", "pbp"), 1), record("yacht", nll=-1.0)]
    table = overview(make_run(found), STUDY)
    assert [row[:2] for row in table.rows] == [
        ["wine", "deltauq"],
        ["", "pbp"],
        ["yacht", "deltauq"],
    ]
    assert table.headers[2:] == [
        *("NLL", "RMSE", "CRPS", "90 % coverage", "mean width", "fit seconds")
    ]
    assert table.rows[2][2:] == ["-1.000", "2.00", "1.00", "0.900", "3.00", "0.25"]
    assert (0, 2) in table.bold
