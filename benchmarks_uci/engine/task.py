"""Identify a task by names alone, so that reading results needs nothing that computes them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, order=True)
class Task:
    """One method on one split of a data set; the split number seeds the method.

    Attributes
    ----------
    protocol, preset, data, method : str
        Names from the study.
    split : int
        Index of the split in the protocol, from 0.
    """

    protocol: str
    preset: str
    data: str
    method: str
    split: int

    def __str__(self):
        return f"{self.protocol}/{self.preset}/{self.data}/{self.method}/{self.split}"


TASK_FIELDS = tuple(field.name for field in fields(Task))


def task_of(record: dict) -> Task:
    """Return the task of a record."""
    return Task(**{name: record[name] for name in TASK_FIELDS})
