import re

import pytest

from benchmarks_uci.analysis.frame import make_frame
from benchmarks_uci.regression.published import AVERAGE_RANK, read_published
from benchmarks_uci.regression.report import (
    BASELINES,
    EXPLANATIONS,
    count_fair,
    count_lower,
    explain_exceptions,
    judge_baselines,
    tabulate_baselines,
    tabulate_literature,
    write_sections,
)
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import failed, record, records

PAPER = {c.method: c.values for c in read_published() if c.protocol == "paper"}
NINE = sorted(set(PAPER["pbp"]) - {AVERAGE_RANK})


def frame(found):
    return make_frame(found, STUDY)


def shifted(method, shift):
    """Two splits per set whose mean is the paper's figure plus `shift`."""
    return [
        record(data, method, split, PAPER[method][data] + shift + sign * 0.01)
        for data in NINE
        for split, sign in enumerate((-1, 1))
    ]


def verdicts(found):
    judged = judge_baselines(frame(found))
    return dict(zip(judged["data"], judged["fair"], strict=True))


@pytest.mark.parametrize("method", ["mcdropout", "deepensemble", "bnn", "pbp"])
@pytest.mark.parametrize(("shift", "fair"), [(-3.0, True), (0.1, True), (5.0, False)])
def test_within_the_margin_of_a_figure_or_better(method, shift, fair):
    assert verdicts(shifted(method, shift)) == dict.fromkeys(NINE, fair)


def test_any_of_the_figures_is_enough():
    # Deep ensembles on boston: 2.41 in their own paper, 6.11 in the table of Delta-UQ's.
    judged = judge_baselines(frame([record("boston", "deepensemble", 0, 6.0)]))
    [boston] = judged[judged["data"] == "boston"].to_dict("records")
    assert sorted(re.findall(r"\d\.\d\d", boston["published"])) == ["2.41", "6.11", "6.11"]
    assert boston["fair"]
    assert not boston["as_good"]


def test_every_method_with_a_published_figure_is_judged_except_delta_uq():
    with_figure = {column.method for column in read_published() if column.method}
    assert {*BASELINES} == {name for name in with_figure if not name.startswith("deltauq")}


def test_failed_or_missing_cell_is_not_fair():
    found = shifted("pbp", 0)
    found = [r for r in found if r["data"] != "wine"]
    place = next(i for i, r in enumerate(found) if r["data"] == "yacht")
    found[place] = failed("yacht", "pbp", 0)
    assert [data for data, fair in verdicts(found).items() if not fair] == ["wine", "yacht"]
    [sentence] = count_fair(judge_baselines(frame(found)))
    assert "on 7 of 9 sets (7 wanted)" in sentence
    assert sentence.endswith("Not on wine, yacht.")


def test_exceptions_say_by_how_much_and_why(tmp_path):
    path = tmp_path / "explanations.txt"
    path.write_text("A heading.\n\nbnn on yacht: Another reason.\n")

    def explain(found):
        return explain_exceptions(judge_baselines(frame(found)), path)

    assert explain(shifted("bnn", 0.1)) == []
    found = [r for r in shifted("bnn", 0) if r["data"] != "wine"]
    found += [record("wine", "bnn", i, 1.0 + 0.25) for i in range(2)]
    assert explain(found) == ["bnn on wine: 0.25 worse than published. Not explained."]
    path.write_text("bnn on wine: Bad luck.\n")
    assert explain(found) == ["bnn on wine: 0.25 worse than published. Bad luck."]
    found[-1] = failed("wine", "bnn", 1)
    [line] = explain(found)
    assert line.startswith("bnn on wine: 0.25 worse than published; 1 of 2 splits finished.")
    found[-2] = failed("wine", "bnn", 0)
    assert explain(found) == ["bnn on wine: did not finish. Bad luck."]
    assert explain(found[:-2]) == ["bnn on wine: was not run."]
    found[-2] = record("wine", "bnn", 0, 0.5)  # better than published, and incomplete
    [line] = explain(found)
    assert line.startswith("bnn on wine: 1 of 2 splits finished.")


