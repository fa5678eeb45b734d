import pytest

from benchmarks_uci.report import notes, table


def record(data, method, split, nll, warnings=""):
    scores = {"rmse": 2.0, "crps": 1.0, "coverage": 0.9, "width": 3.0, "fit_seconds": 0.25}
    names = {"data": data, "method": method, "split": split}
    return {**names, "nll": nll, **scores, "warnings": warnings}


RECORDS = [
    record("diabetes", "mlp", 0, 1.0),
    record("diabetes", "mlp", 1, 2.0, "too few epochs"),
    record("diabetes", "deltauq", 0, 0.5),
    record("alcohol", "mlp", 0, -0.25),
]


def cells(line):
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_table_has_mean_and_standard_error():
    header, _, *lines = table(RECORDS, tablefmt="pipe").splitlines()
    assert cells(header) == [
        *("data", "method", "NLL", "RMSE", "CRPS"),
        *("90 % coverage", "mean width", "fit seconds"),
    ]
    # std of (1, 2) is sqrt(1/2), over sqrt(2) splits
    assert cells(lines[0])[:4] == ["diabetes", "mlp", "1.500 ± 0.500", "2.000 ± 0.000"]
    assert cells(lines[1])[:3] == ["", "deltauq", "0.500"]
    assert cells(lines[2])[:3] == ["alcohol", "mlp", "-0.250"]
    assert len(lines) == 3


@pytest.mark.parametrize(
    "text",
    [
        "seeds 0 to 1",
        "diabetes: 442 rows, 10 features",
        "sklearn.datasets.load_wine",
        "Warning, diabetes, mlp, 1 of 2 splits: too few epochs",
    ],
)
def test_notes_state_what_was_run(text):
    assert text in notes(RECORDS)


def test_notes_name_the_one_seed():
    assert "with seed 0," in notes(RECORDS[-1:])
