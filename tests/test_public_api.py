"""Public names are complete and documented, and shared parameters have the same description."""

import ast
import inspect
import pkgutil
import re
from pathlib import Path

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc
from numpydoc.validate import validate

import sk_deltauq
from sk_deltauq import DeltaUQClassifier, DeltaUQRegressor
from tools import shared_docs

API_PAGE = Path(__file__).parents[1] / "docs" / "api.rst"

# Checks of numpydoc that we do not require.
NOT_REQUIRED = {
    "ES01",  # an extended summary
    "EX01",  # examples; a test below requires them for functions and classes, not for methods
    "GL01",  # a summary on the line after the quotes
    "RT02",  # an unnamed return value
    "SA01",  # a section "See Also"
    "SS05",  # no third person; numpydoc takes "Continuous" for one
    "SS06",  # a summary on one line
    "YD01",  # a section "Yields"
}


def list_public_modules():
    found = pkgutil.walk_packages(sk_deltauq.__path__, "sk_deltauq.")
    return ["sk_deltauq", *(module.name for module in found if "._" not in module.name)]


def resolve(dotted):
    """Return the public object `package.module.name` or `package.module.Class.method`."""
    return pkgutil.resolve_name(dotted)


def list_public_objects():
    """List the dotted names of all public classes and functions, each once."""
    names = [
        f"{module}.{name}" for module in list_public_modules() for name in resolve(module).__all__
    ]
    return list({resolve(name): name for name in names if callable(resolve(name))}.values())


CLASSES = [
    name
    for name in list_public_objects()
    if inspect.isclass(resolve(name)) and not issubclass(resolve(name), Warning)
]
# Scorers are included.
FUNCTIONS = [name for name in list_public_objects() if not inspect.isclass(resolve(name))]
METHODS = [
    f"{name}.{method}"
    for name in CLASSES
    for method, value in inspect.getmembers(resolve(name), inspect.isroutine)
    # scikit-learn documents the methods of its base classes and mixins.
    if not method.startswith("_")
    and (getattr(value, "__module__", None) or "").startswith("sk_deltauq")
]


@pytest.mark.parametrize("module", list_public_modules())
def test_all_is_complete_and_sorted(module):
    for name in resolve(module).__all__:  # imports the names that are imported on first use
        getattr(resolve(module), name)
    namespace = vars(resolve(module))
    if hasattr(resolve(module), "__path__"):  # an `__init__` collects names of other modules
        public = {name for name, value in namespace.items() if not inspect.ismodule(value)}
        public -= {"TYPE_CHECKING", "import_on_use"}  # how an `__init__` imports on use
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
    parent, doc = resolve(name.rpartition(".")[0]), resolve(name).__doc__
    mentioned = (getattr(parent, other, None) for other in re.findall(r"`(\w+)`", doc))
    sections = ("Parameters\n", "Returns\n")
    return not any(section in doc for section in sections) and any(
        all(section in (other.__doc__ or "") for section in sections) for other in mentioned
    )


@pytest.mark.parametrize("name", [*CLASSES, *FUNCTIONS, *METHODS])
def test_docstring_follows_numpydoc(name):
    # Among other rules: each parameter has an entry with its type, in the order of the signature.
    allowed = NOT_REQUIRED | ({"PR01", "RT01"} if refers_to_a_sibling(name) else set())
    errors = [(code, text) for code, text in validate(name)["errors"] if code not in allowed]
    assert not errors


@pytest.mark.parametrize(
    "name", [name for name in METHODS if "X" in inspect.signature(resolve(name)).parameters]
)
def test_methods_with_the_parameter_x_document_their_errors(name):
    assert "\n        Raises\n        ------\n" in resolve(name).__doc__


@pytest.mark.parametrize("name", list_public_objects())
def test_public_name_has_an_example(name):
    assert "\n    Examples\n    --------\n" in resolve(name).__doc__
    assert ">>> " in resolve(name).__doc__.partition("Examples\n")[2]


def test_every_public_name_is_in_the_api_reference():
    entries = re.findall(r"^ {3}([\w.]+)$", API_PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    listed = [resolve(f"sk_deltauq.{entry}") for entry in entries]
    assert [name for name in [*CLASSES, *FUNCTIONS] if resolve(name) not in listed] == []
    assert len(listed) == len(set(listed)), "listed twice"


def test_estimators_describe_shared_parameters_in_the_same_words(capsys):
    differs = shared_docs.main(["--check"])
    assert not differs, f"{capsys.readouterr().out}Run: python tools/shared_docs.py --fix"


@pytest.mark.parametrize("name", CLASSES)
def test_documented_defaults_equal_the_signature(name):
    signature = inspect.signature(resolve(name)).parameters
    documented = {
        parameter.name: ast.literal_eval(default)
        for parameter in ClassDoc(resolve(name))["Parameters"]
        for default in re.findall(r"default=(.*)", parameter.type)
    }
    assert documented == {
        name: parameter.default
        for name, parameter in signature.items()
        if parameter.default is not inspect.Parameter.empty
    }


@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict"])
def test_both_kinds_describe_shared_inputs_in_the_same_words(method):
    regressor, classifier = (
        {entry.name: entry for entry in FunctionDoc(getattr(cls, method))["Parameters"]}
        for cls in (DeltaUQRegressor, DeltaUQClassifier)
    )
    for name in {"X", "sample_weight"} & regressor.keys():
        assert regressor[name] == classifier[name], name