def test_explanations_are_of_baselines_with_published_figures():
    figures = {f"{c.method} on {data}" for c in read_published() for data in c.values}
    keys = re.findall(r"^(\w+ on \w+): ", EXPLANATIONS.read_text(), re.MULTILINE)
    assert keys
    assert {*keys} <= figures


def test_table_shows_every_figure():
    table = tabulate_baselines(judge_baselines(frame(shifted("bnn", 0.0))))
    assert [row[1] for row in table.rows] == NINE
    row = table.rows[0]
    assert row[0] == "bnn"
    assert row[2] == "3.12 (paper: BNN); 3.12 (Variational inference, random80 (naval: turbine))"
    assert row[3:] == ["3.120 ± 0.010", "yes"]


def test_methods_without_published_figures_are_left_out():
    assert judge_baselines(frame(records(methods=("deltauq", "marginal")))).empty


def hl90(data, nll, **fields):
    return [record(data, "deltauq-5", i, nll, protocol="hl90", **fields) for i in range(2)]


def test_literature_has_every_published_column_beside_ours():
    table = tabulate_literature(frame([*hl90("boston", 2.3), *hl90("yacht", 0.1)]), "hl90")
    assert table.headers[:3] == ["data", "deltauq-5", "PBP"]
    assert {"TabPFN v2", "WGBoost", "PBP-MV (2 layers)", "NGBoost"} <= set(table.headers)
    boston, yacht = (dict(zip(table.headers, row, strict=True)) for row in table.rows)
    assert (boston["data"], boston["deltauq-5"]) == ("boston", "2.300 ± 0.000")
    assert (boston["NGBoost"], boston["TabPFN v2"]) == ("2.43", "-")
    assert (yacht["NGBoost"], yacht["TabPFN v2"]) == ("0.20", "-0.73")


def test_literature_leaves_out_other_methods_and_other_splits():
    both = [*hl90("boston", 2.3), record("boston", "pbp", protocol="hl90")]
    assert tabulate_literature(frame(both), "hl90").headers[1:3] == ["deltauq-5", "PBP"]
    assert tabulate_literature(frame(records()), "random80").rows == []
    assert count_lower(frame(records()), "random80") == []


def test_lowest_figure_of_a_set_is_bold():
    found = [*hl90("boston", 2.3), *hl90("concrete", 2.9), *hl90("yacht", -1.0)]
    found[-1] = {**found[-1], "status": "failed", "nll": None}
    table = tabulate_literature(frame(found), "hl90")
    bold = [(table.rows[i][0], table.headers[j]) for i, j in sorted(table.bold)]
    assert bold == [("boston", "deltauq-5"), ("concrete", "TabPFN v2"), ("yacht", "TabPFN v2")]


def test_counts_name_the_sets_where_ours_is_not_lower():
    lines = count_lower(frame([*hl90("boston", 2.3), *hl90("yacht", 0.18)]), "hl90")
    assert "deltauq-5: lower NLL than NGBoost on 2 of 2 sets." in lines
    assert "deltauq-5: lower NLL than WGBoost on 1 of 2 sets; not on yacht." in lines
    assert "deltauq-5: lower NLL than TabPFN v2 on 0 of 1 sets; not on yacht." in lines


def test_a_set_without_all_splits_is_not_counted():
    found = [*hl90("boston", 2.3), *hl90("yacht", 0.18)]
    found[-1] = {**found[-1], "status": "failed", "nll": None}
    assert "deltauq-5: lower NLL than NGBoost on 1 of 1 sets." in count_lower(frame(found), "hl90")


def test_sections_depend_on_the_protocol():
    def headings(protocol):
        found = records(methods=("deltauq", "pbp"), protocol=protocol)
        parts = write_sections(frame(found), protocol)
        return [part.removeprefix("### ") for part in parts if part.startswith("#")]

    baselines = "Baselines beside their published figures"
    assert headings("random80") == [baselines]
    assert headings("hl90") == ["Beside the literature", baselines]
    assert headings("gap") == []
