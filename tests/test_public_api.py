"""The public names: complete, documented, and documented alike where they mean the same."""

import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

import sk_deltauq
from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor, baselines

API_PAGE = Path(__file__).parents[1] / "docs" / "api.rst"

# What numpydoc checks and we do not ask for.
NOT_REQUIRED = {
    "ES01",  # an extended summary
    "EX01",  # examples; the classes' are asked for below
    "GL01",  # a summary on the line after the quotes
    "RT02",  # an unnamed return value
    "SA01",  # a section "See Also"
    "SS05",  # no third person; it takes "Continuous" for one
    "SS06",  # a summary on one line
    "YD01",  # a section "Yields"
}

# Documented apart, because the score of a class is not that of a number.
MEANT_DIFFERENTLY = {"validation_scores_"}

PAIRS = [
    (DeltaUQRegressor, DeltaUQClassifier),
    *(
        (getattr(baselines, name), getattr(baselines, name.replace("Regressor", "Classifier")))
        for name in baselines.__all__
        if name.endswith("Regressor")
        and name.replace("Regressor", "Classifier") in baselines.__all__
    ),
]


def public_modules():
    found = pkgutil.walk_packages(sk_deltauq.__path__, "sk_deltauq.")
    return ["sk_deltauq", *(module.name for module in found if "._" not in module.name)]


def load(dotted):
    """The public object `package.module.name` or `package.module.Class.method`."""
    return pkgutil.resolve_name(dotted)


def public_objects():
    """Dotted names of all public classes and functions, each once."""
    names = [f"{module}.{name}" for module in public_modules() for name in load(module).__all__]
    return list({load(name): name for name in names if callable(load(name))}.values())


CLASSES = [name for name in public_objects() if inspect.isclass(load(name))]
FUNCTIONS = [name for name in public_objects() if not inspect.isclass(load(name))]
METHODS = [
    f"{name}.{method}"
    for name in CLASSES
    for method, value in inspect.getmembers(load(name), inspect.isroutine)
    # Those of scikit-learn's own base classes and mixins are not ours to document.
    if not method.startswith("_") and value.__module__.startswith("sk_deltauq")
]


@pytest.mark.parametrize("module", public_modules())
def test_all_is_complete_and_sorted(module):
    namespace = vars(load(module))
    if hasattr(load(module), "__path__"):  # an `__init__` collects names of other modules
        public = {name for name, value in namespace.items() if not inspect.ismodule(value)}
    else:
        routines = (inspect.isclass, inspect.isfunction)
        public = {
            name
            for name, value in namespace.items()
            if any(kind(value) for kind in routines) and value.__module__ == module
        }
    listed = namespace["__all__"]
    assert {name for name in public if not name.startswith("_")} <= set(listed)
    assert set(listed) <= namespace.keys()
    assert list(listed) == sorted(set(listed))


def refers_to_a_sibling(name):
    """Whether the docstring says "as for `log_pdf`" instead of repeating its parameters."""
    parent, doc = load(name.rpartition(".")[0]), load(name).__doc__
    mentioned = (getattr(parent, other, None) for other in re.findall(r"`(\w+)`", doc))
    sections = ("Parameters\n", "Returns\n")
    return not any(section in doc for section in sections) and any(
        all(section in (other.__doc__ or "") for section in sections) for other in mentioned
    )


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_docstring_follows_numpydoc(name):
    # Among others: every parameter documented, by its name, in order, with a type.
    allowed = NOT_REQUIRED | ({"PR01", "RT01"} if refers_to_a_sibling(name) else set())
    errors = [(code, text) for code, text in validate(name)["errors"] if code not in allowed]
    assert not errors


@pytest.mark.parametrize("name", CLASSES)
def test_class_has_an_example(name):
    assert ">>>" in load(name).__doc__


def test_every_public_name_is_in_the_api_reference():
    entries = re.findall(r"^ {3}([\w.]+)$", API_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [load(f"sk_deltauq.{entry}") for entry in entries]
    assert [name for name in [*CLASSES, *FUNCTIONS] if load(name) not in listed] == []
    assert len(listed) == len(set(listed)), "listed twice"


def entries(doc, section):
    """Type and text of each parameter; the numbers of references may differ."""
    return {
        name: (entry.type, re.sub(r"\[\d+\]_", "[]_", " ".join(" ".join(entry.desc).split())))
        for entry in doc[section]
        for name in entry.name.split(", ")
    }


@pytest.mark.parametrize("section", ["Parameters", "Attributes"])
@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: pair[0].__name__)
def test_regressor_and_classifier_document_what_they_share_alike(pair, section):
    regressor, classifier = (entries(ClassDoc(cls), section) for cls in pair)
    shared = regressor.keys() & classifier.keys() - MEANT_DIFFERENTLY
    assert len(shared) > 3
    for name in shared:
        assert regressor[name] == classifier[name], name


# Their text says what a method does with the parameter.
TOLD_BY_METHOD = {"noise", "n_members", "embedding", "warm_start", "module", "random_state"}
TOLD_BY_METHOD |= {"learning_rate_init"}  # of a variational network it is smaller


@pytest.mark.parametrize("pair", PAIRS[1:], ids=lambda pair: pair[0].__name__)
def test_baselines_document_what_they_share_with_delta_uq_alike(pair):
    for cls, reference in zip(pair, PAIRS[0], strict=True):
        own, theirs = (entries(ClassDoc(c), "Parameters") for c in (cls, reference))
        for name in own.keys() & theirs.keys() - TOLD_BY_METHOD:
            assert own[name] == theirs[name], name


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_shared_methods_document_their_input_alike(method):
    regressor, classifier = (
        entries(FunctionDoc(getattr(cls, method)), "Parameters")
        for cls in (DeltaUQRegressor, DeltaUQClassifier)
    )
    for name in {"X", "sample_weight"} & regressor.keys():
        assert regressor[name] == classifier[name], name
