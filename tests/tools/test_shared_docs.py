"""The tool that keeps the descriptions of shared parameters equal."""

import shutil

import pytest

from tools import shared_docs


@pytest.fixture
def package(tmp_path):
    """A copy of the sources, so that a test may change them."""
    copy = tmp_path / "sk_deltauq"
    shutil.copytree(shared_docs.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def run(package, action):
    return shared_docs.main([action, "--package", str(package)])


def read(package):
    return {path: path.read_text("utf-8") for path in package.rglob("*.py")}


def find_file(package, name):
    return next(path for path, text in read(package).items() if f"class {name}(" in text)


def replace(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize(
    ("estimator", "old", "new", "name"),
    [
        ("DeltaUQClassifier", "Number of consecutive", "Number of", "n_iter_no_change"),
        ("DeepEnsembleRegressor", "rows in a mini-batch.", "rows.", "batch_size"),
        ("MCDropoutRegressor", "warm_start : bool, ", "warm_start : int, ", "warm_start"),
        ("PBPRegressor", "Number of features seen", "Features seen", "n_features_in_"),
    ],
)
def test_a_changed_text_is_found_and_fixed(package, capsys, estimator, old, new, name):
    before = read(package)
    replace(find_file(package, estimator), old, new)
    assert run(package, "--check") == 1
    assert capsys.readouterr().out == f"{estimator}: {name} differs from DeltaUQRegressor\n"
    assert run(package, "--fix") == 0
    assert read(package) == before


def test_copied_references_get_the_numbers_of_the_other_docstring(package):
    replace(find_file(package, "DeltaUQRegressor"), "learnt ones ([3]_)", "learnt ones (see [3]_)")
    run(package, "--fix")
    assert run(package, "--check") == 0
    assert "(see [2]_)" in find_file(package, "DeltaUQClassifier").read_text("utf-8")


def test_baselines_get_the_first_sentence_and_the_classifier_the_whole_text(package, capsys):
    text = "Most epochs, such as 0.5 `x`. 2nd sentence."
    replace(
        find_file(package, "DeltaUQRegressor"),
        "Number of consecutive epochs without improvement after which training stops.",
        text,
    )
    assert run(package, "--check") == 1
    assert "MCDropoutRegressor: n_iter_no_change differs from" in capsys.readouterr().out
    run(package, "--fix")
    assert run(package, "--check") == 0
    start = "    n_iter_no_change : int, default=30\n        "
    full = find_file(package, "DeltaUQClassifier").read_text("utf-8")
    short = find_file(package, "MCDropoutRegressor").read_text("utf-8")
    assert f"{start}{text}\n" in full
    assert short.count(f"{start}Most epochs, such as 0.5 `x`.\n") == 2  # the classifier too


def test_the_classifier_of_a_baseline_gets_the_first_sentence_of_its_regressor(package):
    replace(
        find_file(package, "MCDropoutRegressor"),
        "Number of dropout masks, drawn in `fit` and kept.",
        "Number of masks. They are kept.",
    )
    run(package, "--fix")
    text = find_file(package, "MCDropoutClassifier").read_text("utf-8")
    assert text.count("Number of masks. They are kept.") == 1
    assert "        Number of masks.\n" in text


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("        One line\n        and more. Rest.\n", "        One line and more.\n"),
        ("        From 0.5 on, i.e. more.\n", "        From 0.5 on, i.e. more.\n"),
        (
            f"        {'word ' * 20}end. \n",
            f"        {'word ' * 17}word\n        word word end.\n",
        ),
    ],
)
def test_a_text_is_shortened_to_its_first_sentence_and_wrapped(text, short):
    assert shared_docs.shorten_text(text) == short


def test_a_citation_without_a_reference_is_an_error(package):
    replace(
        find_file(package, "DeltaUQRegressor"), "Torch device for", "See [1]_. Torch device for"
    )
    with pytest.raises(ValueError, match="Add to the docstring: Thiagarajan"):
        run(package, "--fix")


def test_defaults_may_differ(package):
    file = find_file(package, "VariationalBNNRegressor")
    assert "learning_rate_init : float, default=0.003\n" in file.read_text("utf-8")
    replace(
        file,
        "learning_rate_init : float, default=0.003\n",
        "learning_rate_init : float, default=0.5\n",
    )
    assert run(package, "--check") == 0


def test_the_tables_name_only_documented_parameters():
    docstrings = {}
    for source in read(shared_docs.PACKAGE).values():
        docstrings |= shared_docs.find_docstrings(source)
    documented = {name: shared_docs.read_entries(text).keys() for name, text in docstrings.items()}
    names = set().union(*documented.values())
    assert names >= shared_docs.DIFFERENT_BY_METHOD | shared_docs.DIFFERENT_BY_KIND
    for estimator, own in shared_docs.INDEPENDENT.items():
        assert documented[estimator] >= own
