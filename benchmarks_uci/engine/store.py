"""Results on disk: one JSON file per task, written completely or not at all."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import uuid
from collections.abc import Iterable
from pathlib import Path

from benchmarks_uci.engine.records import read_record
from benchmarks_uci.engine.study import Study, Task, get_task

logger = logging.getLogger("benchmarks_uci")


class StoreError(Exception):
    """A result could not be written, or the folder holds results of another run."""


class Store:
    """Records in `folder/<protocol>/<preset>/<data>/<method>/<split>.json`.

    A file appears under its name only when it is completely on the disk, so a run may be killed
    at any moment. A file that is not a whole record of the task in its path is never used.

    The first `write` creates the folder. `known` are records from elsewhere, such as committed
    results. `find` returns them for tasks that have no file, and writes them as files.
    """

    def __init__(self, folder: str | os.PathLike, study: Study, known: Iterable[dict] = ()):
        self.folder = Path(folder)
        self._study = study
        self._known = {get_task(record): record for record in known if record["status"] == "done"}

    def path(self, task: Task) -> Path:
        """Return the file of a task, which may not exist yet."""
        parent = self.folder / task.protocol / task.preset / task.data / task.method
        return parent / f"{task.split:02d}.json"

    def has(self, task: Task) -> bool:
        """Say whether `find` may have a record."""
        return task in self._known or self.path(task).exists()

    def find(self, task: Task, **expected) -> dict | None:
        """Return the record of a task, or None; an unusable file is moved aside.

        `expected` are fields that the record must hold with these values: `settings_id`,
        `data_hash`, `split_hash`; and `settings`, for the message. A record with other values
        raises a `StoreError`, and its file is not changed.
        """
        path, record = self.path(task), self._on_disk(task)
        is_new = record is None
        if is_new and (record := self._known.get(task)) is None:
            return None
        if differences := list(_differences(record, expected)):
            if record["status"] == "failed":  # nothing is lost
                return None
            where = f"the known result of {task}" if is_new else path
            raise StoreError(
                f"{where} belongs to another run than this one: {'; '.join(differences)}. It was "
                f"not changed. Give another results folder, or delete that "
                f"{'row' if is_new else 'file'}."
            )
        if is_new:
            self.write(record)
        return record

    def _on_disk(self, task: Task) -> dict | None:
        """Return the record in the file of a task; an unusable file is moved aside."""
        path = self.path(task)
        try:
            return read_record(path, task, self._study)
        except FileNotFoundError:
            return None
        except ValueError as error:
            bad = path.with_name(path.name + ".bad")
            logger.warning("%s is not used: %s. Moved to %s.", path, error, bad.name)
            with _explain_failure(path, "move aside"):
                os.replace(path, bad)
            return None

    def write(self, record: dict) -> None:
        """Write the file of a record, or replace it.

        Without success it raises a `StoreError`, and an existing file is unchanged.
        """
        path = self.path(get_task(record))
        text = json.dumps(record, indent=1) + "\n"
        # Not named *.json, so that the remains of a killed run are not taken for a result. Not
        # from `tempfile`, whose files nobody else may read.
        temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
        with _explain_failure(path, "write"):
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


def _differences(record: dict, expected: dict):
    """List what differs, with both values; of the settings, each by its name."""
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
def _explain_failure(path: Path, action: str):
    """Turn an error of the operating system into one that says what is kept and what to do."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"could not {action} {path}: {error.strerror or error}. Results that were finished "
            f"before are kept. Free or unlock the disk, and run again to continue."
        ) from error
