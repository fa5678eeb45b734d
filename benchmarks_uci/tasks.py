"""One task: a method on a split of a set. A pure function of its arguments."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Task:
    """What is run, by names alone; the number of the split seeds the method.

    Attributes
    ----------
    protocol, preset, data, method : str
        Keys of `protocols.PROTOCOLS`, `methods.PRESETS`, the data registry and `methods.METHODS`.
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
