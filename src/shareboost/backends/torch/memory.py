"""How much work a device's memory has room for at a time."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import torch

# Of the free memory, what the temporary tensors of a chunk may take, and what is kept for all
# rounds; the rest is for what the allocator cannot use.
SHARE, KEPT_SHARE = 0.3, 0.7
# More at a time is no faster.
MOST_BYTES = 4 << 30
# On a processor, whose memory is not asked: tensors that stay in a cache are faster.
PROCESSOR_BYTES = 64 << 20
# Examples whose products are summed in the type of the rows; those sums are added in float64.
# They are computed side by side: enough of them keep the whole device busy.
CHUNK_EXAMPLES = 1024


class Memory:
    """The memory of one device."""

    def __init__(self, device: torch.device):
        self.device = device

    def free(self) -> float:
        """Return the bytes that are free, those held for reuse included; any number of others."""
        if self.device.type != "cuda":
            return inf
        free, _ = torch.cuda.mem_get_info(self.device)
        reserved = torch.cuda.memory_reserved(self.device)
        return free + reserved - torch.cuda.memory_allocated(self.device)

    def room(self) -> int:
        """Return the bytes that a chunk's temporary tensors may take."""
        if self.device.type != "cuda":
            return PROCESSOR_BYTES
        return min(MOST_BYTES, int(SHARE * self.free()))

    def fits(self, n_bytes: int) -> bool:
        """Return whether something of so many bytes may be kept for all rounds."""
        return n_bytes <= KEPT_SHARE * self.free()

    def chunks(self, n: int, bytes_each: int, task: Callable[[slice], Any]) -> list[Any]:
        """Return the results of ``task`` on ranges that together are ``range(n)``, in order.

        They are sized to the free memory: each of the n items takes about ``bytes_each`` while the
        task runs. A task that runs out of memory is called again on half of its range, and on half
        of that; where a single item does not fit, the error of torch stays.
        """
        size = max(1, self.room() // max(1, bytes_each))
        results: list[Any] = []
        start = 0
        while start < n:
            stop = min(start + size, n)
            try:
                results.append(task(slice(start, stop)))
                start = stop
                continue
            except torch.OutOfMemoryError:
                if stop - start == 1:
                    raise
            # Here the exception is gone, and with it the tensors of the failed call.
            size = (stop - start) // 2
            torch.cuda.empty_cache()  # does nothing where there is no CUDA
        return results
