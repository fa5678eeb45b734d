"""Public names are imported when they are first used."""

import ast
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import sk_deltauq

ROOT = Path(__file__).parents[1]
PACKAGES = [
    "sk_deltauq",
    *(f"sk_deltauq.{name}" for name in ("baselines", "distributions", "metrics", "plotting")),
]
HEAVY = {"numpy", "scipy", "sklearn", "skorch", "torch", "matplotlib", "pandas"}

each_package = pytest.mark.parametrize("package", PACKAGES)


def run(code):
    """Run the code in a new interpreter, and return its output."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def find_loaded_packages(code):
    """Run the code in a new interpreter, and return the heavy packages that it loads."""
    code = f"{textwrap.dedent(code)}\nimport sys\nprint(*sorted(sys.modules))"
    return HEAVY & set(run(code).split())


def test_the_import_alone_loads_no_heavy_package():
    names = ", ".join(PACKAGES)
    assert (
        find_loaded_packages(f"import {names}\ndir(sk_deltauq), sk_deltauq.__version__") == set()
    )


def test_metrics_and_distributions_need_no_torch():
    loaded = find_loaded_packages("""
        import sk_deltauq
        sk_deltauq.metrics.crps, sk_deltauq.NormalMixture, sk_deltauq.unwrap
    """)
    assert loaded >= {"numpy", "scipy"}
    assert not loaded & {"torch", "skorch"}


FIRST_USES = {
    "attribute": "import sk_deltauq\nsk_deltauq.DeltaUQRegressor()",
    "star": "from sk_deltauq import *\n"
    "assert DeltaUQRegressor and baselines.PBPRegressor and load",
    "submodule": "import sk_deltauq\nsk_deltauq.baselines.MCDropoutClassifier()",
    "pickle": "import pickle\n"
    "pickle.loads(b'csk_deltauq._deltauq_regressor\\nDeltaUQRegressor\\n.')()",
}


@pytest.mark.parametrize("use", FIRST_USES)
def test_first_use_of_a_name_starts_to_load_heavy_packages(use):
    """The first heavy package is hidden, so that the new interpreter ends at once."""
    code = f"""
        import sys
        for name in {HEAVY}:
            sys.modules[name] = None
        try:
            exec({FIRST_USES[use]!r})
        except ImportError as error:
            print("heavy:", error.name)
    """
    name = run(code).partition("heavy: ")[2].strip().partition(".")[0]
    assert name in HEAVY


@pytest.mark.long
@pytest.mark.parametrize("use", FIRST_USES)
def test_first_use_of_a_name_loads_heavy_packages(use):
    """Each in a new interpreter, which takes seconds."""
    assert find_loaded_packages(FIRST_USES[use]) >= {"torch", "skorch", "sklearn"}


@each_package
def test_names_become_ordinary_attributes(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        assert getattr(module, name) is vars(module)[name]
    assert set(module.__all__) <= set(dir(module))


@each_package
def test_unknown_name_raises_an_attribute_error(package):
    module = importlib.import_module(package)
    message = f"module '{package}' has no attribute 'DeltaUQRegresor'"
    with pytest.raises(AttributeError, match=message) as caught:
        _ = module.DeltaUQRegresor
    assert caught.value.name == "DeltaUQRegresor"
    assert not hasattr(module, "__wrapped__")


@each_package
def test_type_checkers_see_the_same_names(package):
    """The imports under `TYPE_CHECKING` are the names that `import_on_use` gets."""
    module = importlib.import_module(package)
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (branch,) = (node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (node.module.removeprefix(package).lstrip("."), alias.name)
        for node in ast.walk(ast.Module(branch.body, []))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    (call,) = (node for node in ast.walk(branch) if isinstance(node, ast.Call))
    given = {(m, name) for m, names in ast.literal_eval(call.args[1]).items() for name in names}
    assert given == seen
    assert {name for _, name in given} <= set(module.__all__)


def test_warning_and_exceptions_are_imported_with_the_package():
    assert set(sk_deltauq.__all__) >= {"UncertaintyWarning", "exceptions"}
    assert sk_deltauq.UncertaintyWarning is sk_deltauq.exceptions.UncertaintyWarning
