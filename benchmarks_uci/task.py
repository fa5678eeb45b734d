"""What is run, by names alone: results are kept and read without what computes them."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True, order=True)
class Task:
    """One method on one split of a set; the number of the split seeds the method.

    Attributes
    ----------
    protocol, preset, data, method : str
        Keys of `protocols.PROTOCOLS`, `methods.PRESETS`, the data registry and `methods.ALL`.
    split : int
        Which of the protocol's splits, from 0.
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
    """The task that a record is of."""
    return Task(**{name: record[name] for name in TASK_FIELDS})
