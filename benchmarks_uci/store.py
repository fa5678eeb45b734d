"""Results on disk: one JSON file a task, there in full or not at all."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from benchmarks_uci import scores
from benchmarks_uci.task import TASK_FIELDS, Task, task_of

logger = logging.getLogger("benchmarks_uci")

# What a record must hold, beside the scores: of a failure not all is known
FIELDS = {"status": str, "error": str, "data_hash": str}
SECONDS = ("fit_seconds", "predict_seconds")
DONE_FIELDS = FIELDS | {"settings": dict, "settings_id": str, "split_hash": str}


class StoreError(Exception):
    """A result could not be written, or the folder holds results of something else."""


class Store:
    """Records in `folder/<protocol>/<preset>/<data>/<method>/<split>.json`.

    A file appears under its name only when all of it is on the disk, so a run may be killed at
    any moment. A file that is no whole record of the task that its path names is never used.

    Parameters
    ----------
    folder : path-like
        Made by the first `write`.
    known : iterable of dict, default=()
        Records from elsewhere, such as committed results: `find` gives them for tasks that have
        no file, and keeps them as files.
    """

    def __init__(self, folder: str | os.PathLike, known: Iterable[dict] = ()):
        self.folder = Path(folder)
        self._known = {task_of(record): record for record in known if record["status"] == "done"}

    def path(self, task: Task) -> Path:
        """Where the record of a task is, or will be."""
        parent = self.folder / task.protocol / task.preset / task.data / task.method
        return parent / f"{task.split:02d}.json"

    def has(self, task: Task) -> bool:
        """Whether there is something for `find` to look at."""
        return task in self._known or self.path(task).exists()

    def find(self, task: Task, **expected) -> dict | None:
        """The record of a task, or None; a file that cannot be used is moved aside.

        Parameters
        ----------
        task : Task
        **expected
            Fields that the record must hold with these values: `settings_id`, `data_hash`,
            `split_hash`; `settings`, for the message.

        Raises
        ------
        StoreError
            If it is the result of other settings or other data. It is left as it is.
        """
        path, record = self.path(task), self._on_disk(task)
        is_new = record is None
        if is_new and (record := self._known.get(task)) is None:
            return None
        if differences := list(_differences(record, expected)):
            if record["status"] == "failed":  # nothing that could be lost
                return None
            where = f"the known result of {task}" if is_new else path
            raise StoreError(
                f"{where} is a result of something else than this run: {'; '.join(differences)}. "
                f"It was left as it is. Give another results folder, or delete that "
                f"{'row' if is_new else 'file'}."
            )
        if is_new:
            self.write(record)
        return record

    def _on_disk(self, task: Task) -> dict | None:
        """The record in the file of a task; a file that cannot be used is moved aside."""
        path = self.path(task)
        try:
            return _read(path, task)
        except FileNotFoundError:
            return None
        except ValueError as error:
            bad = path.with_name(path.name + ".bad")
            logger.warning("%s is not used: %s. Moved to %s.", path, error, bad.name)
            with _told(path, "move aside"):
                os.replace(path, bad)
            return None

    def write(self, record: dict) -> None:
        """Put the record of a task in its file, which it replaces.

        Raises
        ------
        StoreError
            If it cannot be written; what was there is then unchanged.
        """
        path = self.path(task_of(record))
        text = json.dumps(record, indent=1) + "\n"
        # Not named *.json, so that nobody takes the rest of a killed run for a result. Not of
        # `tempfile`, whose files are for nobody else to read.
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        with _told(path, "write"):
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                with open(temporary, "x", encoding="utf-8") as file:
                    file.write(text)
                    file.flush()
                    os.fsync(file.fileno())
                os.replace(temporary, path)
            except BaseException:
                with contextlib.suppress(OSError):
                    temporary.unlink()
                raise
            for left_over in path.parent.glob(f".{path.name}.*.tmp"):
                left_over.unlink(missing_ok=True)

    def records(self) -> list[dict]:
        """All records in the folder, in the order of their paths; what is no record is logged."""
        found = []
        for path in sorted(self.folder.glob("*/*/*/*/*.json")):
            try:
                *names, _ = path.relative_to(self.folder).parts
                found.append(_read(path, Task(*names, int(path.stem))))
            except ValueError as error:
                logger.warning("%s is not used: %s.", path, error)
        return found


def _read(path: Path, task: Task) -> dict:
    """The record in a file; ValueError if it is not a whole record of this task."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"it is damaged ({error})") from error
    if not isinstance(record, dict):
        raise ValueError("it holds no record")
    needed = FIELDS
    if record.get("status") == "done":
        needed = DONE_FIELDS | dict.fromkeys([*scores.NAMES, *SECONDS], float | int)
    elif record.get("status") != "failed":
        raise ValueError("its status is neither 'done' nor 'failed'")
    for name, kind in needed.items():
        if not isinstance(record.get(name), kind):
            raise ValueError(f"it lacks the field {name!r}")
    if (held := tuple(map(record.get, TASK_FIELDS))) != tuple(asdict(task).values()):
        raise ValueError(f"it holds the task {'/'.join(map(str, held))}, not that of its path")
    return record


def _differences(record: dict, expected: dict):
    """What differs, with both sides; of the settings each by its name."""
    for name, value in expected.items():
        here, value = record.get(name), json.loads(json.dumps(value))  # tuples as lists
        if here == value:
            continue
        if name == "settings":
            here = here or {}  # it failed before they were known
            for key in sorted(here.keys() | value.keys()):
                there = [repr(s[key]) if key in s else "nothing" for s in (here, value)]
                if there[0] != there[1]:
                    yield f"setting {key} is {there[0]} there, {there[1]} here"
        else:
            yield f"{name} is {here!r} there, {value!r} here"


@contextlib.contextmanager
def _told(path: Path, doing: str):
    """Turn an error of the operating system into one that says what is lost: nothing finished."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"could not {doing} {path}: {error.strerror or error}. The results that were finished "
            f"before are kept; free or unlock the disk and run again, to go on from there."
        ) from error
