"""The moving average of a net's weights."""

from __future__ import annotations

import contextlib

import torch


class WeightAverage:
    """Exponential moving average of what a net trains, one value an epoch.

    Large steps find flatter minima than small ones, but leave the weights scattered about them.
    The average is the centre of the scatter: better than any of its points (Polyak and Juditsky,
    1992; Izmailov et al., UAI 2018), with steps that need not shrink first.

    One value an epoch is enough: those of single steps are so alike that their mean is no better,
    and this way the average costs nothing. Over the first epochs it is a plain mean.

    Parameters
    ----------
    net : StackedNet
        All floating-point numbers of its members are averaged, also a user module's buffers.
    n_epochs : int
        The last value counts for one in so many; an older one for less with every epoch.
    """

    def __init__(self, net, n_epochs: int):
        tensors = (t for m in range(net.module_.n_members) for t in net.member_tensors(m))
        self._live = [t for t in tensors if t.is_floating_point()]
        self._mean = [t.clone() for t in self._live]
        self._n_epochs, self._n_seen = n_epochs, 0

    @torch.no_grad()
    def update(self) -> None:
        """Count in the weights that the net has now."""
        self._n_seen += 1
        share = 1 / min(self._n_seen, self._n_epochs)
        for mean, live in zip(self._mean, self._live, strict=True):
            mean.lerp_(live, share)

    @torch.no_grad()
    def swap(self) -> None:
        """Put the average into the net; or, the second time, what it had before."""
        for mean, live in zip(self._mean, self._live, strict=True):
            value = live.clone()
            live.copy_(mean)
            mean.copy_(value)

    @contextlib.contextmanager
    def in_place(self):
        """A context in which the net has the average."""
        self.swap()
        try:
            yield
        finally:
            self.swap()
