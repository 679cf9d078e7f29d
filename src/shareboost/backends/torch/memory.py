"""How much work a device's memory has room for at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from collections.abc import Callable

# Of the free memory, what the temporary tensors of a chunk may take; the rest is for what the
# allocator cannot use and for the rounds to come.
SHARE = 0.3
# More at a time is no faster.
MOST_BYTES = 4 << 30
# On a processor, whose memory is not asked: tensors that stay in a cache are faster.
PROCESSOR_BYTES = 64 << 20
ADVICE = (
    "Give fewer rows or features at a time, X in a smaller type, a pool of fewer atoms, or a "
    "device with more memory."
)


class DeviceMemoryError(MemoryError):
    """The device has no room for even the smallest piece of the work."""


class Memory:
    """The memory of one device."""

    def __init__(self, device: torch.device):
        self.device = device

    def free(self) -> int | None:
        """Return the bytes that are free, those held for reuse included; None if unknown."""
        if self.device.type != "cuda":
            return None
        free, _ = torch.cuda.mem_get_info(self.device)
        held = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        return free + held

    def room(self) -> int:
        """Return the bytes that a chunk's temporary tensors may take."""
        free = self.free()
        return PROCESSOR_BYTES if free is None else min(MOST_BYTES, int(SHARE * free))

    def fits(self, n_bytes: int, share: float = 0.7) -> bool:
        """Return whether something of so many bytes may be kept, in that share of what is free."""
        free = self.free()
        return free is None or n_bytes <= share * free

    def chunks(self, n: int, bytes_each: int, task: Callable[[slice], None], what: str) -> None:
        """Call ``task`` on ranges that together are ``range(n)``, sized to the free memory.

        Each of the n items takes about ``bytes_each`` while the task runs. A task that runs out
        of memory is called again on half of its range, and on half of that, so it must write,
        not add to, what it makes; where a single item does not fit, raises
        ``DeviceMemoryError``.
        """
        size = max(1, self.room() // max(1, bytes_each))
        start = 0
        while start < n:
            stop = min(start + size, n)
            failure = _out_of_memory(task, slice(start, stop))
            if failure is None:
                start = stop
            elif stop - start > 1:
                size = (stop - start) // 2
                self._empty()
            else:
                raise DeviceMemoryError(
                    f"{self.device} ran out of memory for {what}, of some {bytes_each:,} bytes "
                    f"at the least. {ADVICE} ({failure})"
                )

    def _empty(self) -> None:
        if self.device.type == "cuda":
            torch.cuda.empty_cache()


def _out_of_memory(task: Callable[[slice], None], some: slice) -> str | None:
    """Call the task; return what torch says where there was no memory for it, else None.

    Nothing of the failed call is left then: its exception, which holds its tensors, is gone.
    """
    try:
        task(some)
    except torch.OutOfMemoryError as error:
        return str(error)
    return None
