"""Store a fitted estimator in a file, and make it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sk_deltauq._storage.classes import find_name
from sk_deltauq._storage.files import read_file, write_file
from sk_deltauq._storage.values import Decoder, Encoder, NotStorable

# Parameters whose values may be code of the user. The user hands them back to `load`.
_GIVEN = "module", "net_params", "anchor_corruption", "input_corruption"

_WAYS_OUT = {
    "target_transform": "Files can hold the transformations that have a name, such as "
    "'yeo-johnson', and PowerTransformer, QuantileTransformer, the scalers, and "
    "FunctionTransformer with functions of NumPy or scipy.special, also in a Pipeline.",
    "_trained_": "Set module and net_params back to the objects of the fit.",
}


def store_model(model: Any, path: Any) -> None:
    """Write a fitted estimator to a file.

    Raises
    ------
    ValueError
        If the class is none of this package, or if an attribute cannot be stored.
    """
    if find_name(type(model)) is None:
        raise ValueError(
            f"save stores the estimators of sk_deltauq, and {type(model).__name__} is a class of "
            "your own. Store it with joblib.dump, or use an estimator of sk_deltauq."
        )
    given = _find_given(model)
    encoder = Encoder({id(getattr(model, name)): name for name in given})
    try:
        root = encoder.encode(model)
    except NotStorable as error:
        attribute = str(error).partition(" ")[0].partition(".")[0].partition("[")[0]
        way_out = _WAYS_OUT.get(attribute, f"Set {attribute} to another value, or delete it.")
        raise ValueError(
            f"A file without code cannot hold this {type(model).__name__}: {error}. {way_out} "
            "joblib.dump stores any model, but joblib.load runs the code in a file."
        ) from error
    content = {"model": root, "objects": encoder.objects, "given": given}
    write_file(path, content, encoder.arrays)


def load_model(path: Any, model_class: type, given: Mapping[str, Any]) -> Any:
    """Make an estimator from a file; `given` are the parameters that the file cannot hold.

    `model_class` is the base class of all estimators.

    Raises
    ------
    ValueError
        If the file cannot be read, or if `given` are not the parameters that it needs.
    """
    content, arrays = read_file(path)
    needed = content["given"]
    if missing := sorted(needed.keys() - given.keys()):
        described = ", ".join(f"{name}={needed[name]}" for name in missing)
        again = ", ".join(f"{name}=..." for name in missing)
        raise ValueError(
            f"The model in {path} has {described}, which a file without code cannot hold. Hand it "
            f"back: load(path, {again})."
        )
    if surplus := sorted(given.keys() - needed.keys()):
        raise ValueError(
            f"load got {', '.join(surplus)}, which the model in {path} does not need. Call "
            f"load(path{''.join(f', {name}=...' for name in needed)}). To change a parameter, use "
            "set_params afterwards."
        )
    try:
        model = Decoder(content["objects"], arrays, given).decode(content["model"])
    except Exception as error:  # a foreign or changed file may break any step of any class
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        raise ValueError(
            f"{path} does not hold what this version of sk_deltauq expects: {kind}{error}"
        ) from error
    if not isinstance(model, model_class):
        raise ValueError(f"{path} holds an object of {type(model)}, no model of sk_deltauq.")
    return model


def _find_given(model: Any) -> dict[str, str]:
    """Return the parameters that the user must hand back, and their description."""
    found = {}
    for name in _GIVEN:
        try:
            Encoder({}).encode(getattr(model, name, None))
        except NotStorable:
            found[name] = repr(getattr(model, name))
    return found
