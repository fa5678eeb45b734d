"""The file of a stored model: safetensors, with a JSON text in the header.

safetensors is a header in JSON and the bytes of the arrays. Reading it runs no code. The header
has the version of the format, the JSON text, and a checksum of the texts and the arrays.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

FORMAT = "sk_deltauq model"
FORMAT_VERSION = 1

_PICKLE = "It looks like a pickle: joblib.load reads such files and runs the code in them."
_ARCHIVE = "It looks like a zip archive: skops.io.load and torch.load read such files."


def write_file(path: Any, content: Any, arrays: Mapping[str, np.ndarray]) -> None:
    """Write JSON and arrays to a file, all of it or nothing."""
    from safetensors.numpy import save

    metadata = {
        "format": FORMAT,
        "format_version": str(FORMAT_VERSION),
        "sk_deltauq_version": _package_version(),
        "content": json.dumps(content, ensure_ascii=False, allow_nan=False),
    }
    metadata["sha256"] = _compute_checksum(metadata, arrays)
    replace_file(Path(path), save(dict(arrays), metadata))


def replace_file(path: Path, data: bytes) -> None:
    """Write a file, all of it or nothing.

    The bytes go to a temporary file in the same folder, which then takes the name of the file. An
    error leaves the file as it was.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def read_file(path: Any) -> tuple[Any, dict[str, np.ndarray]]:
    """Read what `write_file` wrote.

    Raises
    ------
    ValueError
        If the file is damaged, of another program, or of a newer format.
    """
    from safetensors import SafetensorError, safe_open

    path = Path(path)
    with path.open("rb") as file:  # the errors of Python for a missing file or a folder
        start = file.read(8)
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if metadata.get("format") != FORMAT:
                raise ValueError(
                    f"{path} is a safetensors file of another program. Only files of "
                    "model.save(path) can be loaded."
                )
            _check_version(path, metadata)
            arrays = {name: np.array(file.get_tensor(name)) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        hint = _guess_program(start)
        raise ValueError(f"{path} is no complete file of model.save(path). {hint}") from error
    checksum = metadata.pop("sha256", "")
    if checksum != _compute_checksum(metadata, arrays):
        raise ValueError(
            f"{path} is damaged or was changed: its checksum is wrong. Save the model again."
        )
    return json.loads(metadata["content"]), arrays


def _guess_program(start: bytes) -> str:
    """Guess what reads a file with these first 8 bytes."""
    # safetensors begins with the length of its header, whose last bytes are zero.
    if start[:1] == b"\x80" and start[1:2] in (b"\2", b"\3", b"\4", b"\5") and any(start[3:]):
        return _PICKLE
    if start.startswith(b"PK"):
        return _ARCHIVE
    return "It may be truncated, or of another program."


def _check_version(path: Path, metadata: Mapping[str, str]) -> None:
    version = metadata.get("format_version", "")
    if version.isdecimal() and int(version) <= FORMAT_VERSION:
        return
    raise ValueError(
        f"{path} has version {version!r} of the file format, of sk_deltauq "
        f"{metadata.get('sk_deltauq_version', '')}. This is sk_deltauq {_package_version()}, "
        f"which reads versions up to {FORMAT_VERSION}. Update sk_deltauq."
    )


def _compute_checksum(metadata: Mapping[str, str], arrays: Mapping[str, np.ndarray]) -> str:
    """Compute SHA-256 over all texts and arrays, with their names, types and shapes."""
    digest = hashlib.sha256(json.dumps(metadata, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(json.dumps([name, array.dtype.str, array.shape]).encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _package_version() -> str:
    return sys.modules[__name__.partition(".")[0]].__version__
