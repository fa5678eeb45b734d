"""When training ends before its time: Ctrl-C, or `max_time`."""

from __future__ import annotations

import contextlib
import contextvars
import signal
import threading
import time

# A second Ctrl-C within so many seconds interrupts the program instead of ending training. Fits
# that follow each other, as in a grid search, share the clock.
_SECONDS_TO_INSIST = 2.0

_last_press = -float("inf")

_raises = contextvars.ContextVar("_raises", default=False)


@contextlib.contextmanager
def raise_interrupts():
    """A context in which a Ctrl-C interrupts a fit instead of ending its training.

    For fits that are steps of a larger task, which must not go on after a Ctrl-C.
    """
    token = _raises.set(True)
    try:
        yield
    finally:
        _raises.reset(token)


class Budget:
    """Ends training after `max_time` seconds, or at a Ctrl-C.

    A Ctrl-C in the block `watch()` is noted instead of raised, so that it arrives between two
    mini-batches and never inside one. `check` raises it there. If at least one epoch was
    completed, `absorbs` tells training to keep what it has; otherwise the interrupt goes on. A
    second Ctrl-C is raised at once.
    """

    def __init__(self, max_time: float | None = None, *, enabled: bool = True):
        self._max_time, self._enabled = max_time, enabled
        self._notes = enabled and not _raises.get()  # whether a Ctrl-C is noted
        self._start = time.monotonic()
        self._pressed = self._insisted = False
        self.n_epochs = 0  # completed
        self.reason: str | None = None  # why training ended early, for a message

    @contextlib.contextmanager
    def watch(self):
        """Note a Ctrl-C in this block.

        Only the main thread gets signals, and a handler of the host program's own stays.
        """
        is_main = threading.current_thread() is threading.main_thread()
        default = signal.default_int_handler
        if not (self._notes and is_main and signal.getsignal(signal.SIGINT) is default):
            yield
            return
        signal.signal(signal.SIGINT, self._note_press)
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, default)
        if self._pressed:  # just after the last mini-batch
            self.reason = "Ctrl-C"

    def _note_press(self, signum, frame) -> None:
        global _last_press
        now = time.monotonic()
        insists, _last_press = self._pressed or now - _last_press < _SECONDS_TO_INSIST, now
        self._pressed = True
        if insists:
            self._insisted = True
            raise KeyboardInterrupt

    def check(self) -> None:
        """Raise a Ctrl-C that was noted."""
        if self._pressed:
            raise KeyboardInterrupt

    def end_epoch(self) -> bool:
        """Count a completed epoch; return whether training must end."""
        self.n_epochs += 1
        if not self._enabled:
            return False
        if self._pressed:
            self.reason = "Ctrl-C"
        elif self._max_time is not None and time.monotonic() - self._start >= self._max_time:
            self.reason = f"max_time={self._max_time:g}"
        return self.reason is not None

    def absorbs(self) -> bool:
        """Return whether a KeyboardInterrupt ends training only, and note it as the reason."""
        if not self._notes or self._insisted or not self.n_epochs:
            return False
        self.reason = "Ctrl-C"
        return True

    def explain(self, name: str, unit: str = "epochs") -> str:
        """Explain to the user why training ended early."""
        return (
            f"{name}: {self.reason} ended training after {self.n_epochs} {unit}, before it "
            "converged. The best weights so far are kept."
        )
