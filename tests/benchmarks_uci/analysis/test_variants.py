import numpy as np

from benchmarks_uci.analysis.page import tabulate_run, write_page
from benchmarks_uci.analysis.variants import has_variants, tabulate_variants
from benchmarks_uci.regression.study import STUDY
from tests.benchmarks_uci.analysis._helpers import make_run, record, records


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


def table_of(found):
    return tabulate_variants(make_run(found), STUDY, "nll")


def test_one_row_per_variant_with_paired_differences_and_ratios():
    table = table_of(run(0.5, fit_seconds=0.5, predict_seconds=0.03))
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


def test_small_differences_are_not_bold():
    assert table_of(run(0.0)).bold == set()


def test_missing_set_has_no_mean():
    found = [r for r in run(0.5) if (r["data"], r["method"]) != ("wine", "deltauq-k1")]
    assert table_of(found).rows[1][1:4] == ["+0.500 ± 0.016", "-", "-"]


def test_run_with_ablations_is_shown_by_variant():
    assert has_variants(make_run(run(0.5)), STUDY)
    assert not has_variants(make_run(records()), STUDY)
    without = [r for r in run(0.5) if r["method"] != "deltauq"]
    assert not has_variants(make_run(without), STUDY)
    table, [explained] = tabulate_run(make_run(run(0.5)), STUDY, "nll")
    assert table.headers[0] == "variant"
    assert "corrected for the overlap" in explained
    assert tabulate_run(make_run(records()), STUDY, "nll")[0].headers[0] == "data"
    assert (
        tabulate_run(make_run(run(0.5)), STUDY, "width")[0].headers[0] == "data"
    )  # there is no better width


def test_explanation_says_which_errors_are_corrected():
    gap = [{**one, "protocol": "gap"} for one in run(0.5)]
    _, [explained] = tabulate_run(make_run(gap), STUDY, "nll")
    assert "corrected" not in explained


def test_report_of_variants_compares_no_methods():
    page, figures = write_page(run(0.5), STUDY, "nll")
    assert figures == {}
    assert "### Paired differences" not in page
    assert "### All scores, set by set" in page
