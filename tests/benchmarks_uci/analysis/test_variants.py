import numpy as np
import pytest
from benchmarks_uci.report.contents import Heading, contents, main_table
from benchmarks_uci.report.variants import of_variants, variant_table
from tests.benchmarks_uci.analysis._helpers import record, records


def run(shift, **fields):
    """`deltauq` and a variant: its NLL is larger by `shift` on `boston`, half that on `wine`."""
    nll = {"boston": np.array([1.0, 1.5, 2.0, 2.7]), "wine": np.array([0.5, 0.7, 0.6, 0.9])}
    found = []
    for data, part in (("boston", 1.0), ("wine", 0.5)):
        for split, value in enumerate(nll[data]):
            wobble = 0.02 * (-1) ** split
            found += [
                record(data, "deltauq", split, value),
                record(data, "deltauq-k1", split, value + part * shift + wobble, **fields),
            ]
    return found


def test_a_row_a_variant_with_paired_differences_and_ratios():
    table = variant_table(run(0.5, fit_seconds=0.5, predict_seconds=0.03))
    assert table.headers == ["variant", "boston", "wine", "mean", "fit seconds", "predict seconds"]
    reference, variant = table.rows
    assert reference[0] == "deltauq"
    assert reference[1].startswith("1.800 ± ")
    assert reference[3:] == ["", "1", "1"]
    # The corrected standard error of +-0.02 on four splits of 80 and 20 rows
    error = np.sqrt((1 / 4 + 20 / 80) * np.var([0.02, -0.02, 0.02, -0.02], ddof=1))
    assert variant == [
        "1 anchor",
        f"+0.500 ± {error:.3f}",
        f"+0.250 ± {error:.3f}",
        "+0.375",
        "2",
        "3",
    ]
    assert table.bold == {(1, 1), (1, 2)}


def test_what_may_be_chance_is_not_bold():
    assert variant_table(run(0.0)).bold == set()


def test_missing_set_has_no_mean():
    found = [r for r in run(0.5) if (r["data"], r["method"]) != ("wine", "deltauq-k1")]
    assert variant_table(found).rows[1][1:4] == ["+0.500 ± 0.016", "-", "-"]


def test_run_with_ablations_is_shown_by_variant():
    assert of_variants(run(0.5))
    assert not of_variants(records())
    assert not of_variants([r for r in run(0.5) if r["method"] != "deltauq"])
    table, [explained] = main_table(run(0.5), "nll")
    assert table.headers[0] == "variant"
    assert "corrected for the overlap" in explained
    assert main_table(records(), "nll")[0].headers[0] == "data"
    assert main_table(run(0.5), "width")[0].headers[0] == "data"  # there is no better width


def test_only_the_errors_of_random_splits_are_said_to_be_corrected():
    gap = [{**one, "protocol": "gap"} for one in run(0.5)]
    _, [explained] = main_table(gap, "nll")
    assert "corrected" not in explained


def test_report_of_variants_compares_no_methods():
    pytest.importorskip("matplotlib")
    headings = [block.text for block in contents(run(0.5)) if isinstance(block, Heading)]
    assert "Paired differences" not in headings
    assert "All scores, set by set" in headings
