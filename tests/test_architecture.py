"""The layers of the package, and which packages each module may import."""

import ast
import importlib
import inspect
import subprocess
import sys
import textwrap
from dataclasses import is_dataclass
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# A module may import only from earlier lines, not from its own line or later ones. A package is
# one entry; inside it, only cycles are forbidden.
LAYERS = [
    {"_sklearn", "_host", "_warnings", "_storage", "_lazy", "exceptions"},
    {"_duplicates", "_columns", "_outliers", "_outlier_scores", "_wrappers"},
    {"_tables", "_nearest_rows"},
    {"distributions", "_networks", "_validation", "_novelty", "_rarity", "_temperature"},
    {"metrics", "_predictor"},
    {"_conformal"},
    {"_prediction_sets"},
    {"_training"},
    {"_methods"},
    {"_estimators"},
    {"_deltauq_regressor", "_deltauq_classifier", "baselines"},
    {"plotting", "optimize", "persistence"},
    {"__init__"},
]
LEVEL = {part: level for level, parts in enumerate(LAYERS) for part in parts}

# Third-party packages that a part must not import.
FORBIDDEN = {
    "_sklearn": {"torch", "skorch"},
    "_storage": {"torch", "skorch", "sklearn"},
    "_wrappers": {"torch", "skorch"},
    "distributions": {"torch", "skorch", "sklearn"},
    "metrics": {"torch", "skorch"},
    "_networks": {"skorch", "sklearn"},
    "_predictor": {"skorch"},
    "_methods": {"skorch"},
    "_estimators": {"skorch"},
}


def source_files(package):
    return sorted((ROOT / package).rglob("*.py"))


def module_name(path):
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports(path):
    """Pairs (module, name or None) for every import, also those inside functions."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            found += [(alias.name, None) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name}:{node.lineno}: import absolutely"
            found += [(node.module, alias.name) for alias in node.names]
    return found


def imported_modules(path):
    """Modules of sk_deltauq that `path` imports; `from package import module` gives the module."""
    modules = {module_name(p) for p in source_files("sk_deltauq")}
    for module, name in imports(path):
        if module.split(".")[0] == "sk_deltauq":
            submodule = f"{module}.{name}"
            yield submodule if submodule in modules else module


def part(module):
    """`sk_deltauq._networks.mlp` belongs to `_networks`, `sk_deltauq` itself to `__init__`."""
    return [*module.split("."), "__init__"][1]


def is_private(name):
    return name.startswith("_") and not name.endswith("__")


each_source_file = pytest.mark.parametrize(
    "path", source_files("sk_deltauq"), ids=lambda path: module_name(path)
)


@each_source_file
def test_modules_import_only_from_lower_layers(path):
    me = part(module_name(path))
    assert me in LEVEL, f"{me} is new: give it a place in LAYERS"
    for module in imported_modules(path):
        other = part(module)
        assert other == me or LEVEL[other] < LEVEL[me], f"{module_name(path)} imports {module}"


def our_classes():
    """All classes of the package, by the module that defines them."""
    for path in source_files("sk_deltauq"):
        module = importlib.import_module(module_name(path))
        for cls in vars(module).values():
            if inspect.isclass(cls) and cls.__module__ == module.__name__:
                yield cls


def is_abstract(cls):
    return bool(getattr(cls, "__abstractmethods__", None))


def routines(cls):
    """Methods and properties that the class itself defines."""
    kinds = (property, staticmethod, classmethod)
    return {n: v for n, v in vars(cls).items() if inspect.isfunction(v) or isinstance(v, kinds)}


def test_a_class_that_is_subclassed_is_abstract():
    found = list(our_classes())
    assert len(found) > 40
    parents = {base for cls in found for base in cls.__bases__ if base in found}
    assert {cls.__name__ for cls in parents if not is_abstract(cls)} == set()


def test_only_abstract_methods_are_overridden():
    """Also across several levels; dunder methods of Python and scikit-learn may be extended."""
    found = set(our_classes())
    overridden = [
        f"{cls.__name__}.{name} overrides {base.__name__}.{name}"
        for cls in found
        for name in routines(cls)
        if not (name.startswith("__") and name.endswith("__"))
        for base in cls.__mro__[1:]
        if base in found and name in routines(base)
        if not getattr(routines(base)[name], "__isabstractmethod__", False)
    ]
    assert overridden == []


def test_overridden_init_calls_super():
    """Dataclasses are exempt: their `__init__` is generated."""
    found = set(our_classes())
    for cls in found:
        init = vars(cls).get("__init__")
        inherits = any("__init__" in vars(base) for base in cls.__mro__[1:] if base in found)
        if inspect.isfunction(init) and inherits and not is_dataclass(cls):
            assert "super().__init__" in inspect.getsource(init), cls


def test_imports_have_no_cycles():
    graph = {module_name(p): set(imported_modules(p)) for p in source_files("sk_deltauq")}
    TopologicalSorter(graph).prepare()  # CycleError names the modules


@each_source_file
def test_parts_do_not_import_forbidden_packages(path):
    top_levels = {module.split(".")[0] for module, _ in imports(path)}
    assert not top_levels & FORBIDDEN.get(part(module_name(path)), set())


@each_source_file
def test_only_one_module_imports_private_names_of_scikit_learn(path):
    if module_name(path) == "sk_deltauq._sklearn":
        return
    for module, name in imports(path):
        if module.split(".")[0] == "sklearn":
            assert not any(map(is_private, [*module.split("."), name or ""])), (
                f"{module_name(path)} imports {name} from {module}: take it from _sklearn"
            )


def public_modules():
    for path in source_files("sk_deltauq"):
        if not any(map(is_private, module_name(path).split("."))):
            yield module_name(path)


@pytest.mark.parametrize("path", source_files("benchmarks_uci"), ids=lambda path: path.stem)
def test_benchmarks_use_public_names_only(path):
    for module, name in imports(path):
        if module.split(".")[0] != "sk_deltauq":
            continue
        assert module in public_modules(), f"{path.name} imports {module}"
        if name is not None and f"{module}.{name}" not in public_modules():
            assert name in importlib.import_module(module).__all__, f"{module}.{name}"


def test_package_does_not_import_the_benchmarks():
    for path in source_files("sk_deltauq"):
        assert not {"benchmarks_uci", "tests"} & {m.split(".")[0] for m, _ in imports(path)}


def test_import_neither_needs_nor_tries_optional_packages():
    # scikit-learn itself tries pandas and polars, so they are hidden but may be tried.
    run_python("""
        import sys

        tried = set()

        class Hide:
            def find_spec(self, name, path=None, target=None):
                if name in ("matplotlib", "pandas", "polars", "openml", "botorch", "click"):
                    tried.add(name)
                    raise ModuleNotFoundError(name, name=name)

        sys.meta_path.insert(0, Hide())
        from sk_deltauq import *
        from sk_deltauq.baselines import *
        from sk_deltauq.metrics import *
        from sk_deltauq.plotting import *
        from sk_deltauq.optimize import Optimizer, minimize, surrogate
        assert not tried & {"matplotlib", "openml", "botorch", "click"}, tried
    """)


def run_python(code):
    command = [sys.executable, "-c", textwrap.dedent(code)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
