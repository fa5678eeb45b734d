from benchmarks_uci.report.literature import literature_counts, literature_table
from tests.benchmarks_uci.report._helpers import record, records


def hl90(data, nll, **fields):
    return [record(data, "deltauq-5", i, nll, protocol="hl90", **fields) for i in range(2)]


def test_table_has_every_published_column_beside_ours():
    table = literature_table([*hl90("boston", 2.3), *hl90("yacht", 0.1)])
    assert table.headers[:3] == ["data", "deltauq-5", "PBP"]
    assert {"TabPFN v2", "WGBoost", "PBP-MV (2 layers)", "NGBoost"} <= set(table.headers)
    boston, yacht = (dict(zip(table.headers, row, strict=True)) for row in table.rows)
    assert (boston["data"], boston["deltauq-5"]) == ("boston", "2.300 ± 0.000")
    assert (boston["NGBoost"], boston["TabPFN v2"]) == ("2.43", "-")
    assert (yacht["NGBoost"], yacht["TabPFN v2"]) == ("0.20", "-0.73")


def test_other_methods_of_ours_are_left_out_and_other_splits_have_none():
    both = [*hl90("boston", 2.3), record("boston", "pbp", protocol="hl90")]
    assert literature_table(both).headers[1:3] == ["deltauq-5", "PBP"]
    assert literature_table(records()).rows == []
    assert literature_counts(records()) == []


def test_lowest_figure_of_a_set_is_in_bold():
    found = [*hl90("boston", 2.3), *hl90("concrete", 2.9), *hl90("yacht", -1.0)]
    found[-1] = {**found[-1], "status": "failed", "nll": None}
    table = literature_table(found)
    stressed = [(table.rows[i][0], table.headers[j]) for i, j in sorted(table.bold)]
    assert stressed == [("boston", "deltauq-5"), ("concrete", "TabPFN v2"), ("yacht", "TabPFN v2")]


def test_counts_name_the_sets_where_ours_is_not_lower():
    lines = literature_counts([*hl90("boston", 2.3), *hl90("yacht", 0.18)])
    assert "deltauq-5: lower NLL than NGBoost on 2 of 2 sets." in lines
    assert "deltauq-5: lower NLL than WGBoost on 1 of 2 sets; not on yacht." in lines
    assert "deltauq-5: lower NLL than TabPFN v2 on 0 of 1 sets; not on yacht." in lines


def test_a_set_that_lacks_splits_is_not_counted():
    found = [*hl90("boston", 2.3), *hl90("yacht", 0.18)]
    found[-1] = {**found[-1], "status": "failed", "nll": None}
    assert "deltauq-5: lower NLL than NGBoost on 1 of 1 sets." in literature_counts(found)
